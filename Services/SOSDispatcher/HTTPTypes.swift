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
                    .optional("reason", .string(length: 1...Acknowledgement.longestReason), "Required where it is rejected.")
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

/// The keys that messages are signed with.
struct PublicKeys: Codable, Sendable, Documented {
    /// RFC 8037: an Ed25519 key as JSON Web Key.
    struct WebKey: Codable, Sendable {
        var kty = "OKP"
        var crv = "Ed25519"
        var use = "sig"
        var x: String
    }

    struct Key: Codable, Sendable {
        /// In the spelling of Standard Webhooks: `whpk_` and base64.
        var webhook: String
        var jwk: WebKey
    }

    var keys: [Key]

    static var schema: JSONSchema {
        .object(
            .required(
                "keys",
                .array(
                    of: .object(
                        .required("webhook", .string(pattern: "^whpk_"), "Verifies the `v1a` signatures of Standard Webhooks."),
                        .required(
                            "jwk",
                            .object(
                                .required("kty", .oneOf(["OKP"])), .required("crv", .oneOf(["Ed25519"])), .required("use", .oneOf(["sig"])),
                                .required("x", .string())), "The same key (RFC 8037)."))))
        ).named("PublicKeys")
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
