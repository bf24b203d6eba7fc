// Everybody who can be in a group, as dictionary-encoded columns and bitmaps over internal row numbers.

/// What the columns hold of one person. Personal. Numbers beyond the public domain count as its end.
struct PersonRow: Hashable, Sendable {
    /// Whole years on the day of the snapshot.
    var age: Int
    /// Whole kg.
    var weight: Int
    /// Whole cm.
    var height: Int
    /// Nil where it was not stated: in no group that is chosen by sex.
    var sex: Sex?
    var occupation: Occupation
    /// Number of a leaf of the catalogue.
    var residence: Int
    /// Likewise.
    var birthPlace: Int
    /// Types whose anonymous sharing the person has opted in to.
    var shares: Set<GroupDataType>
    /// Not erased, and not under the least age.
    var isEligible: Bool
}

/// About 10 bytes a person for columns, and 1/8 byte for each of some 255 bitmaps. Row numbers never leave the service.
struct PopulationColumns: Sendable {
    private(set) var count = 0
    private(set) var ages: [UInt8] = []
    private(set) var weights: [UInt8] = []
    private(set) var heights: [UInt8] = []
    /// 0 for not stated.
    private(set) var sexes: [UInt8] = []
    private(set) var occupations: [UInt8] = []
    private(set) var residences: [UInt16] = []
    private(set) var birthPlaces: [UInt16] = []
    private(set) var eligible = Bitmap(size: 0)
    private var sharing: [Bitmap]
    private var ofSex: [Bitmap]
    private var ofOccupation: [Bitmap]
    private var byAge = RangeIndex(.age, size: 0)
    private var byWeight = RangeIndex(.weight, size: 0)
    private var byHeight = RangeIndex(.height, size: 0)

    init() {
        sharing = [Bitmap](repeating: Bitmap(size: 0), count: GroupDataType.allCases.count + 1)
        ofSex = [Bitmap](repeating: Bitmap(size: 0), count: Sex.allCases.count + 1)
        ofOccupation = [Bitmap](repeating: Bitmap(size: 0), count: Occupation.allCases.count + 1)
    }

    /// All at once, as at the start of the service: much faster than one after the other.
    init(_ rows: some Collection<PersonRow>) {
        self.init()
        growBitmaps(to: rows.count)
        for row in rows { append(row, alone: false) }
        rebuildIndices()
    }

    private static func clamped(_ value: Int, _ attribute: PersonAttribute) -> UInt8 {
        let domain = attribute.domain ?? 0...0
        return UInt8(min(max(value, domain.lowerBound), domain.upperBound))
    }

    /// - Returns: the row number.
    @discardableResult
    mutating func append(_ row: PersonRow) -> Int {
        append(row, alone: true)
    }

    @discardableResult
    private mutating func append(_ row: PersonRow, alone: Bool) -> Int {
        let index = count
        count += 1
        if count > eligible.size { growBitmaps(to: max(64, count + count / 8)) }
        ages.append(0)
        weights.append(0)
        heights.append(0)
        sexes.append(0)
        occupations.append(0)
        residences.append(0)
        birthPlaces.append(0)
        write(row, at: index)
        if alone {
            byAge.add(Int(ages[index]), at: index)
            byWeight.add(Int(weights[index]), at: index)
            byHeight.add(Int(heights[index]), at: index)
        }
        return index
    }

    private mutating func growBitmaps(to size: Int) {
        eligible.grow(to: size)
        for index in sharing.indices { sharing[index].grow(to: size) }
        for index in ofSex.indices { ofSex[index].grow(to: size) }
        for index in ofOccupation.indices { ofOccupation[index].grow(to: size) }
        byAge.grow(to: size)
        byWeight.grow(to: size)
        byHeight.grow(to: size)
    }

    /// Replaces what is held of somebody. - Precondition: the row exists.
    mutating func update(_ row: PersonRow, at index: Int) {
        let (age, weight, height) = (ages[index], weights[index], heights[index])
        write(row, at: index)
        byAge.replace(Int(age), with: Int(ages[index]), at: index)
        byWeight.replace(Int(weight), with: Int(weights[index]), at: index)
        byHeight.replace(Int(height), with: Int(heights[index]), at: index)
    }

    /// Overwrites all that is held of an erased person; the row number is not given again.
    mutating func erase(at index: Int) {
        update(
            PersonRow(
                age: 0, weight: 0, height: 0, sex: nil, occupation: .student, residence: 0, birthPlace: 0, shares: [], isEligible: false),
            at: index)
    }

    private mutating func write(_ row: PersonRow, at index: Int) {
        ages[index] = Self.clamped(row.age, .age)
        weights[index] = Self.clamped(row.weight, .weight)
        heights[index] = Self.clamped(row.height, .height)
        sexes[index] = row.sex?.rawValue ?? 0
        occupations[index] = row.occupation.rawValue
        residences[index] = UInt16(row.residence)
        birthPlaces[index] = UInt16(row.birthPlace)
        eligible[index] = row.isEligible
        for type in GroupDataType.allCases { sharing[Int(type.rawValue)][index] = row.shares.contains(type) }
        for sex in Sex.allCases { ofSex[Int(sex.rawValue)][index] = row.sex == sex }
        for occupation in Occupation.allCases { ofOccupation[Int(occupation.rawValue)][index] = row.occupation == occupation }
    }

    private mutating func rebuildIndices() {
        byAge.rebuild(ages)
        byWeight.rebuild(weights)
        byHeight.rebuild(heights)
    }

    /// The day's new ages, by row: the snapshot of an epoch is made once a day.
    mutating func replaceAges(_ age: (Int) -> Int) {
        for index in 0..<count { ages[index] = Self.clamped(age(index), .age) }
        byAge.rebuild(ages)
    }

    /// Likewise who may be in a group, since birthdays let people in.
    mutating func replaceEligible(_ isEligible: (Int) -> Bool) {
        for index in 0..<count { eligible[index] = isEligible(index) }
    }

    /// The size that every bitmap over this population has; at least `count`.
    var bitmapSize: Int { eligible.size }

    /// By row, what a hierarchy reads of an attribute.
    func codes(of attribute: PersonAttribute) -> [UInt16] {
        switch attribute {
        case .age: ages.map(UInt16.init)
        case .sex: sexes.map(UInt16.init)
        case .residence: residences
        case .birthPlace: birthPlaces
        case .occupation: occupations.map(UInt16.init)
        case .weight: weights.map(UInt16.init)
        case .height: heights.map(UInt16.init)
        }
    }

    // MARK: E and F

    /// E: who may be in a group at all, for a type. AND-ed first, everywhere.
    func eligible(for type: GroupDataType) -> Bitmap {
        sharing[Int(type.rawValue)].intersection(eligible)
    }

    /// F: whom the static predicates select. The area is none of them.
    func matching(_ filters: GroupFilters) -> Bitmap {
        var found: Bitmap?
        func narrow(_ by: Bitmap) {
            if found == nil { found = by } else { found?.formIntersection(by) }
        }
        if let age = filters.age { narrow(byAge.members(in: age)) }
        if let weight = filters.weight { narrow(byWeight.members(in: weight)) }
        if let height = filters.height { narrow(byHeight.members(in: height)) }
        if !filters.sexes.isEmpty { narrow(Self.union(filters.sexes.map { ofSex[Int($0.rawValue)] })) }
        if !filters.occupations.isEmpty { narrow(Self.union(filters.occupations.map { ofOccupation[Int($0.rawValue)] })) }
        if !filters.residence.isEmpty { narrow(padded(ColumnScan.members(of: residences, in: Self.ranges(filters.residence)))) }
        if !filters.birth.isEmpty { narrow(padded(ColumnScan.members(of: birthPlaces, in: Self.ranges(filters.birth)))) }
        return found ?? .full(size: bitmapSize)
    }

    /// E ∧ F.
    func cohort(_ filters: GroupFilters, for type: GroupDataType) -> Bitmap {
        var members = matching(filters)
        members.formIntersection(eligible)
        members.formIntersection(sharing[Int(type.rawValue)])
        return members
    }

    /// E ∧ F for the guard: who shares at least one type, whichever are asked for.
    func cohort(_ filters: GroupFilters) -> Bitmap {
        var members = matching(filters)
        members.formIntersection(eligible)
        members.formIntersection(Self.union(sharing))
        return members
    }

    private func padded(_ bitmap: Bitmap) -> Bitmap {
        var bitmap = bitmap
        bitmap.grow(to: bitmapSize)
        return bitmap
    }

    private static func union(_ bitmaps: [Bitmap]) -> Bitmap {
        bitmaps.dropFirst().reduce(bitmaps[0]) { $0.union($1) }
    }

    /// Joined where one begins as the other ends, so that the column is read fewer times.
    private static func ranges(_ places: [PlaceChoice]) -> [Range<Int>] {
        places.map(\.leaves).sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { joined, next in
            if let last = joined.last, last.upperBound >= next.lowerBound {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
            } else {
                joined.append(next)
            }
        }
    }
}
