// What Stripe tells by itself: signed notifications, read only after their signature has been verified.

import Contracts
import Foundation
import Sealing

/// `Stripe-Signature: t=seconds,v1=hex,…`: HMAC-SHA-256 over the seconds, a point and the body, with the endpoint's secret.
struct StripeSignature: Sendable {
    static let header = "Stripe-Signature"
    /// How far the sender's clock may be from ours: a notification that somebody repeats later is refused.
    static let tolerance: Duration = .seconds(300)
    private static let mostSignatures = 16

    /// Bytes of the endpoint's secret, with its prefix, as Stripe takes them.
    let secret: [UInt8]

    func verifies(_ header: String, body: some Collection<UInt8>, at now: Timestamp) -> Bool {
        var seconds: String?
        var signatures: [[UInt8]] = []
        for part in header.split(separator: ",").prefix(Self.mostSignatures) {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            switch pair[0] {
            case "t": if seconds == nil { seconds = String(pair[1]) }
            case "v1": if let bytes = Hex.decode(pair[1]) { signatures.append(bytes) }
            default: continue
            }
        }
        guard let seconds, let number = Int64(seconds), (0...253_402_300_799).contains(number) else { return false }
        let age = now - Timestamp(milliseconds: number * 1000)
        guard age <= Self.tolerance, age >= .zero - Self.tolerance else { return false }
        let expected = Digest.hmacSHA256(Array(seconds.utf8) + [UInt8(ascii: ".")] + Array(body), keyBytes: secret)
        return signatures.contains { Digest.constantTimeEqual($0, expected) }
    }
}

/// What one notification says of which process; nil for those that do not concern us.
struct StripeEvent: Hashable, Sendable {
    /// Of the process, or of its money.
    let reference: String
    /// Nil for what comes after a charge: notifications of it come in any order, and what holds now is asked for.
    let word: ProviderStatus?

    init?(_ body: [UInt8]) {
        guard let event = try? JSONTree(body) else { return nil }
        let object = event["data"]["object"]
        switch event["type"].text {
        case "payment_intent.succeeded", "payment_intent.canceled":
            guard let id = object["id"].text else { return nil }
            (reference, word) = (id, StripeProvider.word(of: object))
        case "payment_intent.payment_failed":
            guard let id = object["id"].text else { return nil }
            (reference, word) = (id, .declined(reason: StripeProvider.reason(of: object)))
        case "charge.refunded", "charge.refund.updated", "refund.created", "refund.updated", "refund.failed", "charge.dispute.created",
            "charge.dispute.updated", "charge.dispute.closed", "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated":
            guard let id = object["payment_intent"].text ?? object["charge"].text else { return nil }
            (reference, word) = (id, nil)
        default: return nil
        }
    }
}
