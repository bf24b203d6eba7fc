// What a subscriber reads and writes of the subscription and of preferences over HTTP.

import Contracts
import HTTPKit

/// What somebody sends to join.
struct SubscriptionRequest: Codable, Sendable {
    var acceptedClauses: String?
    var bounds: [String: Bounds]?
    var preferences: SupervisionPreferences?
}

extension SubscriptionRequest: Documented {
    static let schema = JSONSchema.object(
        .optional("acceptedClauses", .string(length: 0...64), "The version of the clauses that was shown; required to join."),
        .optional("bounds", ThresholdSchemas.boundsByMetric, "Own thresholds, by the code of the metric."),
        .optional("preferences", SupervisionPreferences.schema)
    ).named("SubscriptionWish")
}

extension SupervisionPreferences: Documented {
    static let schema = JSONSchema.object(
        .required("shaking", .boolean, "Whether repetitive shaking is an alarm."),
        .required("personalised", .boolean, "Whether thresholds are fitted to one's own last 30 days."),
        .optional(
            "medicalNotes", JSONSchema.string(length: 0...longestNotes).nullable(), "Illnesses, allergies, medicines, in one's own words."),
        .required("tellsMedicalNotes", .boolean, "Whether an emergency service may read the notes."),
        .optional("falls", JSONSchema.boolean.nullable(), "Whether a fall is an alarm."),
        .optional(
            "fallsCallAmbulance", JSONSchema.boolean.nullable(),
            "Whether a fall that is not answered calls an ambulance, besides the contacts; as long as nothing is said it does."),
        .optional(
            "fallsPausedUntil", JSONSchema.integer(in: 0...Int.max).nullable(),
            "Until when sport keeps falls from counting, in ms since 1970; at most four hours ahead.")
    ).named("SupervisionPreferences")
}

/// What a person sees first of AutomatedSOS.
struct SubscriptionAnswer: Codable, Sendable {
    struct Clauses: Codable, Sendable {
        var version: String
        var language: Language
        var text: String
        var acceptedVersion: String?
        var acceptedAt: String?
    }

    struct Missing: Codable, Sendable {
        var ability: String
        var detail: String
    }

    /// How one parameter is heard (SOS-34).
    struct SignalState: Codable, Sendable {
        var parameter: String
        var state: String
        var since: String?
    }

    var subscribed: Bool
    /// A stage of supervision.
    var state: String
    var monitoringPaused: Bool
    var pausedSince: String?
    var nextReminder: String?
    var warning: String?
    /// Whether an emergency goes on.
    var emergencyRuns: Bool
    var isProtected: Bool
    var signals: [SignalState]
    var mutedUntil: [String: String]?
    var missing: [Missing]?
    var notice: String
    var clauses: Clauses
}

extension SubscriptionAnswer: Documented {
    static let states = [
        "off", "monitoring", "suspended", "paused", "alerted", "confirmed", "asked-again", "dispatching", "dispatched", "stood-down",
    ]

    static let schema = JSONSchema.object(
        .required("subscribed", .boolean), .required("state", .oneOf(states)),
        .required("monitoringPaused", .boolean, "Whether all monitoring is paused, so that nothing is measured either."),
        .optional("pausedSince", .time), .optional("nextReminder", .time),
        .optional("warning", .string(), "What the person must know about the state."),
        .required("emergencyRuns", .boolean, "Leaving does not end it."),
        .required("isProtected", .boolean, "Whether something is heard by which an emergency can be seen."),
        .required(
            "signals",
            .array(
                of: .object(
                    .required("parameter", .string(), "The code of a metric, or `blood-pressure`."),
                    .required("state", .oneOf(SignalStatus.allCases.map(\.rawValue))), .optional("since", .time, "Of a silence.")
                ).named("Signal")), "Every parameter that has thresholds, and whether it is heard."),
        .optional("mutedUntil", .map(of: .time), "Until when each breach is muted that was answered, by parameter and side."),
        .optional(
            "missing",
            .array(
                of: .object(.required("ability", .oneOf(NeededAbility.allCases.map(\.rawValue))), .required("detail", .string()))
                    .named("MissingAbility")), "What no paired device delivers; absent where it could not be found out."),
        .required("notice", .string(), "What thresholds assume of one's health; to be shown."),
        .required(
            "clauses",
            .object(
                .required("version", .string()), .required("language", .oneOf(Language.allCases.map(\.rawValue))),
                .required("text", .string(), "Paragraphs, separated by an empty line."), .optional("acceptedVersion", .string()),
                .optional("acceptedAt", .time)
            ).named("SubscriptionClauses"))
    ).named("AutomatedSOSSubscription")
}
