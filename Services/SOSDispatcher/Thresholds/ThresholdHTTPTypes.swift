// What a subscriber reads and writes of thresholds over HTTP, and of what they would have done.

import Contracts
import HTTPKit

enum ThresholdSchemas {
    static let bounds = JSONSchema.object(
        .optional("low", .number().nullable(), "Critical is strictly below it; absent: as by default."),
        .optional("high", .number().nullable(), "Critical is strictly above it; absent: as by default.")
    ).named("Bounds")
    static let boundsByMetric = JSONSchema.map(of: bounds)
}

/// Thresholds of one metric, from every source; what is in force is own over personal over default.
struct MetricThresholds: Codable, Sendable {
    var type: String
    var unit: String
    var allowed: Bounds
    var usual: Bounds?
    var personal: Bounds?
    var own: Bounds?
    var inForce: Bounds?

    private enum CodingKeys: String, CodingKey {
        case type, unit, allowed, personal, own, inForce
        case usual = "default"
    }
}

extension MetricThresholds: Documented {
    static let schema = JSONSchema.object(
        .required("type", .string(), "Code of the metric."), .required("unit", .string(), "UCUM."),
        .required("allowed", ThresholdSchemas.bounds, "The range in which own thresholds lie."),
        .optional("default", ThresholdSchemas.bounds), .optional("personal", ThresholdSchemas.bounds, "Fitted to one's own history."),
        .optional("own", ThresholdSchemas.bounds), .optional("inForce", ThresholdSchemas.bounds, "Absent: the metric is not watched.")
    ).named("MetricThresholds")
}

struct ThresholdsAnswer: Codable, Sendable {
    struct Personalised: Codable, Sendable {
        var on: Bool
        var fittedAt: String?
        var daysWithData: Int?
        var enough: Bool?
        var detail: String?
    }

    var items: [MetricThresholds]
    /// Whether maximum and minimum blood pressure must both be above their thresholds.
    var pressuresTogether: Bool
    var personalised: Personalised
    var notice: String
}

extension ThresholdsAnswer: Documented {
    static let schema = JSONSchema.object(
        .required("items", .array(of: MetricThresholds.schema), "Every metric that can have thresholds."),
        .required("pressuresTogether", .boolean, "Whether maximum and minimum blood pressure must both be above their thresholds."),
        .required(
            "personalised",
            .object(
                .required("on", .boolean), .optional("fittedAt", .time), .optional("daysWithData", .integer(in: 0...31)),
                .optional("enough", .boolean, "Whether there is history enough; if not, the defaults stay."),
                .optional("detail", .string())
            ).named("PersonalisedThresholds")),
        .required("notice", .string(), "What thresholds assume of one's health; to be shown.")
    ).named("Thresholds")
}

struct ThresholdChoice: Codable, Sendable, Documented {
    var bounds: [String: Bounds]

    static let schema = JSONSchema.object(
        .required("bounds", ThresholdSchemas.boundsByMetric, "By the code of the metric; what is absent has no own thresholds.")
    ).named("ThresholdChoice")
}

/// One alert that there would have been.
struct ForecastAlert: Codable, Sendable, Documented {
    var at: String
    var type: String
    var side: String
    var value: Double
    var threshold: Double
    /// Whether it would have been called for, if nobody had answered the prompt.
    var called: Bool

    init(_ alert: ThresholdReplay.Alert) {
        (at, type, side) = (alert.at.rfc3339, alert.passed.metric.code, alert.passed.side.rawValue)
        (value, threshold, called) = (alert.passed.value, alert.passed.limit, alert.called)
    }

    static let schema = JSONSchema.object(
        .required("at", .time), .required("type", .string()), .required("side", .oneOf(["below", "above"])), .required("value", .number()),
        .required("threshold", .number()), .required("called", .boolean, "Whether the call would have gone out, with nobody answering.")
    ).named("ForecastAlert")
}

struct Forecast: Codable, Sendable, Documented {
    /// Alerts that an answer lists; the counts are of all.
    static let mostListed = 200

    var from: String
    var complete: Bool
    var entries: Int
    var alerts: Int
    var calls: Int
    var latest: [ForecastAlert]

    init(_ forecast: ThresholdForecast) {
        (from, complete, entries) = (forecast.from.rfc3339, forecast.from == forecast.period.lowerBound, forecast.entries)
        (alerts, calls) = (forecast.alerts.count, forecast.alerts.count { $0.called })
        latest = forecast.alerts.suffix(Self.mostListed).reversed().map(ForecastAlert.init)
    }

    static let schema = JSONSchema.object(
        .required("from", .time, "From when on every alert is counted."),
        .required("complete", .boolean, "Whether that is the whole period; else there were too many critical entries to replay."),
        .required("entries", .integer(in: 0...Int(Int32.max)), "How many were compared: those around critical ones."),
        .required("alerts", .integer(in: 0...Int(Int32.max))), .required("calls", .integer(in: 0...Int(Int32.max))),
        .required("latest", .array(of: ForecastAlert.schema, count: 0...mostListed), "Newest first.")
    ).named("Forecast")
}

struct PreviewAnswer: Codable, Sendable, Documented {
    static let method = """
        Every entry around a critical one went through the same supervision once more, as if heard when it was measured; nobody answers \
        the prompt, and an emergency service answers each call at once.
        """

    var from: String
    var to: String
    var proposed: Forecast
    var present: Forecast
    var method: String

    static let schema = JSONSchema.object(
        .required("from", .time), .required("to", .time), .required("proposed", Forecast.schema, "Under the thresholds that were sent."),
        .required("present", Forecast.schema, "Under those that are in force."), .required("method", .string(), "How it was found out.")
    ).named("ThresholdPreview")
}
