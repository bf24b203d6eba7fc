// What a person has said of themselves: the fields of table ACC-F.

import Contracts

/// A person's profile as it is sealed. Personal, all of it.
struct Profile: Hashable, Codable, Sendable {
    var name: String
    var surname: String
    var email: EmailAddress
    var language: Language
    /// The identifier of the country in which the person registered, spelt one way; fixed after registration, as are birth date and city of
    /// birth (ACC-19).
    var fiscalCode: String
    var birthDate: BirthDate
    /// Code of a place.
    var cityOfBirth: String
    /// Code of a place.
    var cityOfResidence: String
    var address: String
    var occupation: Occupation
    /// In kg.
    var weight: Double
    /// In cm.
    var height: Double
    var gender: Gender?
    var userName: UserName?
    var phone: TelephoneNumber?
    var socialStatus: SocialStatus?
    var workHoursPerDay: Double?
    var sportHoursPerWeek: Double?
    /// Types that may be shared anonymously (ACC-06); none unless chosen.
    var anonymousTypes: [Metric] = []
    var automatedSOS = AutomatedSOSPreference()
    /// The adult who consents for a child (ACC-36).
    var guardian: EmailAddress?
}

/// What became of the request to join AutomatedSOS, and what the SOS dispatcher last said of the subscription.
struct AutomatedSOSPreference: Hashable, Codable, Sendable {
    enum Status: String, Codable, Sendable, CaseIterable {
        case notAsked = "not-asked"
        /// Asked for, and not answered yet: the account is not active, or the dispatcher has not said anything.
        case asked
        case active
        case refused
        /// The person was subscribed and has left.
        case left
    }

    var status = Status.notAsked
    /// Why it was refused, in words for the person.
    var reason: String?
}

/// One more occupation is one more case.
enum Occupation: String, Codable, Sendable, CaseIterable {
    case student
    case employed
    case unemployed
}

/// Used as a group filter alone.
enum Gender: String, Codable, Sendable, CaseIterable {
    case female
    case male
    case other
}

enum SocialStatus: String, Codable, Sendable, CaseIterable {
    case single
    case married
    case civilUnion = "civil-union"
    case separated
    case divorced
    case widowed
}

/// What is plausible of a living person.
enum Plausible {
    static let weight: ClosedRange<Double> = 1...500
    static let height: ClosedRange<Double> = 30...260
    static let workHours: ClosedRange<Double> = 0...24
    static let sportHours: ClosedRange<Double> = 0...168
}

/// A day of birth, coded as `1940-05-01`.
struct BirthDate: Hashable, Sendable {
    /// Nobody has lived longer.
    static let oldest: Int64 = 130

    let date: CivilDate

    init(_ date: CivilDate) {
        self.date = date
    }

    /// Nil for anything but a real date in that form.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.map(\.utf8.count) == [4, 2, 2],
            parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }), let year = Int64(parts[0]), let month = Int64(parts[1]),
            let day = Int64(parts[2]), let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        self.date = date
    }

    /// In the past, and not longer ago than people live.
    func isPlausible(today: CivilDate) -> Bool {
        date.daysSince1970 < today.daysSince1970 && age(on: today) <= Self.oldest
    }

    /// In whole years; one born on 29 February is a year older on 1 March.
    func age(on today: CivilDate) -> Int64 {
        let hadBirthday = (today.month, today.day) >= (date.month, date.day)
        return today.year - date.year - (hadBirthday ? 0 : 1)
    }

    var text: String {
        func padded(_ value: Int64, _ width: Int) -> String {
            String(repeating: "0", count: max(0, width - String(value).count)) + String(value)
        }
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
    }
}

extension BirthDate: TextCoded {
    static let kind = "a date"
}
