// What integrators read and write over HTTP.

import Contracts
import HTTPKit

extension AcknowledgementBody: Documented {
    static var schema: JSONSchema {
        .object(
            .required(
                "ack",
                .object(
                    .required("messageId", .string(length: 1...64), "The message that was received."),
                    .required("result", .oneOf(Acknowledgement.Result.allCases.map(\.rawValue)), "`duplicate` counts as accepted."),
                    .required(
                        "ackId", .string(length: 1...Acknowledgement.longestAckID, pattern: "^[!-~]+$"),
                        "The integrator's own name for this acknowledgement."),
                    .optional(
                        "reason", .string(),
                        "Why it is rejected; a rejection without it counts. Cut off after \(Acknowledgement.longestReason) characters.")
                ).named("Acknowledgement"))
        ).named("AcknowledgementBody")
    }
}

/// The answer to an acknowledgement.
struct AcknowledgementReceipt: Codable, Sendable, Documented {
    var messageId: String
    var result: String

    static var schema: JSONSchema {
        .object(.required("messageId", .string()), .required("result", .string(), "As it was sent.")).named("AcknowledgementReceipt")
    }
}

/// One step of an emergency.
struct TimelineStep: Codable, Sendable, Documented {
    var at: String
    var actor: String
    var event: String
    var detail: String

    static var schema: JSONSchema {
        .object(
            .required("at", .time), .required("actor", .string()), .required("event", .string(), "Kebab-case past participle."),
            .required("detail", .string())
        ).named("TimelineStep")
    }
}
