// Charts, statistics, health status and dashboard, held against the entries behind them.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import Ingest

@Suite struct ChartStoryTests {
    private static func time(_ text: String) -> Int64 { Timestamp(rfc3339: text)?.milliseconds ?? 0 }

    @Test("SC-09, MYD-03 to MYD-06: heart rate and blood oxygen of four months, by week, are exactly the values behind them")
    func fourMonths() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let device = try await harness.pair(account, measures: [.heartRate, .oxygenSaturation])
            var generator = SeededGenerator(seed: 3)
            var all: [Sample] = []
            for day in 0..<Int64(120) {
                for minute in stride(from: Int64(0), to: 60, by: 7) {
                    let at = Timestamp(milliseconds: Self.time("2026-01-01T17:00:00Z") + day * 86_400_000 + minute * 60_000)
                    all.append(Sample(type: .heartRate, at: at, value: Double(Int.random(in: 480...1200, using: &generator)) / 8))
                    if day % 2 == 0 {
                        all.append(Sample(type: .oxygenSaturation, at: at, value: Double(Int.random(in: 720...800, using: &generator)) / 8))
                    }
                }
            }
            _ = try await harness.post(all, token: device.token)
            try await harness.ingest.upkeep.round(now: .now)
            let query = "type=heart-rate&type=oxygen-saturation&from=2026-01-01T00:00:00Z&to=2026-05-01T00:00:00Z"
            for (granularity, zone) in [("day", "Europe/Rome"), ("week", "Europe/Rome"), ("month", "UTC"), ("week", "America/New_York")] {
                let chart = try await harness.chart("\(query)&granularity=\(granularity)&timezone=\(zone)", token: account.token)
                let calendar = try #require(ChartCalendar(zone: zone))
                let kind = try #require(ChartGranularity(rawValue: granularity))
                #expect(
                    chart.granularity == granularity && chart.timezone == zone
                        && chart.series.map(\.type) == ["heart-rate", "oxygen-saturation"])
                for series in chart.series {
                    let samples = all.filter { $0.type.code == series.type }
                    let expected = Dictionary(grouping: samples) { calendar.stretch(holding: $0.at.milliseconds, kind).lowerBound }
                        .sorted { $0.key < $1.key }
                    #expect(series.points.map(\.from) == expected.map { Timestamp(milliseconds: $0.key).rfc3339 })
                    #expect(series.points.map(\.count) == expected.map { $0.value.count })
                    #expect(series.points.map(\.max) == expected.map { $0.value.compactMap(\.value).max() })
                    #expect(series.points.map(\.min) == expected.map { $0.value.compactMap(\.value).min() })
                    for (point, group) in zip(series.points, expected) {
                        let mean = group.value.compactMap(\.value).reduce(0, +) / Double(group.value.count)
                        #expect(abs((point.mean ?? 0) - mean) < 1e-9)
                    }
                }
            }
            let raw = try await harness.chart(
                "type=heart-rate&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z&granularity=raw", token: account.token)
            let day = all.filter {
                $0.type == .heartRate && UTCDay.number(of: $0.at.milliseconds) == UTCDay.number(of: Self.time("2026-01-05T00:00:00Z"))
            }
            #expect(raw.series[0].points.map(\.value) == day.map(\.value))
            let other = try await harness.account()
            let none = try await harness.chart("from=2026-01-01T00:00:00Z", token: other.token)
            #expect(none.series.isEmpty && none.notice?.code == "nothing-collected", "MYD-02: nobody sees another's data")
        }
    }

    @Test("SC-45, MYD-05, MYD-06: glucose only, from week to day; a series without entries says why it is empty")
    func glucose() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let meter = try await harness.pair(account, measures: [.glucose])
            let start = Self.time("2026-01-05T07:00:00Z")
            let values = (0..<Int64(14)).map { Sample.of("glucose", Timestamp(milliseconds: start + $0 * 86_400_000), 90 + Double($0)) }
            _ = try await harness.post(values, token: meter.token)
            let query = "type=glucose&from=2026-01-05T00:00:00Z&to=2026-01-19T00:00:00Z"
            let weeks = try await harness.chart("\(query)&granularity=week", token: account.token)
            #expect(
                weeks.series[0].points.map(\.count) == [7, 7] && weeks.series[0].unit == "mg/dL" && weeks.series[0].italian == "Glicemia")
            let days = try await harness.chart("\(query)&granularity=day&coverage=true", token: account.token)
            #expect(days.series[0].points.map(\.mean) == values.map(\.value))
            let coverage = try #require(days.series[0].coverage, "ING-17")
            #expect(coverage.share > 0 && coverage.share < 1 && coverage.longestGapSeconds > 80_000)
            let empty = try await harness.chart("type=weight&from=2026-01-05T00:00:00Z", token: account.token)
            #expect(empty.series[0].points.isEmpty && empty.series[0].notice?.code == "nothing-matches")
        }
    }

    @Test(
        "MYD-04: a period that begins after its end, or what is no date, type, granularity or zone, is named; too fine a chart is told what to choose"
    )
    func refusing() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let cases: [(String, [String])] = [
                ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", ["query:from", "query:to"]), ("from=monday", ["query:from"]),
                ("to=2026-01-01T00:00:00Z", ["query:from"]), ("from=2026-01-01T00:00:00Z&type=mood", ["query:type"]),
                ("from=2026-01-01T00:00:00Z&granularity=decade", ["query:granularity"]),
                ("from=2026-01-01T00:00:00Z&timezone=Mars/Olympus", ["query:timezone"]),
                ("from=2026-01-01T00:00:00Z&type=position", ["query:type"]), ("from=2020-01-01T00:00:00Z&coverage=true", ["query:from"]),
            ]
            for (query, pointers) in cases {
                let response = try await harness.request("GET", "/ingest/v1/series?\(query)", token: account.token)
                #expect(response.status == 400 && response.problem == "invalid-parameter", "\(query)")
                #expect(try response.decoded(as: Problem.self).errors?.map(\.pointer) == pointers, "\(query)")
            }
            #expect(try await harness.request("GET", "/ingest/v1/series?from=2026-01-01T00:00:00Z", token: nil).status == 401)
            let device = try await harness.addDevice()
            let many = (0..<Int64(20_001)).map { Sample.pulse(1_700_000_000_000 + $0 * 1000, 60) }
            for start in stride(from: 0, to: many.count, by: 10_000) {
                _ = try await harness.post(Array(many[start..<min(many.count, start + 10_000)]), token: device.token)
            }
            let fine = try await harness.request("GET", "/ingest/v1/series?from=2023-11-01T00:00:00Z&granularity=raw", token: device.token)
            #expect(fine.status == 422 && fine.problem == "too-many-points")
            #expect(try fine.decoded(as: Problem.self).detail?.contains("`minute`") == true)
            #expect(
                try await harness.chart("from=2023-11-01T00:00:00Z&granularity=minute", token: device.token).series[0].points.count == 334)
        }
    }

    @Test("SC-33, MYD-07 to MYD-10: status and statistics of week and month, with a notice where there is too little, new at once")
    func statusAndStatistics() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let empty: HealthStatusAnswer = try await harness.request("GET", "/ingest/v1/health-status", token: account.token).decoded()
            #expect(empty.status == "no-recent-data" && empty.notice?.code == "nothing-collected")
            let device = try await harness.pair(account, measures: [.heartRate, .bloodPressureMax, .bloodPressureMin])
            let now = Timestamp.now.milliseconds
            let days = (0..<Int64(12)).flatMap { day in
                [
                    Sample.pulse(now - day * 86_400_000 - 1000, 60 + Double(day)),
                    Sample(type: .bloodPressureMax, at: Timestamp(milliseconds: now - day * 86_400_000 - 1000), value: 120),
                ]
            }
            _ = try await harness.post(days.filter { $0.type == .heartRate || now - $0.at.milliseconds < 100_000_000 }, token: device.token)
            let statistics: StatisticsAnswer = try await harness.request(
                "GET", "/ingest/v1/statistics?timezone=Europe/Rome", token: account.token
            ).decoded()
            #expect(statistics.week.parameters.map(\.type) == ["heart-rate", "blood-pressure-max", "blood-pressure-min"])
            let (week, month) = (statistics.week.parameters[0], statistics.month.parameters[0])
            #expect(week.daysWithData == 7 && month.daysWithData == 12)
            #expect(
                week.min == 60 && week.notice == nil && month.count == 12 && month.max == 71 && month.mean == 65.5 && month.notice == nil)
            #expect(statistics.week.parameters[1].notice?.code == "not-enough-data" && statistics.week.parameters[1].mean == 120)
            #expect(statistics.month.parameters[2].count == 0 && statistics.month.parameters[2].min == nil)
            let fine: HealthStatusAnswer = try await harness.request("GET", "/ingest/v1/health-status", token: account.token).decoded()
            #expect(fine.status == "all-in-range" && fine.parameters.first?.low == 45 && fine.parameters.first?.high == 120)
            _ = try await harness.post([.pulse(now, 150)], token: device.token)
            let high: HealthStatusAnswer = try await harness.request("GET", "/ingest/v1/health-status", token: account.token).decoded()
            #expect(high.status == "out-of-range" && high.parameters.first?.state == "above" && high.parameters.first?.value == 150)
            #expect(try await harness.request("GET", "/ingest/v1/statistics?type=position", token: account.token).status == 400)
        }
    }

    @Test("MYD-01, MYD-10, ING-15: the dashboard shows status and activities, and says so at once when something comes")
    func dashboard() async throws {
        try await IngestHarness.runWithWatch { harness, account, device in
            let dashboard: DashboardAnswer = try await harness.request("GET", "/ingest/v1/dashboard", token: account.token).decoded()
            #expect(dashboard.health.status == "no-recent-data" && dashboard.activities.isEmpty)
            let events = try harness.listen("/ingest/v1/dashboard/events", token: account.token)
            defer { events.stop() }
            try await eventually("the first summary", isTrue: { events.events(as: DashboardAnswer.self).count >= 1 })
            try await eventually("somebody looks", isTrue: { harness.ingest.ownData.arrivals.count(of: account.person) == 1 })
            _ = try await harness.post([.pulse(Timestamp.now.milliseconds, 150)], token: device.token)
            try await eventually(
                "the new summary", isTrue: { events.events(as: DashboardAnswer.self).last?.health.status == "out-of-range" })
            events.stop()
            // Whoever has gone is noticed when there is something to say.
            let start = Timestamp.now.milliseconds - 1_000_000
            let posted = Counter()
            try await eventually(
                "nobody looks any more",
                isTrue: {
                    _ = try await harness.post([.pulse(start + posted.next(), 70)], token: device.token)
                    return harness.ingest.ownData.arrivals.count(of: account.person) == 0
                })
        }
    }
}

/// 1, 2, 3, …
private final class Counter: Sendable {
    private let state = Mutex<Int64>(0)

    func next() -> Int64 {
        state.withLock { state in
            state += 1
            return state
        }
    }
}
