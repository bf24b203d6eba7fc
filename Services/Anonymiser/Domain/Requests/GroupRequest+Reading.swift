// From a typed request to its canonical form, before anything else is done with it.

import Contracts

/// What is public and needed to read a request.
struct RequestCatalogue: Sendable {
    let places: PlaceCatalogue
    /// Codes of areas.
    let areas: Set<String>
}

extension TypedGroupRequest {
    static let mostPlaces = 1000
    /// A wanted size beyond it is a mistake.
    static let largestGroup = 100_000_000
    private static let millisecondsPerDay: Int64 = 86_400_000
    /// Days that can be spoken of: 1970 to 2200.
    private static let days = 0...84_000

    /// - Parameters:
    ///   - closedUntil: the first quarter hour since 1970 that is not closed yet; history never goes beyond it.
    /// - Throws: every fault with its field.
    func read(
        _ catalogue: RequestCatalogue, _ policy: AnonymityPolicy, closedUntil: Int
    ) throws(GroupRequestFaults) -> GroupRequest {
        var reader = GroupRequestReader(places: catalogue.places)
        let filters = readFilters(&reader, catalogue.areas)
        let types = reader.options(types, GroupDataType.allCases, \.code, "/types", mayBeEmpty: false)
        let granularity = Granularity(code: granularity)
        if granularity == nil { reader.fault("/granularity", .unknown) }
        let product = ReleaseProduct.allCases.first { $0.code == self.product }
        if product == nil { reader.fault("/product", .unknown) }
        let attributes = readAttributes(&reader, product)
        let window = readWindow(&reader, policy, closedUntil)
        let least = readSize(&reader, policy)
        if types.contains(.position), granularity == .quarterHour { reader.fault("/granularity", .notOffered) }
        // Where people were is no number that could be summed up.
        if types.contains(.position), product == .statistics { reader.fault("/types", .notOffered) }
        if subscribe, granularity == .window { reader.fault("/granularity", .notOffered) }
        guard reader.faults.isEmpty, let granularity, let product, let window else { throw GroupRequestFaults(faults: reader.faults) }
        return GroupRequest(
            filters: filters, types: types, window: window, granularity: granularity, product: product, attributes: attributes,
            minIndividuals: least, isSubscription: subscribe)
    }

    private func readFilters(_ reader: inout GroupRequestReader, _ areas: Set<String>) -> GroupFilters {
        if age == nil, weight == nil, height == nil, sex == nil, occupation == nil, residence == nil, birth == nil {
            reader.fault("/filters", .nothingChosen)
        }
        var filters = GroupFilters()
        filters.age = reader.interval(age, .age)
        filters.weight = reader.interval(weight, .weight)
        filters.height = reader.interval(height, .height)
        filters.sexes = reader.choices(sex, Sex.allCases, \.code, "/filters/sex")
        filters.occupations = reader.choices(occupation, Occupation.allCases, \.code, "/filters/occupation")
        filters.residence = reader.choices(residence, "/filters/residence")
        filters.birth = reader.choices(birth, "/filters/birth")
        filters.area = area
        switch area {
        case .area(let code): if !areas.contains(code) { reader.fault("/filters/area", .unknown) }
        case .cell(let cell):
            if !GridCell.bounds.contains(Int(cell.x)) || !GridCell.bounds.contains(Int(cell.y)) {
                reader.fault("/filters/area", .outside(GridCell.bounds))
            }
        case nil: break
        }
        return filters
    }

    private func readAttributes(_ reader: inout GroupRequestReader, _ product: ReleaseProduct?) -> [PersonAttribute] {
        // Statistics have one public set of classes, or none.
        let offered: [PersonAttribute] = product == .statistics ? [.age, .sex, .residence] : PersonAttribute.allCases
        guard let attributes else { return product == .statistics ? [] : [.age, .sex] }
        let read = reader.options(attributes, PersonAttribute.allCases, \.code, "/attributes", mayBeEmpty: true)
        if !read.allSatisfy(offered.contains) { reader.fault("/attributes", .notOffered) }
        return read
    }

    private func readWindow(_ reader: inout GroupRequestReader, _ policy: AnonymityPolicy, _ closedUntil: Int) -> DayWindow? {
        let latest = Int64(Self.days.upperBound) * Self.millisecondsPerDay
        var isPossible = true
        for (field, time) in [("/from", from), ("/to", to)] where time < 0 || time > latest {
            reader.fault(field, .outsidePeriod)
            isPossible = false
        }
        guard isPossible else { return nil }
        guard from < to else {
            reader.fault("/to", .notAfter("from"))
            return nil
        }
        let first = Int(from / Self.millisecondsPerDay)
        var last = Int((to + Self.millisecondsPerDay - 1) / Self.millisecondsPerDay)
        if !subscribe { last = min(last, closedUntil.flooredQuotient(TimeSpan.perDay)) }
        guard first < last else {
            reader.fault("/to", .nothingClosed)
            return nil
        }
        guard last - first <= policy.longestWindowDays else {
            reader.fault("/to", .tooLong(days: policy.longestWindowDays))
            return nil
        }
        if subscribe, last * TimeSpan.perDay <= closedUntil { reader.fault("/to", .outsidePeriod) }
        return DayWindow(first..<last)
    }

    private func readSize(_ reader: inout GroupRequestReader, _ policy: AnonymityPolicy) -> Int? {
        guard let minIndividuals else { return nil }
        // The form takes 1000 as the least wanted size (ANO-05), though 1000 people are never enough (ANO-06).
        if minIndividuals < policy.minIndividuals { reader.fault("/minIndividuals", .atLeast(policy.minIndividuals)) }
        guard minIndividuals <= Self.largestGroup else {
            reader.fault("/minIndividuals", .atMost(Self.largestGroup))
            return nil
        }
        // No finer than sizes are reported: who asks again and again with other wanted sizes learns nothing more.
        return minIndividuals > policy.fewestIndividuals ? AnonymityPolicy.roundedUp(minIndividuals) : nil
    }
}

/// Collects faults while fields are read.
private struct GroupRequestReader {
    let places: PlaceCatalogue
    var faults: [GroupRequestFault] = []

    init(places: PlaceCatalogue) {
        self.places = places
    }

    mutating func fault(_ field: String, _ reason: GroupRequestFault.Reason) {
        faults.append(GroupRequestFault(field, reason))
    }

    /// Clamped to the domain; nil where it holds all of it.
    mutating func interval(_ typed: TypedInterval?, _ attribute: PersonAttribute) -> ClosedRange<Int>? {
        guard let typed, let domain = attribute.domain else { return nil }
        let field = "/filters/" + attribute.code
        if typed.from == nil, typed.to == nil {
            fault(field, .nothingChosen)
            return nil
        }
        let (from, to) = (typed.from ?? domain.lowerBound, typed.to ?? domain.upperBound)
        guard from <= to else {
            fault(field, .reversed)
            return nil
        }
        guard from <= domain.upperBound, to >= domain.lowerBound else {
            fault(field, .outside(domain))
            return nil
        }
        let clamped = max(from, domain.lowerBound)...min(to, domain.upperBound)
        let step = attribute.boundStep
        for (name, bound) in [("/from", clamped.lowerBound), ("/to", clamped.upperBound)] where bound % step != 0 {
            let below = bound / step * step
            fault(field + name, .notAMultiple(of: step, below: below, above: below + step))
        }
        return clamped == domain ? nil : clamped
    }

    /// Sorted; every one must be among the options, once.
    mutating func options<Option: Comparable & Hashable>(
        _ typed: [String], _ all: [Option], _ code: (Option) -> String, _ field: String, mayBeEmpty: Bool
    ) -> [Option] {
        if typed.isEmpty, !mayBeEmpty { fault(field, .nothingChosen) }
        if Set(typed).count != typed.count { fault(field, .namedTwice) }
        var found: Set<Option> = []
        for (place, text) in typed.enumerated() {
            if let option = all.first(where: { code($0) == text }) { found.insert(option) } else { fault("\(field)/\(place)", .unknown) }
        }
        return found.sorted()
    }

    /// As `options`; all of them are no predicate.
    mutating func choices<Option: Comparable & Hashable>(
        _ typed: [String]?, _ all: [Option], _ code: (Option) -> String, _ field: String
    ) -> [Option] {
        guard let typed else { return [] }
        let found = options(typed, all, code, field, mayBeEmpty: false)
        return found.count == all.count ? [] : found
    }

    /// Reduced to their one form; the whole world is no predicate.
    mutating func choices(_ typed: [String]?, _ field: String) -> [PlaceChoice] {
        guard let typed else { return [] }
        if typed.isEmpty { fault(field, .nothingChosen) }
        guard typed.count <= TypedGroupRequest.mostPlaces else {
            fault(field, .tooMany(TypedGroupRequest.mostPlaces))
            return []
        }
        var chosen: Set<Int> = []
        for (place, code) in typed.enumerated() {
            if let index = places.index(code) { chosen.insert(index) } else { fault("\(field)/\(place)", .unknown) }
        }
        return (places.reduced(chosen) ?? []).map { PlaceChoice(code: places.places[$0].code, leaves: places.places[$0].leaves) }
    }
}
