// Days, weeks and months of people's own clocks.

import Contracts
import Testing

@testable import Ingest

@Suite struct ChartCalendarTests {
    private static func time(_ text: String) -> Int64 {
        Timestamp(rfc3339: text)?.milliseconds ?? 0
    }

    private static func stretch(_ zone: String, _ granularity: ChartGranularity, holding text: String) -> [String] {
        guard let calendar = ChartCalendar(zone: zone) else { return [] }
        let stretch = calendar.stretch(holding: time(text), granularity)
        return [stretch.lowerBound, stretch.upperBound].map { Timestamp(milliseconds: $0).rfc3339.replacing(".000Z", with: "Z") }
    }

    private static let cases: [(zone: String, granularity: ChartGranularity, time: String, from: String, to: String)] = [
        ("UTC", .minute, "2026-03-05T10:11:12Z", "2026-03-05T10:11:00Z", "2026-03-05T10:12:00Z"),
        ("UTC", .hour, "2026-03-05T10:11:12Z", "2026-03-05T10:00:00Z", "2026-03-05T11:00:00Z"),
        ("UTC", .day, "2026-03-05T00:00:00Z", "2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z"),
        ("UTC", .week, "2026-03-08T23:59:59Z", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"),
        ("UTC", .week, "2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"),
        ("UTC", .month, "2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
        ("UTC", .day, "1969-12-31T23:59:59Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("Europe/Rome", .day, "2026-07-01T21:59:59Z", "2026-06-30T22:00:00Z", "2026-07-01T22:00:00Z"),
        // Clocks go forward: 23 hours; and back: 25.
        ("Europe/Rome", .day, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
        ("Europe/Rome", .day, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        ("Europe/Rome", .week, "2026-03-29T21:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"),
        ("Europe/Rome", .month, "2026-03-31T22:30:00Z", "2026-03-31T22:00:00Z", "2026-04-30T22:00:00Z"),
        ("Asia/Kolkata", .hour, "2026-01-01T00:00:00Z", "2025-12-31T23:30:00Z", "2026-01-01T00:30:00Z"),
        ("America/New_York", .day, "2026-01-01T04:59:59Z", "2025-12-31T05:00:00Z", "2026-01-01T05:00:00Z"),
    ]

    @Test("MYD-05: stretches follow the calendar of the zone, changes of clocks included", arguments: cases)
    func stretches(one: (zone: String, granularity: ChartGranularity, time: String, from: String, to: String)) {
        #expect(Self.stretch(one.zone, one.granularity, holding: one.time) == [one.from, one.to])
    }

    /// Apia had no 30 December 2011: Thursday 29 at UTC-10 was followed by Saturday 31 at UTC+14.
    private static let skipped: [(granularity: ChartGranularity, time: String, from: String, to: String)] = [
        (.week, "2011-12-25T12:00:00Z", "2011-12-19T10:00:00Z", "2011-12-26T10:00:00Z"),
        (.week, "2011-12-29T12:00:00Z", "2011-12-26T10:00:00Z", "2012-01-01T10:00:00Z"),
        (.week, "2011-12-31T12:00:00Z", "2011-12-26T10:00:00Z", "2012-01-01T10:00:00Z"),
        (.week, "2012-01-01T10:00:00Z", "2012-01-01T10:00:00Z", "2012-01-08T10:00:00Z"),
        (.week, "2012-01-05T12:00:00Z", "2012-01-01T10:00:00Z", "2012-01-08T10:00:00Z"),
        (.week, "2012-01-08T12:00:00Z", "2012-01-08T10:00:00Z", "2012-01-15T10:00:00Z"),
        (.day, "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"),
        (.day, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"),
    ]

    @Test(
        "MYD-05: around a day that a zone skipped one week had 13 days, and Monday 2 January stood in the week before", arguments: skipped)
    func skippedDay(one: (granularity: ChartGranularity, time: String, from: String, to: String)) {
        #expect(Self.stretch("Pacific/Apia", one.granularity, holding: one.time) == [one.from, one.to])
    }

    @Test("A zone that the IANA does not know is none", arguments: ["", "Mars/Olympus", "GMT+25", "europe/rome", "CEST", "../etc/passwd"])
    func unknownZones(name: String) {
        #expect(ChartCalendar(zone: name) == nil)
    }

    @Test(
        "Stretches of a zone lie end to end over three years, whatever the granularity",
        arguments: ["UTC", "Europe/Rome", "Australia/Lord_Howe", "America/Sao_Paulo"])
    func endToEnd(zone: String) throws {
        let calendar = try #require(ChartCalendar(zone: zone))
        for granularity in [ChartGranularity.day, .week, .month] {
            var at = Self.time("2016-05-01T00:00:00Z")
            let end = Self.time("2019-05-01T00:00:00Z")
            while at < end {
                let stretch = calendar.stretch(holding: at, granularity)
                #expect(stretch.contains(at))
                #expect(calendar.stretch(holding: stretch.upperBound - 1, granularity) == stretch)
                #expect(calendar.stretch(holding: stretch.lowerBound, granularity) == stretch)
                at = stretch.upperBound
            }
        }
    }

    @Test("MYD-09: the last seven and thirty days end with today, in the person's own days")
    func lastDays() throws {
        let calendar = try #require(ChartCalendar(zone: "Europe/Rome"))
        let week = calendar.days(7, upTo: Self.time("2026-03-30T22:30:00Z"))
        #expect(week == Self.time("2026-03-24T23:00:00Z")..<Self.time("2026-03-31T22:00:00Z"))
        #expect(ChartCalendar.utc.days(30, upTo: Self.time("2026-03-30T10:00:00Z")).count == 30 * 86_400_000)
    }

    @Test("Sums of a calendar's stretches are the sums of what lies in them")
    func sums() throws {
        let calendar = try #require(ChartCalendar(zone: "Europe/Rome"))
        var sums = ChartSums(calendar: calendar, granularity: .day)
        let start = Self.time("2026-03-28T00:00:00Z")
        for minute in 0..<Int64(4 * 24 * 60) { sums.add(Aggregate(Double(minute % 100)), from: start + minute * 60_000) }
        #expect(sums.points.map(\.aggregate.count) == [23 * 60, 23 * 60, 24 * 60, 24 * 60, 2 * 60])
        #expect(sums.points.reduce(0) { $0 + $1.aggregate.sum } == Double((0..<5760).reduce(0) { $0 + $1 % 100 }))
    }
}
