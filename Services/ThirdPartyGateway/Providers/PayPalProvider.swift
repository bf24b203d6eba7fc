// PayPal's Orders API, version 2: the payer agrees at PayPal, then we capture.

import Contracts
import Foundation
import Outbound
import Sealing

/// Every call that changes something has the job's key as `PayPal-Request-Id`. Money moves at the capture alone, which only we ask
/// for, so that an order that nobody captures costs nothing.
actor PayPalProvider: PaymentProvider {
    static let name = "paypal"
    /// A token is renewed so long before it ends.
    private static let margin: Duration = .seconds(60)

    nonisolated var name: String { PayPalProvider.name }
    nonisolated var takesToken: Bool { false }

    private let url: String
    private let credentials: String
    private let calls: HandlerCalls
    /// Where the payer's browser comes back to.
    private let returnURL: String
    private let clock: @Sendable () -> Timestamp
    private var access: (token: String, until: Timestamp)?

    /// - Parameter credentials: `client id:secret`.
    init(url: String, credentials: String, returnURL: String, calls: HandlerCalls, clock: @escaping @Sendable () -> Timestamp) {
        (self.url, self.credentials, self.returnURL) = (url, credentials, returnURL)
        (self.calls, self.clock) = (calls, clock)
    }

    func carry(_ job: PaymentJob) async -> ProviderStatus {
        switch job.kind {
        case .open: return await open(job)
        case .confirm: return await capture(job)
        case .look: return await look(job)
        case .cancel:
            // There is no call for it: an order that is not captured ends by itself.
            switch await look(job) {
            case .needsPayer, .approved, .declined: return .ended(reason: "cancelled")
            case let word: return word
            }
        case .refund: return await refund(job)
        case .review: return await review(job)
        }
    }

    // MARK: Calls

    private func open(_ job: PaymentJob) async -> ProviderStatus {
        let order = PayPalOrder(
            intent: "CAPTURE",
            purchaseUnits: [
                .init(
                    referenceID: "\(job.payment)", customID: "\(job.payment)", invoiceID: "\(job.payment)",
                    amount: .init(currencyCode: job.amount.currency, value: PayPalMoney.value(job.amount)))
            ],
            paymentSource: .init(
                paypal: .init(
                    experienceContext: .init(returnURL: returnURL, cancelURL: "\(returnURL)?\(ProviderRoutes.cancelled)=1"))))
        guard let body = try? order.json() else { return .ended(reason: "unreadable") }
        let reply = await call("/v2/checkout/orders", "POST", key: job.key, body: body)
        guard case .answer(let status, let answer) = reply else { return .unreachable }
        guard [200, 201].contains(status), let reference = answer["id"].text else {
            return status == 403 ? .unreachable : .ended(reason: Self.reason(answer))
        }
        let link = answer["links"].items.first { ["approve", "payer-action"].contains($0["rel"].text ?? "") }?["href"].text
        // What it is about is said in the longer form of the answer alone.
        let amount = PayPalMoney.amount(answer["purchase_units"].items.first?["amount"] ?? .null)
        return .opened(reference: reference, step: PayerStep(redirect: link), amount: amount)
    }

    private func capture(_ job: PaymentJob) async -> ProviderStatus {
        guard let reference = job.reference else { return .unreachable }
        let reply = await call("/v2/checkout/orders/\(reference)/capture", "POST", key: job.key, body: "{}")
        guard case .answer(let status, let answer) = reply else { return .unreachable }
        switch status {
        case 200, 201:
            let word = PayPalTypes.word(ofOrder: answer)
            // Captured, and the answer does not say how much: the order itself does.
            return word == .pending ? await look(job) : word
        case 404: return .ended(reason: "expired")
        case 400: return .declined(reason: Self.reason(answer))
        case 422:
            switch answer["details"].items.first?["issue"].text {
            case "ORDER_ALREADY_CAPTURED": return await look(job)
            case "ORDER_NOT_APPROVED", "PAYER_ACTION_REQUIRED": return .needsPayer(nil)
            default: return .declined(reason: Self.reason(answer))
            }
        default: return .unreachable
        }
    }

    private func look(_ job: PaymentJob) async -> ProviderStatus {
        guard let reference = job.reference else { return .unreachable }
        guard case .answer(let status, let answer) = await call("/v2/checkout/orders/\(reference)", "GET", key: nil) else {
            return .unreachable
        }
        switch status {
        case 200: return PayPalTypes.word(ofOrder: answer)
        // Orders that nobody approved are forgotten after some hours.
        case 404: return .ended(reason: "expired")
        default: return .unreachable
        }
    }

    private func refund(_ job: PaymentJob) async -> ProviderStatus {
        let charge: String
        switch await money(of: job) {
        case .unreachable: return .unreachable
        case .unknown: return .stands(.refundRefused(reason: "charge-unknown"))
        case .named(let name): charge = name
        }
        let reply = await call("/v2/payments/captures/\(charge)/refund", "POST", key: job.key, body: "{}")
        guard case .answer(let status, let answer) = reply else { return .unreachable }
        let issue = answer["details"].items.first?["issue"].text ?? answer["name"].text ?? ""
        switch status {
        case 200, 201: return PayPalTypes.word(ofRefund: answer, asked: job.amount)
        case 403: return .unreachable
        case 404: return .stands(.refundRefused(reason: "charge-unknown"))
        case _ where issue == "CAPTURE_FULLY_REFUNDED": return .refunded
        case _ where PayPalTypes.passing.contains(issue): return .unreachable
        default:
            // What the payer contests is not given back past the dispute.
            switch await review(job) {
            case .unreachable: return .unreachable
            case .stands(.kept), .pending: return .stands(.refundRefused(reason: Self.reason(answer)))
            case let word: return word
            }
        }
    }

    /// Where the money is, whatever notifications said in whichever order.
    private func review(_ job: PaymentJob) async -> ProviderStatus {
        let charge: String
        let capture: JSONTree
        switch await money(of: job) {
        case .unreachable: return .unreachable
        case .unknown: return .pending
        case .named(let name): charge = name
        }
        switch await call("/v2/payments/captures/\(charge)", "GET", key: nil) {
        case .answer(200, let found): capture = found
        case .answer(404, _): return .pending
        case .answer, .unreachable: return .unreachable
        }
        switch await call("/v1/customer/disputes?disputed_transaction_id=\(charge)", "GET", key: nil) {
        case .unreachable: return .unreachable
        case .answer(200, let list):
            var disputes: [JSONTree] = []
            for listed in list["items"].items.prefix(PayPalTypes.mostDisputes) {
                guard let id = listed["dispute_id"].text,
                    case .answer(200, let dispute) = await call("/v1/customer/disputes/\(id)", "GET", key: nil)
                else { return .unreachable }
                disputes.append(dispute)
            }
            if let standing = PayPalTypes.standing(disputes) { return .stands(standing) }
        // Without the permission for disputes the capture alone tells.
        case .answer: break
        }
        return PayPalTypes.word(ofCapture: capture)
    }

    private enum Money {
        case named(String)
        /// There is none that PayPal knows of.
        case unknown
        case unreachable
    }

    /// PayPal's name of the money; asked for where the answer that had it was lost.
    private func money(of job: PaymentJob) async -> Money {
        if let charge = job.charge { return .named(charge) }
        guard let reference = job.reference else { return .unknown }
        switch await call("/v2/checkout/orders/\(reference)", "GET", key: nil) {
        case .answer(200, let order): return PayPalTypes.capture(of: order)["id"].text.map { .named($0) } ?? .unknown
        case .answer(404, _): return .unknown
        case .answer, .unreachable: return .unreachable
        }
    }

    private static func reason(_ answer: JSONTree) -> String {
        HandlerCalls.reason(answer["details"].items.first?["issue"].text ?? answer["name"].text, else: "payment-refused")
    }

    // MARK: The wire

    private func call(_ path: String, _ method: String, key: String?, body: String = "") async -> HandlerCalls.Reply {
        guard let token = await token() else { return .unreachable }
        var headers = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")]
        // The longer form of answers says amounts.
        if let key { headers += [("PayPal-Request-Id", key), ("Prefer", "return=representation")] }
        let reply = await calls.send(url + path, method, headers: headers.map { (name: $0.0, value: $0.1) }, body: body)
        if case .answer(401, _) = reply {
            access = nil
            return .unreachable
        }
        return reply
    }

    private func token() async -> String? {
        if let access, access.until > clock() { return access.token }
        let reply = await calls.send(
            url + "/v1/oauth2/token", "POST",
            headers: [
                (name: "Authorization", value: "Basic " + Base64.encode(Array(credentials.utf8))),
                (name: "Content-Type", value: "application/x-www-form-urlencoded"),
            ], body: "grant_type=client_credentials")
        guard case .answer(200, let answer) = reply, let token = answer["access_token"].text else { return nil }
        access = (token, clock() + .seconds(answer["expires_in"].integer ?? 60) - Self.margin)
        return token
    }
}
