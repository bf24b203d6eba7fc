// What is kept of somebody's profile: what columns are made of, and no more.

import Contracts

/// Personal. Numbers are whole, as columns hold them.
struct SharedProfile: Hashable, Sendable {
    /// Of births.
    private static let years: ClosedRange<Int64> = 0...9999
    /// Of births, since 1970: all of those years.
    private static let days = -800_000...3_000_000

    let birthDate: CivilDate
    let sex: Sex?
    let occupation: Occupation
    /// Code as profiles hold it.
    let residence: String
    /// Likewise.
    let birthPlace: String
    /// Whole kg.
    let weight: Int
    /// Whole cm.
    let height: Int
    /// Since when each type is shared, ms since 1970; blood pressure since both of its metrics are.
    let since: [GroupDataType: Int64]

    /// Nil where consent says something that no profile can hold.
    init?(_ profile: CohortProfile) {
        let parts = profile.birthDate.split(separator: "-", omittingEmptySubsequences: false).compactMap { Int64($0) }
        guard parts.count == 3, Self.years.contains(parts[0]), let born = CivilDate(year: parts[0], month: parts[1], day: parts[2]),
            let occupation = Occupation.allCases.first(where: { $0.code == profile.occupation }),
            (0...10_000).contains(profile.weight), (0...10_000).contains(profile.height)
        else { return nil }
        birthDate = born
        sex = Sex.allCases.first { $0.code == profile.sex }
        self.occupation = occupation
        (residence, birthPlace) = (profile.cityOfResidence, profile.cityOfBirth)
        (weight, height) = (Int(profile.weight.rounded()), Int(profile.height.rounded()))
        let opted = Dictionary(profile.shares.map { ($0.metric, $0.since.milliseconds) }, uniquingKeysWith: max)
        var since: [GroupDataType: Int64] = [:]
        for type in GroupDataType.measured {
            let times = type.metrics.compactMap { opted[$0] }
            if times.count == type.metrics.count { since[type] = times.max() }
        }
        self.since = since
    }

    /// In whole years.
    func age(on day: CivilDate) -> Int {
        Self.age(born: Self.packed(birthDate), on: day)
    }

    /// - Parameter born: as `packed` gives it.
    static func age(born: Int32, on day: CivilDate) -> Int {
        max(0, Int((packed(day) - born) / 10_000))
    }

    /// Year, month and day as decimal digits: `19400501`.
    static func packed(_ day: CivilDate) -> Int32 {
        Int32(clamping: day.year * 10_000 + day.month * 100 + day.day)
    }
}

extension PersonRow {
    /// As columns hold somebody on a day. - Parameter leaf: the catalogue's number of a place, by the code that profiles hold.
    init(_ profile: SharedProfile, on day: CivilDate, _ policy: AnonymityPolicy, leaf: (String) -> Int) {
        let age = profile.age(on: day)
        self.init(
            age: age, weight: profile.weight, height: profile.height, sex: profile.sex, occupation: profile.occupation,
            residence: leaf(profile.residence), birthPlace: leaf(profile.birthPlace), shares: Set(profile.since.keys),
            isEligible: age >= policy.youngestAge)
    }
}

// MARK: As it is kept

extension SharedProfile {
    func write(to writer: inout CompactWriter) {
        writer.signed(Int(birthDate.daysSince1970))
        writer.count(Int(sex?.rawValue ?? 0))
        writer.count(Int(occupation.rawValue))
        writer.text(residence)
        writer.text(birthPlace)
        writer.count(weight)
        writer.count(height)
        writer.count(since.count)
        for (type, time) in since.sorted(by: { $0.key < $1.key }) {
            writer.count(Int(type.rawValue))
            writer.signed(Int(time))
        }
    }

    init(from reader: inout CompactReader) throws {
        let day = try reader.signed()
        guard Self.days.contains(day) else { throw CompactReader.Damaged() }
        birthDate = CivilDate(daysSince1970: Int64(day))
        sex = Sex(rawValue: UInt8(try reader.count(upTo: 255)))
        guard let occupation = Occupation(rawValue: UInt8(try reader.count(upTo: 255))) else { throw CompactReader.Damaged() }
        self.occupation = occupation
        (residence, birthPlace) = (try reader.text(), try reader.text())
        (weight, height) = (try reader.count(upTo: 10_000), try reader.count(upTo: 10_000))
        var since: [GroupDataType: Int64] = [:]
        for _ in 0..<(try reader.count(upTo: GroupDataType.allCases.count)) {
            guard let type = GroupDataType(rawValue: UInt8(try reader.count(upTo: 255))) else { throw CompactReader.Damaged() }
            since[type] = Int64(try reader.signed())
        }
        self.since = since
    }
}

/// What is kept of one row: the profile while anything is shared, and which types were shared once and ended.
struct CohortRecord: Hashable, Sendable {
    var profile: SharedProfile?
    /// Their earlier hours count no more, even where the type is shared anew.
    var formerly: Set<GroupDataType> = []

    /// What follows once consent has said something new.
    /// - Returns: also the types that begin anew: what stands of the day of their new beginning, from before it, is to go.
    func following(_ next: SharedProfile?) -> (record: CohortRecord, begunAnew: [GroupDataType]) {
        var record = CohortRecord(profile: next, formerly: formerly)
        var begun: [GroupDataType] = []
        for type in GroupDataType.measured {
            let (before, after) = (profile?.since[type], next?.since[type])
            if let before, after.map({ $0 > before }) ?? true { record.formerly.insert(type) }
            if let after, record.formerly.contains(type), before.map({ after > $0 }) ?? true { begun.append(type) }
        }
        return (record, begun)
    }

    /// From which hour on a type counts, as `CountingHours` says it.
    /// - Parameter erasedUntil: hours before it are erased.
    func counting(_ type: GroupDataType, erasedUntil: Int) -> Int32 {
        guard let since = profile?.since[type] else {
            return profile != nil || formerly.contains(type) ? CountingHours.ended : CountingHours.unknown
        }
        return Int32(clamping: max(Int(since).flooredQuotient(Int(CohortHourSummed.milliseconds)), erasedUntil))
    }

    var bytes: [UInt8] {
        var writer = CompactWriter()
        writer.count(formerly.count)
        for type in formerly.sorted() { writer.count(Int(type.rawValue)) }
        writer.count(profile == nil ? 0 : 1)
        profile?.write(to: &writer)
        return writer.bytes
    }

    init(profile: SharedProfile? = nil, formerly: Set<GroupDataType> = []) {
        (self.profile, self.formerly) = (profile, formerly)
    }

    init(bytes: [UInt8]) throws {
        var reader = CompactReader(bytes)
        for _ in 0..<(try reader.count(upTo: GroupDataType.allCases.count)) {
            guard let type = GroupDataType(rawValue: UInt8(try reader.count(upTo: 255))) else { throw CompactReader.Damaged() }
            formerly.insert(type)
        }
        if try reader.count(upTo: 1) == 1 { profile = try SharedProfile(from: &reader) }
        guard reader.isAtEnd else { throw CompactReader.Damaged() }
    }
}
