// The routes by which people and their devices read entries back.

import Contracts
import HTTPKit
import ServiceKit
import Storage

struct EntryRoutes: Sendable {
    let readings: Readings
    let people: People
    /// `ing.device_read_h`.
    let deviceReading: Duration

    var all: [Route] { [entries, latest, coverage, metrics] }

    private static let period: [Parameter] = [
        .query("type", IngestSchemas.metricCode, required: true, "Code of the metric."),
        .query("from", .time, "Beginning of the period, included; everything unless told."),
        .query("to", .time, "End of the period, not included; now unless told."),
    ]

    private var entries: Route {
        Route(
            .get, "/ingest/v1/entries", access: .owner, summary: "One's own entries of one metric",
            description: """
                In order of time. With a granularity other than `raw`, sums over whole minutes, hours or UTC days that have entries; the \
                period is widened to whole ones. `Accept: application/x-ndjson` streams everything, one item a line, without pages. \
                Entries that are stored and cannot be read any more are passed over and named in `damaged`, in a stream of lines by one more \
                line at its end.
                """,
            parameters: Self.period + [
                .query("granularity", .oneOf(Granularity.allCases.map(\.rawValue)), "`raw` unless told; positions have no other."), .limit,
                .after,
            ],
            answers: [
                .problem(403, Problem.readingEnded.name),
                Answer(
                    200, "Entries, or stretches",
                    contents: [
                        .init(
                            MediaType.json,
                            .any(of: IngestSchemas.page(of: IngestSchemas.storedEntry), IngestSchemas.page(of: IngestSchemas.stretch))),
                        .init(MediaType.ndjson, .any(of: IngestSchemas.storedEntry, IngestSchemas.stretch)),
                    ]),
            ]
        ) { exchange in
            let reader = try await reader(exchange)
            let period = try Self.period(exchange)
            let granularity = try exchange.queryChoice("granularity", of: Granularity.self) ?? .raw
            guard granularity == .raw || period.metric.definition.shape != .position else {
                throw OwnDataDoor.invalid("granularity", .notForPositions)
            }
            let list = EntryList(readings: readings, period: period, granularity: granularity, reader: reader)
            let after = try exchange.cursor(Int64.init)
            let limit = try exchange.pageLimit
            return try await IngestDoor.answering {
                if try exchange.preferred(of: [MediaType.json, MediaType.ndjson]) == MediaType.ndjson {
                    return list.stream(after: after)
                }
                return .bytes(try await list.page(after: after, limit: limit), contentType: MediaType.json)
            }
        }
    }

    private var latest: Route {
        Route(
            .get, "/ingest/v1/latest", as: "getLatestEntries", access: .owner, summary: "The newest entry of each metric",
            answers: [
                .json(200, "One entry per metric that has any", IngestSchemas.page(of: IngestSchemas.storedEntry)),
                .problem(403, Problem.readingEnded.name),
            ]
        ) { exchange in
            let reader = try await reader(exchange)
            return try await IngestDoor.answering {
                var json = JSONBytes()
                let items = try await readings.latest(of: reader)
                json.page(items, next: nil, damaged: reader.damaged) { $0.write(to: &$1) }
                return .bytes(json.bytes, contentType: MediaType.json)
            }
        }
    }

    /// Days over which coverage is computed at most: it reads every entry.
    private static let coverageDays: Int64 = 400

    private var coverage: Route {
        Route(
            .get, "/ingest/v1/coverage", access: .owner, summary: "How complete a series is",
            description: """
                An entry covers one and a half times the interval that its device declared. Periods of at most \(Self.coverageDays) days.
                """,
            parameters: Self.period,
            answers: [.json(200, "Share and longest gap", CoverageAnswer.self), .problem(403, Problem.readingEnded.name)],
            yields: .statistics
        ) { exchange in
            let reader = try await reader(exchange)
            _ = try exchange.required("from", exchange.queryTime("from"))
            let period = try Self.period(exchange)
            guard !period.range.isEmpty, Int64(period.range.count) <= Self.coverageDays * Granularity.dayWidth else {
                throw OwnDataDoor.invalid("to", .periodTooLong(days: Int(Self.coverageDays), from: "from"))
            }
            return try await IngestDoor.answering {
                let coverage = try await readings.coverage(period, of: reader)
                return try .json(CoverageAnswer(coverage, period, damaged: DamagedItem.all(of: reader.damaged)))
            }
        }
    }

    private var metrics: Route {
        Route(
            .get, "/ingest/v1/metrics", access: .anyone, summary: "Everything that can be measured",
            answers: [.json(200, "The registry", Page<MetricItem>.self)]
        ) { _ in
            try .json(Page(items: Metric.all.map { MetricItem($0.definition) }, next: nil))
        }
    }

    /// The person who asks, or whose device does.
    private func reader(_ exchange: Exchange) async throws -> Reader {
        if let device = exchange.caller.context as? KnownDevice {
            let isAlone = people.registry.household(of: device.person)?.devices.count == 1
            let reach = DeviceReach(
                only: isAlone ? nil : device.number, since: (exchange.receivedAt - deviceReading).milliseconds)
            return Reader(person: device.person, number: device.personNumber, reach: reach)
        }
        let person = try exchange.person
        do {
            return try await people.reader(of: person)
        } catch is KeyDestroyed {
            throw Refusal(.unavailable, retryAfter: .seconds(1))
        }
    }

    private static func period(_ exchange: Exchange) throws(Problem) -> ReadingPeriod {
        let metric = try exchange.required(
            "type", exchange.query("type", orElse: .notAMetric(listedAt: "/ingest/v1/metrics")) { Metric(code: $0) })
        let from = try exchange.queryTime("from")?.milliseconds ?? 0
        let to = try exchange.queryTime("to")?.milliseconds ?? (exchange.receivedAt + UploadLimits.furthestFuture).milliseconds
        guard from <= to else { throw OwnDataDoor.invalid("to", .before("from")) }
        return ReadingPeriod(metric: metric, range: from..<to)
    }
}
