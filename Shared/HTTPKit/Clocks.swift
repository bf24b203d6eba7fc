// The clock as a door reads it, and the date of an answer.

import Contracts
import Foundation
import Synchronization

extension Timestamp {
    /// The system's clock.
    static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

/// `Date` of an answer (IMF-fixdate), written once per second.
enum AnswerDate {
    private static let latest = Mutex<(second: Int64, text: String)>((.min, ""))

    static func text(at time: Timestamp) -> String {
        let second = time.milliseconds.flooredQuotientAndRemainder(dividingBy: 1000).quotient
        return latest.withLock { latest in
            if latest.second != second { latest = (second, fixdate(second)) }
            return latest.text
        }
    }

    /// `Sat, 10 Jan 2026 00:31:00 GMT`.
    static func fixdate(_ second: Int64) -> String {
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let (day, rest) = second.flooredQuotientAndRemainder(dividingBy: 86_400)
        let date = CivilDate(daysSince1970: day)
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let weekday = weekdays[Int(day.flooredQuotientAndRemainder(dividingBy: 7).remainder)]
        return "\(weekday), \(two(date.day)) \(months[Int(date.month) - 1]) \(date.year) "
            + "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60)) GMT"
    }
}
