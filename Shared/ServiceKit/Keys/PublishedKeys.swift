// The key that a service's messages are signed with, as its door publishes it.

package import HTTPKit
package import Sealing

/// What verifies the `v1a` signatures of Standard Webhooks; in a list, for the day on which one key replaces another.
package struct PublishedKeys: Codable, Sendable {
    /// RFC 8037: an Ed25519 key as JSON Web Key.
    package struct WebKey: Codable, Sendable {
        var kty = "OKP"
        var crv = "Ed25519"
        var use = "sig"
        var x: String
    }

    package struct Key: Codable, Sendable {
        /// In the spelling of Standard Webhooks: `whpk_` and base64.
        package let webhook: String
        package let jwk: WebKey
    }

    package let keys: [Key]

    package init(_ key: VerifyingKey) {
        keys = [Key(webhook: key.webhookText, jwk: WebKey(x: Base64URL.encode(key.bytes)))]
    }

    /// - Parameter name: of the schema in the service's OpenAPI document.
    package static func schema(named name: String) -> JSONSchema {
        let jwk = JSONSchema.object(
            .required("kty", .oneOf(["OKP"])), .required("crv", .oneOf(["Ed25519"])), .required("use", .oneOf(["sig"])),
            .required("x", .string()))
        let key = JSONSchema.object(
            .required("webhook", .string(pattern: "^whpk_"), "Verifies the `v1a` signatures of Standard Webhooks."),
            .required("jwk", jwk, "The same key (RFC 8037)."))
        return .object(.required("keys", .array(of: key))).named(name)
    }
}
