// What Stripe's lists of refunds and disputes of one process say about where the money is.

import Contracts

/// All refunds of one PaymentIntent, the newest first.
struct StripeRefunds: Sendable {
    /// In which a refund says of which job it is.
    static let jobField = "metadata[errand]"
    /// Refusals that pass by themselves or once the operator has mended something at Stripe, such as an account without cover.
    static let passing: Set<String> = [
        "balance_insufficient", "insufficient_funds", "lock_timeout", "rate_limit", "idempotency_key_in_use", "api_key_expired",
        "platform_api_key_expired", "secret_key_required", "account_invalid",
    ]

    private let made: [JSONTree]

    init(_ list: JSONTree) {
        made = list["data"].items
    }

    /// What has gone back, as Stripe counts.
    var back: Int64 {
        made.filter { Self.word(of: $0) == .refunded }.reduce(0) { $0 + ($1["amount"].integer ?? 0) }
    }

    var isUnderWay: Bool { made.contains { Self.word(of: $0) == .pending } }

    /// Why the last of those did not arrive that are not there any more; nil where none failed.
    var lastFailure: String? { made.first { Self.hasFailed($0) }.map(Self.reason) }

    /// Why the refund of one job did not arrive.
    func failed(of job: String) -> String? {
        made.first { Self.hasFailed($0) && $0["metadata"]["errand"].text == job }.map(Self.reason)
    }

    static func word(of refund: JSONTree) -> ProviderStatus {
        switch refund["status"].text {
        case "succeeded": .refunded
        case "failed", "canceled": .stands(.refundRefused(reason: reason(refund)))
        default: .pending
        }
    }

    private static func hasFailed(_ refund: JSONTree) -> Bool {
        ["failed", "canceled"].contains(refund["status"].text)
    }

    private static func reason(_ refund: JSONTree) -> String {
        HandlerCalls.reason(refund["failure_reason"].text, else: "refund-failed")
    }
}

enum StripeDisputes {
    /// Nil where nothing is contested and nothing was lost. An inquiry of a bank moves no money yet.
    static func standing(_ list: JSONTree) -> MoneyStatus? {
        let disputes = list["data"].items
        let open = disputes.first { ["needs_response", "under_review"].contains($0["status"].text) }
        if let open { return .disputed(reason: HandlerCalls.reason(open["reason"].text, else: "disputed")) }
        return disputes.contains { $0["status"].text == "lost" } ? .lost : nil
    }
}
