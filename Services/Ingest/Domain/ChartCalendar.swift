// Days, weeks and months as the person's own clock has them, for charts and statistics.

import Contracts
import Foundation

/// Length of the stretches of a chart.
enum ChartGranularity: String, CaseIterable, Sendable {
    case raw, minute, hour, day, week, month

    /// The next coarser one; a month has none.
    var coarser: ChartGranularity {
        let all = ChartGranularity.allCases
        let place = all.firstIndex(of: self) ?? 0
        return all[min(place + 1, all.count - 1)]
    }
}

/// The calendar of one time zone; weeks begin on Monday (ISO 8601). Times are ms since 1970.
struct ChartCalendar: Sendable {
    /// The IANA name.
    let zone: String
    private let calendar: Calendar
    private let timeZone: TimeZone

    static let utc: ChartCalendar = {
        guard let calendar = ChartCalendar(zone: "UTC") else { preconditionFailure("there is no UTC") }
        return calendar
    }()

    /// `nil` for a name that the IANA's database does not have.
    init?(zone: String) {
        guard zone == "UTC" || Self.isRegionAndPlace(zone), let timeZone = TimeZone(identifier: zone) else { return nil }
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = timeZone
        (self.zone, self.calendar, self.timeZone) = (zone, calendar, timeZone)
    }

    /// As `Europe/Rome`: other spellings, such as offsets and abbreviations, name no calendar.
    private static func isRegionAndPlace(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return (2...3).contains(parts.count)
            && parts.allSatisfy { part in
                part.first.map { $0.isASCII && $0.isUppercase } ?? false
                    && part.utf8.allSatisfy { byte in
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte &- UInt8(ascii: "0") <= 9
                            || "_-+".utf8.contains(byte)
                    }
            }
    }

    /// The stretch that holds `time`; of `raw`, the ms itself. Stretches of days and more follow the calendar, so that the day of a
    /// change of clocks has 23 or 25 hours.
    func stretch(holding time: Int64, _ granularity: ChartGranularity) -> Range<Int64> {
        switch granularity {
        case .raw: time..<time + 1
        case .minute: even(time, 60_000)
        case .hour: even(time, 3_600_000)
        case .day: whole(interval(.day, time), from: localDay(time), days: 1, holding: time)
        case .week: whole(interval(.weekOfYear, time), from: localMonday(time), days: 7, holding: time)
        case .month: interval(.month, time)
        }
    }

    private func even(_ time: Int64, _ width: Int64) -> Range<Int64> {
        let offset = Int64(timeZone.secondsFromGMT(for: Self.date(time))) * 1000
        let local = time + offset
        let start = local - local.flooredQuotientAndRemainder(dividingBy: width).remainder - offset
        return start..<start + width
    }

    private func interval(_ component: Calendar.Component, _ time: Int64) -> Range<Int64> {
        guard let interval = calendar.dateInterval(of: component, for: Self.date(time)) else { return time..<time + 1 }
        let start = Self.milliseconds(interval.start)
        return start..<max(start + 1, Self.milliseconds(interval.end))
    }

    private static let day: Int64 = 86_400_000

    /// Days since 1970-01-01 by the zone's own clock.
    private func localDay(_ time: Int64) -> Int64 {
        let offset = Int64(timeZone.secondsFromGMT(for: Self.date(time))) * 1000
        return (time + offset).flooredQuotientAndRemainder(dividingBy: Self.day).quotient
    }

    /// That of the same week.
    private func localMonday(_ time: Int64) -> Int64 {
        let day = localDay(time)
        // 1970-01-01 was a Thursday.
        return day - (day + 3).flooredQuotientAndRemainder(dividingBy: 7).remainder
    }

    /// The calendar's own answer where it has these dates: around a date that a zone has skipped, as Apia 2011-12-30, it makes one week of two.
    private func whole(_ found: Range<Int64>, from first: Int64, days: Int64, holding time: Int64) -> Range<Int64> {
        if found.contains(time), localDay(found.lowerBound) == first, localDay(found.upperBound) == first + days { return found }
        let around = (days + 2) * Self.day
        return start(of: first, between: time - around, and: time)..<start(of: first + days, between: time, and: time + around)
    }

    /// The first time that is on that day or later, between one that is not and one that is.
    private func start(of day: Int64, between early: Int64, and late: Int64) -> Int64 {
        var (early, late) = (early, late)
        while late - early > 1 {
            let middle = early + (late - early) / 2
            if localDay(middle) < day { early = middle } else { late = middle }
        }
        return late
    }

    /// The period in whole stretches, since sums of cut ones would look like less.
    func widened(_ period: Range<Int64>, to granularity: ChartGranularity) -> Range<Int64> {
        guard !period.isEmpty else { return period }
        let start = stretch(holding: period.lowerBound, granularity).lowerBound
        return start..<stretch(holding: period.upperBound - 1, granularity).upperBound
    }

    /// The `count` whole days of which the last holds `time`.
    func days(_ count: Int, upTo time: Int64) -> Range<Int64> {
        let last = stretch(holding: time, .day)
        let first = calendar.date(byAdding: .day, value: 1 - count, to: Self.date(last.lowerBound)).map(Self.milliseconds)
        return (first ?? last.lowerBound)..<last.upperBound
    }

    private static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    private static func milliseconds(_ date: Date) -> Int64 {
        Int64((date.timeIntervalSince1970 * 1000).rounded())
    }
}

/// Sums of whatever stretches a calendar has, from finer sums that come in order of time.
struct ChartSums: Sendable {
    private let calendar: ChartCalendar
    private let granularity: ChartGranularity
    private var stretch: Range<Int64> = 0..<0
    private(set) var points: [(from: Int64, aggregate: Aggregate)] = []

    init(calendar: ChartCalendar, granularity: ChartGranularity) {
        (self.calendar, self.granularity) = (calendar, granularity)
    }

    /// `aggregate` covers a stretch that lies within one of these and is not before the last one.
    mutating func add(_ aggregate: Aggregate, from start: Int64) {
        if stretch.contains(start), !points.isEmpty {
            points[points.count - 1].aggregate.add(aggregate)
        } else {
            stretch = calendar.stretch(holding: start, granularity)
            points.append((stretch.lowerBound, aggregate))
        }
    }
}
