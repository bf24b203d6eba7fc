// Simulated people who share anonymously: what is told of them, and what they measured.

import Contracts
import Foundation
import ServiceKit

/// One of thousands. Tests judge releases by these: nothing else knows who is in which group.
struct GroupPerson: Sendable {
    var id = PersonID.random()
    var born: CivilDate
    /// As consent spells it.
    var sex = "female"
    /// Codes of places.
    var birthPlace = "H501"
    var home = "F205"
    /// As consent spells it.
    var occupation = "employed"
    /// In kg.
    var weight = 70.0
    /// In cm.
    var height = 170.0
    var shares: [Metric] = [.heartRate]
    /// Since when all of it is shared.
    var since = GroupDay.longAgo
    var samples: [Sample] = []
    /// Whether the account is there already, registered over HTTP.
    var hasAccount = false

    /// - Parameter age: in whole years, today and for the rest of the year.
    init(age: Int) {
        let today = CivilDate(daysSince1970: GroupDay.today)
        born = CivilDate(year: today.year - Int64(age), month: 1, day: 1) ?? today
    }

    /// Somebody who registered over HTTP.
    init(_ person: PersonID) {
        self.init(age: 40)
        (id, hasAccount) = (person, true)
    }

    /// What was measured of a type, in order.
    func values(_ metric: Metric) -> [Double] {
        samples.filter { $0.type == metric }.compactMap(\.value)
    }
}

extension [GroupPerson] {
    /// - Parameter make: of the numbers from 0.
    init(_ count: Int, _ make: (Int) -> GroupPerson) {
        self = (0..<count).map(make)
    }

    /// Mean of what they measured of a type: what the mean of a release's entries is near.
    func mean(_ metric: Metric) -> Double {
        let values = flatMap { $0.values(metric) }
        return values.reduce(0, +) / Double(values.count)
    }
}

/// A whole day in UTC.
struct GroupDay: Sendable {
    private static let milliseconds: Int64 = 86_400_000

    let begin: Timestamp

    /// Since 1970.
    static var today: Int64 { Timestamp.now.milliseconds / milliseconds }

    /// - Parameter days: before today; at least 2 where hours have to be closed already.
    init(before days: Int64) {
        begin = Timestamp(milliseconds: (Self.today - days) * Self.milliseconds)
    }

    var end: Timestamp { begin + .milliseconds(Self.milliseconds) }

    /// Before everything that is measured.
    static let longAgo = GroupDay(before: 10).begin

    /// Five minutes after an hour has begun.
    func time(_ hour: Int) -> Timestamp { begin + .seconds(hour * 3600 + 300) }

    func heartRate(_ rate: Double, hour: Int = 9) -> Sample {
        Sample(type: .heartRate, at: time(hour), value: rate)
    }
}

/// Sizes of stories of groups.
enum GroupSizes {
    /// Nobody of a story's groups, but people beside them, until so many are there. A debug build takes some 10 ms for each: 20,000 of
    /// them are by hand.
    static let people = ProcessInfo.processInfo.environment["TRACKME_TEST_PEOPLE"].flatMap { Int($0) } ?? 2600

    /// In Rome, older than anybody whom stories ask for, with a heart rate on each of these days.
    static func others(beside count: Int, on days: GroupDay...) -> [GroupPerson] {
        [GroupPerson](max(0, people - count)) { number in
            var person = GroupPerson(age: 70 + number % 20)
            person.home = "H501"
            person.samples = days.map { $0.heartRate(65 + Double(number % 25), hour: number % 24) }
            return person
        }
    }
}
