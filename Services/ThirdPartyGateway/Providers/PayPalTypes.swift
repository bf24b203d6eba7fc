// What PayPal's answers mean, and how it writes orders and money.

import Contracts
import Foundation

enum PayPalMoney {
    /// Of ISO 4217 they have hundredths, at PayPal none.
    private static let whole: Set<String> = ["HUF", "TWD"]

    static func value(_ amount: Amount) -> String {
        whole.contains(amount.currency) && amount.minor % 100 == 0 ? String(amount.minor / 100) : amount.decimal
    }

    /// Nil where there is none that can be read.
    static func amount(_ money: JSONTree) -> Amount? {
        guard let currency = money["currency_code"].text, Amount.isCurrency(currency), let value = money["value"].text,
            (1...18).contains(value.utf8.count)
        else { return nil }
        let parts = value.split(separator: ".", omittingEmptySubsequences: false)
        let digits = Amount.digits(of: currency)
        let fraction = parts.count == 2 ? String(parts[1]) : ""
        // More places than the currency has are nothing that can be compared.
        guard (1...2).contains(parts.count), !parts[0].isEmpty, fraction.count <= digits, parts.count == 1 || !fraction.isEmpty else {
            return nil
        }
        let text = parts[0] + fraction + String(repeating: "0", count: digits - fraction.count)
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let minor = Int64(text) else { return nil }
        return Amount(minor: minor, currency: currency)
    }
}

enum PayPalTypes {
    /// Of one capture; there is one in nearly all cases where there is any.
    static let mostDisputes = 5
    /// Refusals that pass by themselves, or once the operator has mended something at PayPal.
    static let passing: Set<String> = [
        "PENDING_CAPTURE", "INSUFFICIENT_FUNDS", "REFUND_FAILED_INSUFFICIENT_FUNDS", "NOT_AUTHORIZED", "PERMISSION_DENIED",
        "DUPLICATE_REQUEST_ID", "PREVIOUS_REQUEST_IN_PROGRESS", "INTERNAL_SERVER_ERROR", "INTERNAL_SERVICE_ERROR",
    ]
    private static let lost: Set<String> = ["RESOLVED_BUYER_FAVOUR", "ACCEPTED"]

    static func capture(of order: JSONTree) -> JSONTree {
        order["purchase_units"].items.first?["payments"]["captures"].items.first ?? .null
    }

    static func word(ofOrder order: JSONTree) -> ProviderStatus {
        switch order["status"].text {
        case "COMPLETED":
            let capture = capture(of: order)
            switch capture["status"].text {
            case "COMPLETED", "PARTIALLY_REFUNDED":
                // Without an amount nobody can say that it is the right one.
                guard let amount = PayPalMoney.amount(capture["amount"]) else { return .pending }
                return .succeeded(charge: capture["id"].text, amount: amount)
            case "DECLINED", "FAILED": return .declined(reason: "payment-declined")
            // Given back at PayPal's own pages before we received it: nothing is paid by that.
            case "REFUNDED": return .ended(reason: "refunded")
            default: return .pending
            }
        case "APPROVED": return .approved
        case "VOIDED": return .ended(reason: "cancelled")
        case "CREATED", "SAVED", "PAYER_ACTION_REQUIRED": return .needsPayer(nil)
        default: return .pending
        }
    }

    static func word(ofRefund refund: JSONTree, asked: Amount) -> ProviderStatus {
        switch refund["status"].text {
        case "COMPLETED":
            // Parts that were given back by hand before count too. The shorter form of the answer does not say.
            let total = refund["seller_payable_breakdown"]["total_refunded_amount"]
            guard let back = PayPalMoney.amount(total) ?? PayPalMoney.amount(refund["amount"]), back != asked else { return .refunded }
            return .stands(.refundRefused(reason: PayingAttempt.amountDiffers))
        case "FAILED", "CANCELLED":
            return .stands(.refundRefused(reason: HandlerCalls.reason(refund["status_details"]["reason"].text, else: "refund-failed")))
        default: return .pending
        }
    }

    static func word(ofCapture capture: JSONTree) -> ProviderStatus {
        switch capture["status"].text {
        case "COMPLETED", "PARTIALLY_REFUNDED": .stands(.kept)
        case "REFUNDED": .stands(.refunded)
        case "REVERSED": .stands(.lost)
        default: .pending
        }
    }

    /// Nil where nothing is contested and nothing was lost. Where PayPal itself pays the payer, the money stays with us.
    static func standing(_ disputes: [JSONTree]) -> MoneyStatus? {
        if let open = disputes.first(where: { $0["status"].text != "RESOLVED" }) {
            return .disputed(reason: HandlerCalls.reason(open["reason"].text, else: "disputed"))
        }
        return disputes.contains { lost.contains($0["dispute_outcome"]["outcome_code"].text ?? "") } ? .lost : nil
    }

    /// Names of orders and captures that a notification speaks of.
    static func references(_ event: JSONTree) -> [String] {
        let resource = event["resource"]
        let related = resource["supplementary_data"]["related_ids"]
        // A refund names its capture by a link alone.
        let links = resource["links"].items.prefix(10).compactMap { $0["href"].text?.split(separator: "/").last.map(String.init) }
        let disputed = resource["disputed_transactions"].items.prefix(mostDisputes).map { $0["seller_transaction_id"].text }
        let names = [resource["id"].text, related["order_id"].text, related["capture_id"].text] + disputed + links
        var seen: Set<String> = []
        return names.compactMap { $0 }.filter { $0.utf8.count <= 64 && seen.insert($0).inserted }
    }
}

/// What an order is opened with.
struct PayPalOrder: Encodable {
    struct Unit: Encodable {
        struct Value: Encodable {
            var currencyCode: String
            var value: String
        }

        var referenceID: String
        var customID: String
        /// PayPal takes a second capture of one number for a repetition and refuses it, unless the account is told otherwise.
        var invoiceID: String
        var amount: Value
    }

    struct Source: Encodable {
        struct PayPal: Encodable {
            struct Context: Encodable {
                var returnURL: String
                var cancelURL: String
            }

            var experienceContext: Context
        }

        var paypal: PayPal
    }

    var intent: String
    var purchaseUnits: [Unit]
    var paymentSource: Source

    /// As PayPal reads it: its members are our names with underscores, like `return_url`.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
