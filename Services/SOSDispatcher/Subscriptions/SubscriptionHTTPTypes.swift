// What a subscriber's panel reads and writes over HTTP: the subscription, preferences, contacts.

import Contracts
import HTTPKit

enum PanelSchemas {
    static let bounds = JSONSchema.object(
        .optional("low", .number().nullable(), "Critical is strictly below it; absent: as by default."),
        .optional("high", .number().nullable(), "Critical is strictly above it; absent: as by default.")
    ).named("Bounds")
    static let boundsByMetric = JSONSchema.map(of: bounds)
}

// MARK: The subscription

/// What somebody sends to join.
struct SubscriptionRequest: Codable, Sendable {
    var acceptedClauses: String?
    var bounds: [String: Bounds]?
    var preferences: SupervisionPreferences?
}

extension SubscriptionRequest: Documented {
    static let schema = JSONSchema.object(
        .optional("acceptedClauses", .string(length: 0...64), "The version of the clauses that was shown; required to join."),
        .optional("bounds", PanelSchemas.boundsByMetric, "Own thresholds, by the code of the metric."),
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

/// The panel's first page.
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

// MARK: Contacts

extension EmergencyContact: Documented {
    static let schema = JSONSchema.object(
        .required("id", .identifier(Contact.self)), .required("name", .string()), .required("telephone", .string(), "E.164."),
        .optional("email", .string()), .required("language", .oneOf(Language.allCases.map(\.rawValue)))
    ).named("EmergencyContact")
}

extension ContactForm: Documented {
    static let schema = JSONSchema.object(
        .required("name", .string(length: 0...200)), .required("telephone", .string(length: 0...40)),
        .optional("email", JSONSchema.string(length: 0...300).nullable()),
        .optional("language", .oneOf(Language.allCases.map(\.rawValue)), "Of the messages; the person's own unless told.")
    ).named("EmergencyContactForm")
}

struct ContactOrder: Codable, Sendable, Documented {
    var order: [String]

    static let schema = JSONSchema.object(
        .required(
            "order", .array(of: .identifier(Contact.self), count: 0...EmergencyContact.most),
            "The ids of all contacts, in the order in which they are to be reached.")
    ).named("EmergencyContactOrder")
}

// MARK: Looking back

/// One emergency of the person's own.
struct OwnEmergency: Codable, Sendable {
    var id: EmergencyID
    var state: String
    var t0: String
    var dispatchedAt: String?
    var acknowledgedAt: String?
    var closedAt: String?
    /// In order; absent in lists.
    var steps: [TimelineStep]?

    init(_ record: EmergencyRecord, steps: [ReadTimeline.Step]? = nil) {
        (id, state, t0) = (record.id, record.state.rawValue, record.t0.rfc3339)
        (dispatchedAt, acknowledgedAt) = (record.dispatchedAt?.rfc3339, record.acknowledgedAt?.rfc3339)
        closedAt = record.closedAt?.rfc3339
        self.steps = steps?.map { TimelineStep(at: $0.at.rfc3339, actor: $0.actor, event: $0.event, detail: $0.detail) }
    }
}

extension OwnEmergency: Documented {
    static let schema = JSONSchema.object(
        .required("id", .identifier(Emergency.self)), .required("state", .oneOf(EmergencyRecord.State.allCases.map(\.rawValue))),
        .required("t0", .time, "When the first critical entry arrived."), .optional("dispatchedAt", .time),
        .optional("acknowledgedAt", .time), .optional("closedAt", .time),
        .optional("steps", .array(of: TimelineStep.schema), "Everything that happened, in order; not in lists.")
    ).named("OwnEmergency")
}
