// The routes of charts, statistics, the health status, the dashboard and one's own track.

import Contracts
import Foundation
import HTTPKit
import ServiceKit

struct ChartRoutes: Sendable {
    let charts: Charts
    let activities: Activities
    let people: People
    let arrivals: Watchers<PersonID>

    var all: [Route] { [series, statistics, status, dashboard, dashboardEvents, track] }

    /// Days over which coverage is computed at most: it reads every entry.
    private static let coverageDays: Int64 = 400

    private var series: Route {
        Route(
            .get, "/ingest/v1/series", as: "getSeries", access: .person, summary: "Own data as series for a chart",
            description: """
                Several types at once, in stretches of the asked granularity: least, mean and greatest value and number of entries; `raw` \
                gives the entries themselves. Days, weeks (from Monday) and months are those of `timezone`, and the period is widened to \
                whole ones. A series without entries says why it is empty. At most \(Charts.mostPoints) points a series.
                """,
            parameters: [
                OwnDataDoor.types, .query("from", .time, required: true, "Beginning of the period, included."), OwnDataDoor.to,
                .query("granularity", .oneOf(ChartGranularity.allCases.map(\.rawValue)), "`day` unless told."), OwnDataDoor.timezone,
                .query(
                    "coverage", .boolean, "Whether to tell the share covered and the longest gap; for at most \(Self.coverageDays) days."),
            ],
            answers: [.json(200, "The series", ChartAnswer.schema), .problem(422, Problem.tooManyPoints.name)],
            yields: .statistics
        ) { exchange in
            let filter = try OwnDataDoor.filter(exchange)
            if filter.metrics?.contains(where: { $0.definition.shape == .position }) == true {
                throw OwnDataDoor.invalid("type", .notForPositions)
            }
            let withCoverage = try exchange.queryFlag("coverage") ?? false
            guard !withCoverage || Int64(filter.range.count) <= Self.coverageDays * Granularity.dayWidth else {
                throw OwnDataDoor.invalid("from", .periodTooLong(days: Int(Self.coverageDays), from: "to"))
            }
            let request = ChartRequest(
                metrics: filter.metrics, range: filter.range,
                granularity: try exchange.queryChoice("granularity", of: ChartGranularity.self) ?? .day,
                calendar: try OwnDataDoor.calendar(exchange), withCoverage: withCoverage)
            return try await OwnDataDoor.answering {
                do {
                    let reader = try await people.reader(of: exchange.person)
                    let (range, series) = try await charts.series(request, of: reader)
                    return .bytes(ChartAnswer.json(request, range, series, damaged: reader.damaged), contentType: MediaType.json)
                } catch let excess as Charts.TooManyPoints {
                    throw Problem.tooManyPoints.saying(
                        """
                        A series has at most \(Charts.mostPoints) points. Choose a shorter period, or \
                        `\(excess.granularity.coarser.rawValue)`.
                        """,
                        italian:
                            """
                            Una serie ha al massimo \(Charts.mostPoints) punti. Scelga un periodo più breve, o \
                            `\(excess.granularity.coarser.rawValue)`.
                            """,
                        errors: [.init(pointer: "query:granularity", .tooFine)])
                }
            }
        }
    }

    private var statistics: Route {
        Route(
            .get, "/ingest/v1/statistics", as: "getStatistics", access: .person,
            summary: "Least, mean and greatest values of the last week and month",
            description: """
                Of heart rate and blood pressure unless types are told. Where fewer than \(charts.rules.leastDaysOfWeek) days of the week \
                or \(charts.rules.leastDaysOfMonth) of the month have entries, a notice says so beside what there is.
                """,
            parameters: [OwnDataDoor.types, OwnDataDoor.timezone], answers: [.json(200, "Statistics", StatisticsAnswer.self)],
            yields: .statistics
        ) { exchange in
            let metrics = try OwnDataDoor.metrics(exchange) ?? Charts.usualStatistics
            guard metrics.allSatisfy({ $0.definition.shape != .position }) else {
                throw OwnDataDoor.invalid("type", .notForPositions)
            }
            let calendar = try OwnDataDoor.calendar(exchange)
            return try await OwnDataDoor.answering {
                let reader = try await people.reader(of: exchange.person)
                let spans = try await charts.statistics(of: metrics, calendar, now: exchange.receivedAt, of: reader)
                return try .json(StatisticsAnswer(spans, calendar, damaged: DamagedItem.all(of: reader.damaged)))
            }
        }
    }

    private var status: Route {
        Route(
            .get, "/ingest/v1/health-status", access: .person, summary: "The health status and the parameters behind it",
            description:
                "Judged by the registry's bounds, from the newest values; those older than \(charts.recent.wholeMilliseconds / 3_600_000) hours are shown but say nothing about now.",
            answers: [.json(200, "The status", HealthStatusAnswer.self)]
        ) { exchange in
            try await OwnDataDoor.answering {
                let reader = try await people.reader(of: exchange.person)
                let status = try await charts.status(now: exchange.receivedAt, of: reader)
                return try .json(HealthStatusAnswer(status, damaged: DamagedItem.all(of: reader.damaged)))
            }
        }
    }

    private var dashboard: Route {
        Route(
            .get, "/ingest/v1/dashboard", access: .person, summary: "Health status, current values, recent activities",
            answers: [.json(200, "The summary", DashboardAnswer.self)]
        ) { exchange in
            try await OwnDataDoor.answering {
                try .json(try await summary(of: people.reader(of: exchange.person), now: exchange.receivedAt))
            }
        }
    }

    private func summary(of reader: Reader, now: Timestamp) async throws -> DashboardAnswer {
        let status = try await charts.status(now: now, of: reader)
        let recent = try await activities.list(of: reader, after: nil, limit: Activities.onDashboard).items
        return DashboardAnswer(
            health: HealthStatusAnswer(status, damaged: DamagedItem.all(of: reader.damaged)), activities: recent.map(ActivityItem.init))
    }

    private var dashboardEvents: Route {
        .events(
            "/ingest/v1/dashboard/events", access: .person, summary: "The dashboard as it changes",
            description:
                """
                Server-sent events named `dashboard`, whose data is the summary as JSON: one at once, then one after new entries \
                have come.
                """,
            events: "Events for as long as the caller listens", yields: .liveView
        ) { exchange in
            let person = try exchange.person
            let reader = try await OwnDataDoor.answering { try await people.reader(of: person) }
            guard let watcher = arrivals.watch(person) else { throw Problem.tooManyStreams(arrivals.limit) }
            watcher.notify()
            return EventSource {
                await watcher.wait()
                guard !Task.isCancelled else { return nil }
                let summary = try JSONEncoder().encode(await summary(of: reader, now: .now))
                return ServerEvent(event: "dashboard", data: String(decoding: summary, as: UTF8.self))
            }
        }
    }

    private var track: Route {
        Route(
            .get, "/ingest/v1/track", access: .person, summary: "Where one was, for a map",
            description:
                """
                GeoJSON (RFC 7946): one feature with a line of at most \(ActivityFigures.mostPoints) points, thinned evenly; \
                `properties.times` has the time of each.
                """,
            parameters: [.query("from", .time, required: true, "Beginning of the period, included."), OwnDataDoor.to],
            answers: [Answer(200, "The track", contents: [.init(GeoJSON.mediaType, GeoJSON.schema)])]
        ) { exchange in
            let filter = try OwnDataDoor.filter(exchange)
            return try await OwnDataDoor.answering {
                let reader = try await people.reader(of: exchange.person)
                let figures = try await activities.figures(of: [.position], in: filter.range, of: reader)
                return .bytes(GeoJSON.feature(figures.path, damaged: reader.damaged), contentType: GeoJSON.mediaType)
            }
        }
    }
}
