// People who are made up for figures, and groups of them: the same ones in every run.

import Contracts

/// Chance that is the same on every machine (the last step of SplitMix64).
enum MadeUpNumber {
    /// What a number is drawn for: another one is independent of it.
    enum Purpose: UInt64 {
        case body = 1
        case place, days, otherDays, name, question
        /// Types are added to it.
        case value = 64
    }

    @inline(__always)
    static func of(_ row: Int, _ time: Int, _ purpose: UInt64) -> UInt64 {
        var mixed = UInt64(truncatingIfNeeded: row) &* 0x9E37_79B9_7F4A_7C15
        mixed ^= UInt64(truncatingIfNeeded: time) &* 0xD1B5_4A32_D192_ED03
        mixed ^= (purpose &+ 1) &* 0x2545_F491_4F6C_DD1D
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    @inline(__always)
    static func of(_ row: Int, _ time: Int, _ purpose: Purpose) -> UInt64 { of(row, time, purpose.rawValue) }

    /// 0 to `limit` less one, by 16 of the bits.
    static func part(_ bits: UInt64, from bit: UInt64, below limit: Int) -> Int {
        Int((((bits >> bit) & 0xFFFF) &* UInt64(limit)) >> 16)
    }
}

/// Each is looked up by row, so that millions of them take no memory.
struct MadeUpPeople: Sendable {
    /// Days of which it is known who has data.
    static let days = 30
    /// What is measured.
    static let types: [GroupDataType] = [.heartRate, .oxygenSaturation, .bodyTemperature]
    /// What is shared by nine in ten, and by the others.
    private static let shared = [Set(types), Set([GroupDataType.oxygenSaturation])]

    let count: Int
    let catalogue: PlaceCatalogue
    /// Leaves with inhabitants, and how many live in each and all before it.
    private let towns: [Int]
    private let inhabitants: [Int]

    /// Towns have as many of them as they have inhabitants in truth.
    init(_ count: Int, _ catalogue: PlaceCatalogue) {
        (self.count, self.catalogue) = (count, catalogue)
        towns = catalogue.leaves.indices.filter { leaf in
            let place = catalogue.places[catalogue.leaves[leaf]]
            return place.level == .city && place.population > 0
        }
        var total = 0
        inhabitants = towns.map { leaf in
            total += catalogue.places[catalogue.leaves[leaf]].population
            return total
        }
    }

    private func town(_ bits: UInt64) -> Int {
        let wanted = Int(((bits & 0xFFFF_FFFF) &* UInt64(inhabitants.last ?? 0)) >> 32)
        var (low, high) = (0, inhabitants.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if inhabitants[middle] > wanted { high = middle } else { low = middle + 1 }
        }
        return towns[low]
    }

    func row(_ row: Int) -> PersonRow {
        let (body, place) = (MadeUpNumber.of(row, 0, .body), MadeUpNumber.of(row, 0, .place))
        let sex = MadeUpNumber.part(body, from: 48, below: 100)
        return PersonRow(
            age: 18 + MadeUpNumber.part(body, from: 0, below: 70), weight: 40 + MadeUpNumber.part(body, from: 16, below: 80),
            height: 150 + MadeUpNumber.part(body, from: 32, below: 50), sex: sex == 0 ? nil : sex <= 50 ? .female : .male,
            occupation: Occupation.allCases[Int(body % 3)], residence: town(place), birthPlace: town(place >> 32),
            shares: Self.shared[body % 10 == 9 ? 1 : 0], isEligible: true)
    }

    /// A bit for each day with data; the highest of them is yesterday. Seven days of eight have some.
    func daysWithData(_ row: Int) -> UInt32 {
        let (one, other) = (MadeUpNumber.of(row, 0, .days), MadeUpNumber.of(row, 0, .otherDays))
        let bits = UInt32(truncatingIfNeeded: one) | UInt32(truncatingIfNeeded: one >> 32) | UInt32(truncatingIfNeeded: other)
        return bits & ((1 << UInt32(Self.days)) - 1)
    }

    /// The code of a value plus 1, in about its type's usual range; 0 in one bucket of eight, where nothing was measured.
    @inline(__always)
    func code(_ row: Int, _ bucket: Int, _ type: GroupDataType) -> UInt16 {
        let bits = MadeUpNumber.of(row, bucket, MadeUpNumber.Purpose.value.rawValue + UInt64(type.rawValue))
        guard bits & 7 > 0 else { return 0 }
        let (first, second) = (UInt16(truncatingIfNeeded: bits >> 8), UInt16(truncatingIfNeeded: bits >> 24))
        switch type {
        case .heartRate: return 21 + (first & 63) + (second & 31)
        case .oxygenSaturation: return 22 + (first & 7)
        default: return 21 + (first & 7) + (second & 7)
        }
    }

    func person(_ row: Int) -> PersonID {
        PersonID(bits: UInt128(MadeUpNumber.of(row, 0, .name)) << 64 | UInt128(row))
    }

    /// As consent would say it.
    func profile(_ row: Int, on day: CivilDate, since: Timestamp) -> CohortProfile {
        let one = self.row(row)
        func code(_ leaf: Int) -> String { catalogue.places[catalogue.leaves[leaf]].code }
        let metrics = Self.types.filter { one.shares.contains($0) }.flatMap(\.metrics)
        return CohortProfile(
            birthDate: "\(day.year - Int64(one.age))-01-01", sex: one.sex?.code, cityOfBirth: code(one.birthPlace),
            cityOfResidence: code(one.residence), occupation: one.occupation.code, weight: Double(one.weight), height: Double(one.height),
            shares: metrics.map { CohortOptIn(metric: $0, since: since) })
    }
}

/// A group to be counted, by at least one predicate, and on how many of the last days its people have data.
struct MadeUpQuestion: Sendable {
    static let count = 200

    let filters: GroupFilters
    let days: Int

    init(_ number: Int, _ catalogue: PlaceCatalogue) {
        var drawn = 0
        func below(_ limit: Int) -> Int {
            drawn += 1
            return MadeUpNumber.part(MadeUpNumber.of(number, drawn, .question), from: 0, below: limit)
        }
        func interval(_ least: Int, _ steps: Int, of step: Int) -> ClosedRange<Int> {
            let first = below(steps)
            return least + first * step...least + (first + 1 + below(steps - first)) * step
        }
        var filters = GroupFilters()
        if below(4) > 0 { filters.age = interval(18, 70, of: 1) }
        if below(2) == 0 { filters.weight = interval(40, 15, of: 5) }
        if below(3) == 0 { filters.height = interval(150, 9, of: 5) }
        if below(2) == 0 || filters == GroupFilters() { filters.sexes = [below(2) == 0 ? .female : .male] }
        if below(3) == 0 { filters.occupations = [Occupation.allCases[below(3)]] }
        let regions = catalogue.places.filter { $0.level == .region }
        func chosen() -> [PlaceChoice] {
            let first = below(regions.count - 3)
            return regions[first...first + below(3)].map { PlaceChoice(code: $0.code, leaves: $0.leaves) }
        }
        if below(2) == 0 { filters.residence = chosen() }
        if below(6) == 0 { filters.birth = chosen() }
        self.filters = filters
        days = 1 + below(MadeUpPeople.days)
    }
}
