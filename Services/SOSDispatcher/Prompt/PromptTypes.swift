// What a person's app reads and writes about the prompt.

import Contracts
import HTTPKit

/// A prompt as apps get it.
struct PromptBody: Codable, Sendable, Documented {
    var emergency: EmergencyID
    var phase: String
    var trigger: String
    var t0: String
    var callAt: String?
    var abortUntil: String
    var dispatchedAt: String?
    var acknowledgedAt: String?
    var parameters: [String]
    var mutedUntil: [String: String]?
    var asksBack: Bool?
    var sound: String?

    init(_ prompt: PromptState) {
        (emergency, phase, trigger) = (prompt.emergency, prompt.phase.rawValue, prompt.trigger.rawValue)
        (t0, callAt, abortUntil) = (prompt.t0.rfc3339, prompt.callAt?.rfc3339, prompt.abortUntil.rfc3339)
        (dispatchedAt, acknowledgedAt) = (prompt.dispatchedAt?.rfc3339, prompt.acknowledgedAt?.rfc3339)
        parameters = prompt.parameters
        mutedUntil = prompt.mutedUntil.isEmpty ? nil : prompt.mutedUntil.mapValues(\.rfc3339)
        (asksBack, sound) = (prompt.asksBack ? true : nil, prompt.sound?.rawValue)
    }

    static let schema = JSONSchema.object(
        .required("emergency", .identifier(Emergency.self)),
        .required(
            "phase", .oneOf(PromptState.Phase.allCases.map(\.rawValue)),
            "`asking`, `asking-again`, `fell`, `doubtful`: count down to `callAt`, where there is one. `calling`: still trying to reach the emergency service. `informed`: it has taken the call."
        ),
        .required("trigger", .oneOf(Trigger.Kind.allCases.map(\.rawValue)), "What the alert came from."),
        .required("t0", .time, "When the first critical value, or the call for help, was received."),
        .optional(
            "callAt", .time,
            "When the call goes out; absent where nobody is called unasked. From `calling` on nothing is counted down and it is `t0`: when the call went out is `dispatchedAt`."
        ),
        .required("abortUntil", .time, "Until when the button that calls it off is to be prominent."),
        .optional("dispatchedAt", .time), .optional("acknowledgedAt", .time),
        .required(
            "parameters", .array(of: .string()),
            "What became critical, by the codes of metrics, and `blood-pressure`; empty where somebody called for help or fell."),
        .optional("mutedUntil", .map(of: .time), "Until when each breach is muted that was answered, by parameter and side."),
        .optional("asksBack", .boolean, "`help-is-here` was said before anybody has taken the call: say it again if it is so."),
        .optional("sound", .oneOf(PromptState.Sound.allCases.map(\.rawValue)), "What is to be heard: one of three sounds.")
    ).named("Prompt")
}

/// The answer to the question whether there is a prompt.
struct PromptAnswer: Codable, Sendable, Documented {
    /// Absent where nothing is to be asked or told.
    var prompt: PromptBody?
    var passed: [PassedAlert]

    static let schema = JSONSchema.object(
        .optional("prompt", PromptBody.schema, "Absent where there is none."),
        .required(
            "passed", .array(of: PassedAlert.schema),
            "Alerts that passed before anybody was called and that the person has not seen: to be shown until then.")
    ).named("CurrentPrompt")
}

/// An alert that ended by itself.
struct PassedAlert: Codable, Sendable, Documented {
    var emergency: EmergencyID
    var t0: String
    var endedAt: String?

    init(_ record: EmergencyRecord) {
        (emergency, t0, endedAt) = (record.id, record.t0.rfc3339, record.closedAt?.rfc3339)
    }

    static let schema = JSONSchema.object(
        .required("emergency", .identifier(Emergency.self)),
        .required("t0", .time, "When the first critical value was received."), .optional("endedAt", .time)
    ).named("PassedAlert")
}

/// What the person has seen.
struct SeenAlertBody: Codable, Sendable, Documented {
    var emergency: EmergencyID

    static let schema = JSONSchema.object(.required("emergency", .identifier(Emergency.self))).named("SeenAlert")
}

/// What the person says.
struct PromptReplyBody: Codable, Sendable, Documented {
    var emergency: EmergencyID?
    var answer: AnswerPrompt.Answer

    static let schema = JSONSchema.object(
        .optional(
            "emergency", .identifier(Emergency.self),
            "Of the prompt that is answered; absent: of the one that is open."),
        .required("answer", .oneOf(AnswerPrompt.Answer.allCases.map(\.rawValue)))
    ).named("PromptReply")
}

/// What became of it.
struct PromptReceipt: Codable, Sendable, Documented {
    var emergency: EmergencyID?
    var answer: AnswerPrompt.Answer
    var at: String
    var alreadyDispatched: Bool
    var asksBack: Bool?

    static let schema = JSONSchema.object(
        .optional(
            "emergency", .identifier(Emergency.self),
            "That was answered, or that a call for help calls for: another one than was named, where that is over."
        ),
        .required("answer", .oneOf(AnswerPrompt.Answer.allCases.map(\.rawValue))),
        .required("at", .time, "When it was received: the service's time counts."),
        .required("alreadyDispatched", .boolean, "Whether the call had gone out by then; the emergency service is then told."),
        .optional("asksBack", .boolean, "It does not count yet: say it again within a minute.")
    ).named("PromptReceipt")
}
