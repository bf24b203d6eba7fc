// The keys of Standard Webhooks in the spelling of the standard.

/// A secret shared with one receiver, for signatures `v1` (HMAC-SHA-256): `whsec_` and 24 to 64 bytes in base64.
package struct WebhookSecret: Sendable {
    private static let prefix = "whsec_"
    private static let lengths = 24...64

    let bytes: [UInt8]

    /// Of 32 bytes.
    package static func random() -> WebhookSecret {
        WebhookSecret(bytes: Random.bytes(32))
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Throws: `badKey` for another prefix, spelling or length.
    package init(_ text: some StringProtocol) throws(SealingError) {
        guard text.hasPrefix(WebhookSecret.prefix), let bytes = Base64.decode(text.dropFirst(WebhookSecret.prefix.count)),
            WebhookSecret.lengths.contains(bytes.count)
        else { throw .badKey(expected: "whsec_ and 24 to 64 bytes in base64") }
        self.bytes = bytes
    }

    /// For whom it is shared with; never for a log.
    package var text: String { WebhookSecret.prefix + Base64.encode(bytes) }
}

extension SigningKey {
    private static let webhookPrefix = "whsk_"

    /// Reads `whsk_` and base64 of the seed, followed or not by the public key.
    /// - Throws: `badKey` for another prefix, spelling or length, or a public key that is not the seed's.
    package convenience init(webhookText text: some StringProtocol) throws(SealingError) {
        guard text.hasPrefix(SigningKey.webhookPrefix), let bytes = Base64.decode(text.dropFirst(SigningKey.webhookPrefix.count)),
            [SigningKey.seedLength, SigningKey.seedLength + VerifyingKey.length].contains(bytes.count)
        else { throw .badKey(expected: "whsk_ and 32 or 64 bytes in base64") }
        try self.init(seed: bytes.prefix(SigningKey.seedLength))
        let rest = bytes.dropFirst(SigningKey.seedLength)
        guard rest.isEmpty || Array(rest) == publicKey.bytes else { throw .badKey(expected: "the public key of the seed before it") }
    }

    /// `whsk_` and base64 of seed and public key, for a key file.
    package func webhookText() throws(SealingError) -> String {
        SigningKey.webhookPrefix + Base64.encode(try seed() + publicKey.bytes)
    }
}

extension VerifyingKey {
    private static let webhookPrefix = "whpk_"

    /// - Throws: `badKey` for another prefix, spelling or length.
    package init(webhookText text: some StringProtocol) throws(SealingError) {
        guard text.hasPrefix(VerifyingKey.webhookPrefix), let bytes = Base64.decode(text.dropFirst(VerifyingKey.webhookPrefix.count)) else {
            throw .badKey(expected: "whpk_ and 32 bytes in base64")
        }
        try self.init(bytes: bytes)
    }

    /// For integrators, who may publish it.
    package var webhookText: String { VerifyingKey.webhookPrefix + Base64.encode(bytes) }
}
