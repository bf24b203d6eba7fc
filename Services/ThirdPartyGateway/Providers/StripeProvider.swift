// Cards by Stripe's API: one PaymentIntent for each attempt.

import Contracts
import Foundation
import Outbound

/// Every call has the job's key as `Idempotency-Key`, and what may have been done before is looked at first or on refusal, so that
/// it holds with a handler that forgets keys as well.
struct StripeProvider: PaymentProvider {
    static let name = "stripe"
    /// The token that was to be charged is none of the handler's.
    static let unknownToken = "payment-method-unknown"

    let url: String
    let secret: String
    let publishableKey: String
    let calls: HandlerCalls

    var name: String { Self.name }
    var takesToken: Bool { true }

    func carry(_ job: PaymentJob) async -> ProviderStatus {
        switch job.kind {
        case .open: await open(job)
        case .confirm: await confirm(job)
        case .cancel: await cancel(job)
        case .look: await look(job)
        case .refund: await refund(job)
        case .review: await review(job)
        }
    }

    /// Stripe finds what it was told of an intent within a minute, and for ever.
    func forgotten(_ payment: PaymentID, besides known: Set<String>) async -> ForgottenPayment {
        let query = Self.escaped("metadata['payment']:'\(payment)' AND status:'succeeded'")
        switch await get("/v1/payment_intents/search?limit=100&expand%5B%5D=data.latest_charge&query=\(query)") {
        case .unreachable, .answer(401, _), .answer(403, _): return .unreachable
        case .answer(200, let list):
            let kept = list["data"].items.first { intent in
                let charge = intent["latest_charge"]
                return charge["refunded"] != .flag(true) && charge["disputed"] != .flag(true) && !known.contains(intent["id"].text ?? "")
            }
            guard let kept, let reference = kept["id"].text else { return .unknown }
            return .paid(reference: reference, amount: Self.amount(kept["amount"], kept["currency"]))
        // Accounts of some countries cannot search.
        case .answer: return .unknown
        }
    }

    // MARK: Calls

    private func open(_ job: PaymentJob) async -> ProviderStatus {
        let reply = await post(
            "/v1/payment_intents",
            [
                ("amount", String(Self.units(of: job.amount))), ("currency", job.amount.currency.lowercased()),
                ("payment_method_types[]", "card"), ("metadata[payment]", "\(job.payment)"),
                ("metadata[attempt]", String(job.attempt)),
            ], job.key)
        guard case .answer(let status, let body) = reply else { return .unreachable }
        guard status == 200, let reference = body["id"].text, let secret = body["client_secret"].text else {
            return refusal(status, body)
        }
        return .opened(
            reference: reference, step: PayerStep(clientSecret: secret, publishableKey: publishableKey.isEmpty ? nil : publishableKey),
            amount: Self.amount(body["amount"], body["currency"]))
    }

    /// Without a token the payer's own form charges; we only look. With one it is put into the intent, which is then confirmed.
    private func confirm(_ job: PaymentJob) async -> ProviderStatus {
        guard let reference = job.reference else { return .unreachable }
        guard let token = job.token else { return await look(job) }
        switch await get("/v1/payment_intents/\(Self.escaped(reference))") {
        case .unreachable: return .unreachable
        case .answer(200, let intent):
            // Something has come of it before: that counts, whatever was to be done.
            let word = Self.word(of: intent)
            if word != .needsPayer(nil) { return word }
        case .answer: break
        }
        let update = await post("/v1/payment_intents/\(Self.escaped(reference))", [("payment_method", token)], job.key + "-method")
        guard case .answer(let status, let body) = update else { return .unreachable }
        guard status == 200 else { return await refusedOrDone(job, status, body) }
        let reply = await post("/v1/payment_intents/\(Self.escaped(reference))/confirm", [], job.key)
        guard case .answer(let confirmed, let intent) = reply else { return .unreachable }
        guard confirmed == 200 else { return await refusedOrDone(job, confirmed, intent) }
        let word = Self.word(of: intent)
        if case .needsPayer = word, intent["next_action"] == .null { return .declined(reason: Self.reason(of: intent)) }
        return word
    }

    private func cancel(_ job: PaymentJob) async -> ProviderStatus {
        guard let reference = job.reference else { return .unreachable }
        let reply = await post("/v1/payment_intents/\(Self.escaped(reference))/cancel", [], job.key)
        guard case .answer(let status, let body) = reply else { return .unreachable }
        if status == 200, body["status"].text == "canceled" { return .ended(reason: "cancelled") }
        // What cannot be cancelled has charged, is charging, or is cancelled already.
        let word = await look(job)
        if case .needsPayer = word { return .unreachable }
        return word
    }

    private func look(_ job: PaymentJob) async -> ProviderStatus {
        guard let reference = job.reference else { return .unreachable }
        switch await get("/v1/payment_intents/\(Self.escaped(reference))") {
        case .unreachable: return .unreachable
        case .answer(200, let intent): return Self.word(of: intent)
        case .answer(404, _): return .ended(reason: "unknown-to-handler")
        case .answer: return .unreachable
        }
    }

    private func refund(_ job: PaymentJob) async -> ProviderStatus {
        guard let reference = job.reference else { return .unreachable }
        var missing = Self.units(of: job.amount)
        switch await get("/v1/refunds?limit=100&payment_intent=\(Self.escaped(reference))") {
        case .unreachable: return .unreachable
        case .answer(200, let list):
            let refunds = StripeRefunds(list)
            // A part that somebody gave back by hand is not the whole; what is left is asked for.
            missing -= refunds.back
            if missing <= 0 { return .refunded }
            if let failed = refunds.failed(of: job.key) { return .stands(.refundRefused(reason: failed)) }
            if refunds.isUnderWay { return .pending }
        case .answer: break
        }
        let reply = await post(
            "/v1/refunds",
            [("payment_intent", reference), ("metadata[payment]", "\(job.payment)"), (StripeRefunds.jobField, job.key)], job.key
        )
        guard case .answer(let status, let body) = reply else { return .unreachable }
        guard status == 200 else { return await notRefunded(job, status, body["error"]) }
        guard body["amount"].integer == missing, body["currency"].text?.uppercased() == job.amount.currency else {
            return .stands(.refundRefused(reason: PayingAttempt.amountDiffers))
        }
        return StripeRefunds.word(of: body)
    }

    /// What can be mended by the operator at Stripe, or passes by itself, is asked for again; the rest will be refused for ever.
    private func notRefunded(_ job: PaymentJob, _ status: Int, _ error: JSONTree) async -> ProviderStatus {
        let code = error["code"].text ?? ""
        if code == "charge_already_refunded" { return .refunded }
        if [401, 403].contains(status) || StripeRefunds.passing.contains(code) || error["type"].text == "idempotency_error" {
            return .unreachable
        }
        // A charge that the payer's bank contests is not given back past the bank.
        switch await review(job) {
        case .unreachable: return .unreachable
        case .stands(.disputed(let why)): return .stands(.disputed(reason: why))
        case .stands(.lost): return .stands(.lost)
        case .stands(.refunded): return .refunded
        default: return .stands(.refundRefused(reason: HandlerCalls.reason(code, else: "refund-refused")))
        }
    }

    /// Where the money is, whatever notifications said in whichever order.
    private func review(_ job: PaymentJob) async -> ProviderStatus {
        guard let reference = job.reference else { return .pending }
        let intent = Self.escaped(reference)
        guard case .answer(let status, let disputes) = await get("/v1/disputes?limit=100&payment_intent=\(intent)"),
            case .answer(let listed, let refunds) = await get("/v1/refunds?limit=100&payment_intent=\(intent)")
        else { return .unreachable }
        // A wrong key is the operator's to mend; a handler without disputes has none.
        guard ![401, 403].contains(status), listed == 200 else { return .unreachable }
        if let standing = StripeDisputes.standing(disputes) { return .stands(standing) }
        let made = StripeRefunds(refunds)
        if made.back >= Self.units(of: job.amount) { return .stands(.refunded) }
        if made.isUnderWay { return .pending }
        return .stands(made.lastFailure.map { .refundRefused(reason: $0) } ?? .kept)
    }

    /// As Stripe counts: two of the currencies without minor units have hundredths there.
    static func units(of amount: Amount) -> Int64 {
        hundredfold.contains(amount.currency) ? amount.minor * 100 : amount.minor
    }

    private static let hundredfold = ["ISK", "UGX"]

    /// Nil where one of them is missing. Hundredths of a currency that has none are nothing that was ever asked for.
    static func amount(_ units: JSONTree, _ currency: JSONTree) -> Amount? {
        guard let units = units.integer, units >= 0, let currency = currency.text?.uppercased() else { return nil }
        let isWhole = hundredfold.contains(currency) && units % 100 == 0
        return Amount(minor: isWhole ? units / 100 : units, currency: currency)
    }

    // MARK: What answers mean

    /// Of an intent as Stripe shows it, in an answer or in an event.
    static func word(of intent: JSONTree) -> ProviderStatus {
        switch intent["status"].text {
        case "succeeded":
            // Without an amount nobody can say that it is the right one.
            let received = intent["amount_received"] == .null ? intent["amount"] : intent["amount_received"]
            guard let amount = amount(received, intent["currency"]) else { return .pending }
            return .succeeded(charge: intent["latest_charge"].text ?? intent["latest_charge"]["id"].text, amount: amount)
        case "canceled": return .ended(reason: "cancelled")
        case "requires_payment_method", "requires_confirmation", "requires_action": return .needsPayer(nil)
        default: return .pending
        }
    }

    /// The card was declined, or the intent is not where it was: then what it is now decides.
    private func refusedOrDone(_ job: PaymentJob, _ status: Int, _ body: JSONTree) async -> ProviderStatus {
        if status == 402 { return .declined(reason: Self.reason(body["error"])) }
        let word = await look(job)
        guard case .needsPayer = word else { return word }
        // The intent is there, so that what is missing is the means of payment.
        let isMissing = status == 404 || body["error"]["code"].text == "resource_missing"
        return .declined(reason: isMissing ? Self.unknownToken : Self.reason(body["error"]))
    }

    private func refusal(_ status: Int, _ body: JSONTree) -> ProviderStatus {
        // A wrong key is the operator's to mend; the payment waits.
        status == 401 || status == 403 ? .unreachable : .ended(reason: Self.reason(body["error"]))
    }

    static func reason(of intent: JSONTree) -> String {
        reason(intent["last_payment_error"])
    }

    private static func reason(_ error: JSONTree) -> String {
        HandlerCalls.reason(error["decline_code"].text ?? error["code"].text, else: "card-refused")
    }

    // MARK: The wire

    private func post(_ path: String, _ fields: [(String, String)], _ key: String) async -> HandlerCalls.Reply {
        let body = fields.map { "\(Self.escaped($0.0))=\(Self.escaped($0.1))" }.joined(separator: "&")
        return await calls.send(
            url + path, "POST",
            headers: [
                ("Authorization", "Bearer \(secret)"), ("Content-Type", "application/x-www-form-urlencoded"), ("Idempotency-Key", key),
            ], body: body)
    }

    private func get(_ path: String) async -> HandlerCalls.Reply {
        await calls.send(url + path, "GET", headers: [("Authorization", "Bearer \(secret)")])
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
