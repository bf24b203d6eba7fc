// Standard Webhooks: how a receiver knows that a message is ours, whole and fresh.

package import Contracts

/// The values of the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. Signed is `id.timestamp.body`; ids
/// are the sender's own and never chosen by a user, as the standard asks, so that they may hold a full stop.
package struct WebhookSignature: Hashable, Sendable {
    package static let idHeader = "webhook-id"
    package static let timestampHeader = "webhook-timestamp"
    package static let signatureHeader = "webhook-signature"
    /// How far a message's time may be from the receiver's.
    package static let tolerance: Duration = .seconds(300)
    /// More signatures than these are not looked at.
    private static let mostSignatures = 16

    /// The same on each repetition of a message.
    package let id: String
    /// Of this attempt, in whole seconds since 1970.
    package let timestamp: String
    /// `v1,…` and `v1a,…`, separated by spaces.
    package let signatures: String

    /// As they came in the headers; nothing is proved yet.
    package init(id: String, timestamp: String, signatures: String) {
        (self.id, self.timestamp, self.signatures) = (id, timestamp, signatures)
    }

    /// Signs one attempt: with each secret as `v1` (several while one replaces another), with each key as `v1a`. With neither there
    /// is no signature, and no receiver takes it.
    /// - Throws: `badSignatureHeader` unless `id` is 1 to 256 printable ASCII characters without spaces; `library`.
    package static func sign(
        id: String, at: Timestamp, body: some Collection<UInt8>, secrets: [WebhookSecret] = [], keys: [SigningKey] = []
    ) throws(SealingError) -> WebhookSignature {
        guard isSignable(id) else { throw .badSignatureHeader }
        let timestamp = String(at.milliseconds.flooredQuotientAndRemainder(dividingBy: 1000).quotient)
        let content = signedContent(id, timestamp, body)
        var signatures: [String] = []
        for secret in secrets {
            signatures.append("v1," + Base64.encode(Digest.hmacSHA256(content, keyBytes: secret.bytes)))
        }
        for key in keys {
            signatures.append("v1a," + Base64.encode(try key.sign(content)))
        }
        return WebhookSignature(id: id, timestamp: timestamp, signatures: signatures.joined(separator: " "))
    }

    /// Returns if one of the signatures is by one of the secrets or keys; signatures of other versions are skipped.
    /// - Throws: `badSignatureHeader`, `staleSignature`, `wrongSignature`.
    package func verify(
        body: some Collection<UInt8>, secrets: [WebhookSecret] = [], keys: [VerifyingKey] = [], now: Timestamp,
        tolerance: Duration = WebhookSignature.tolerance
    ) throws(SealingError) {
        guard WebhookSignature.isSignable(id), let seconds = Int64(timestamp), String(seconds) == timestamp,
            (0...253_402_300_799).contains(seconds)
        else { throw .badSignatureHeader }
        let age = now - Timestamp(milliseconds: seconds * 1000)
        guard age <= tolerance, age >= .zero - tolerance else { throw .staleSignature }
        let content = WebhookSignature.signedContent(id, timestamp, body)
        let expected = secrets.map { Digest.hmacSHA256(content, keyBytes: $0.bytes) }
        for signature in signatures.split(separator: " ").prefix(WebhookSignature.mostSignatures) {
            let parts = signature.split(separator: ",", maxSplits: 1)
            guard parts.count == 2, let value = Base64.decode(parts[1]) else { continue }
            switch parts[0] {
            case "v1": if expected.contains(where: { Digest.constantTimeEqual($0, value) }) { return }
            case "v1a": if keys.contains(where: { $0.verify(value, of: content) }) { return }
            default: continue
            }
        }
        throw .wrongSignature
    }

    private static func isSignable(_ id: String) -> Bool {
        !id.isEmpty && id.utf8.count <= 256 && id.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    private static func signedContent(_ id: String, _ timestamp: String, _ body: some Collection<UInt8>) -> [UInt8] {
        Array(id.utf8) + [UInt8(ascii: ".")] + Array(timestamp.utf8) + [UInt8(ascii: ".")] + Array(body)
    }
}
