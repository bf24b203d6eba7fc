// What the routes of a person's own data have in common: the period, the types, the zone, and the answer when the store cannot.

import Contracts
import HTTPKit
import ServiceKit
import Storage

/// A stretch of time and the metrics that somebody asks for (MYD-03, MYD-04).
struct DataFilter: Sendable {
    /// Nil where all were meant.
    let metrics: [Metric]?
    let range: Range<Int64>
}

enum OwnDataDoor {
    static let types = Parameter.query(
        "type", IngestSchemas.metricCode, "Code of a metric; may stand there several times. Every one that has data unless told.")
    static let from = Parameter.query("from", .time, "Beginning of the period, included.")
    static let to = Parameter.query("to", .time, "End of the period, not included; now unless told.")
    static let timezone = Parameter.query(
        "timezone", .string(length: 1...64),
        "Name of a time zone of the IANA, such as `Europe/Rome`, for days, weeks and months; UTC unless told.")

    static func metrics(_ exchange: Exchange) throws(Problem) -> [Metric]? {
        let codes = try exchange.queryValues("type")
        var metrics: [Metric] = []
        for code in codes {
            guard let metric = Metric(code: code) else {
                throw invalid("type", .notAMetric(listedAt: "/ingest/v1/metrics"))
            }
            if !metrics.contains(metric) { metrics.append(metric) }
        }
        return codes.isEmpty ? nil : metrics
    }

    /// - Parameter unless: what the period is where `from` is not given, in ms before its end; nil where it must be given.
    static func filter(_ exchange: Exchange, unless usual: Int64? = nil) throws(Problem) -> DataFilter {
        let to = try exchange.queryTime("to")?.milliseconds ?? (exchange.receivedAt + UploadLimits.furthestFuture).milliseconds
        let given = try exchange.queryTime("from")?.milliseconds
        if given == nil, usual == nil { _ = try exchange.required("from", given) }
        let from = given ?? max(0, to - (usual ?? 0))
        guard from <= to else {
            throw .invalidParameters([
                .init(pointer: "query:from", .after("to")), .init(pointer: "query:to", .before("from")),
            ]).saying(
                "The period begins after its end. Choose the period again.",
                italian: "Il periodo inizia dopo la sua fine. Scelga di nuovo il periodo.")
        }
        return DataFilter(metrics: try metrics(exchange), range: from..<to)
    }

    static func calendar(_ exchange: Exchange) throws(Problem) -> ChartCalendar {
        guard let name = try exchange.query("timezone") else { return .utc }
        guard let calendar = ChartCalendar(zone: name) else {
            throw invalid("timezone", .notATimeZone)
        }
        return calendar
    }

    static func invalid(_ name: String, _ fault: FieldFault) -> Problem {
        .invalidParameter("query:\(name)", fault)
    }

    /// Translates errors of keys.
    static func answering<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch is KeyDestroyed {
            throw Refusal(.unavailable, retryAfter: .seconds(1))
        }
    }
}
