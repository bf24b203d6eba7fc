// PayPal's Orders API, version 2: the payer agrees at PayPal, then we capture.

import Contracts
import Foundation
import Outbound
import Sealing

/// Every call that changes something has the errand's key as `PayPal-Request-Id`. Money moves at the capture alone, which only we ask
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

    func carry(_ errand: Errand) async -> ProviderWord {
        switch errand.kind {
        case .open: return await open(errand)
        case .confirm: return await capture(errand)
        case .look: return await look(errand)
        case .cancel:
            // There is no call for it: an order that is not captured ends by itself.
            switch await look(errand) {
            case .needsPayer, .approved, .declined: return .ended(reason: "cancelled")
            case let word: return word
            }
        case .refund: return await refund(errand)
        }
    }

    // MARK: Calls

    private func open(_ errand: Errand) async -> ProviderWord {
        let order = Order(
            intent: "CAPTURE",
            purchaseUnits: [
                .init(
                    referenceID: "\(errand.payment)", customID: "\(errand.payment)",
                    amount: .init(currencyCode: errand.amount.currency, value: errand.amount.decimal))
            ],
            paymentSource: .init(paypal: .init(experienceContext: .init(returnURL: returnURL, cancelURL: returnURL))))
        guard let body = try? JSONEncoder().encode(order) else { return .ended(reason: "unreadable") }
        let reply = await call("/v2/checkout/orders", "POST", key: errand.key, body: String(decoding: body, as: UTF8.self))
        guard case .answer(let status, let answer) = reply else { return .unreachable }
        guard [200, 201].contains(status), let reference = answer["id"].text else {
            return status == 403 ? .unreachable : .ended(reason: Self.reason(answer))
        }
        let link = answer["links"].items.first { ["approve", "payer-action"].contains($0["rel"].text ?? "") }?["href"].text
        return .opened(reference: reference, step: PayerStep(redirect: link))
    }

    private func capture(_ errand: Errand) async -> ProviderWord {
        guard let reference = errand.reference else { return .unreachable }
        let reply = await call("/v2/checkout/orders/\(reference)/capture", "POST", key: errand.key, body: "{}")
        guard case .answer(let status, let answer) = reply else { return .unreachable }
        switch status {
        case 200, 201: return Self.word(of: answer)
        case 404: return .ended(reason: "expired")
        case 422:
            switch answer["details"].items.first?["issue"].text {
            case "ORDER_ALREADY_CAPTURED": return await look(errand)
            case "ORDER_NOT_APPROVED", "PAYER_ACTION_REQUIRED": return .needsPayer(nil)
            default: return .declined(reason: Self.reason(answer))
            }
        default: return .unreachable
        }
    }

    private func look(_ errand: Errand) async -> ProviderWord {
        guard let reference = errand.reference else { return .unreachable }
        guard case .answer(let status, let answer) = await call("/v2/checkout/orders/\(reference)", "GET", key: nil) else {
            return .unreachable
        }
        switch status {
        case 200: return Self.word(of: answer)
        // Orders that nobody approved are forgotten after some hours.
        case 404: return .ended(reason: "expired")
        default: return .unreachable
        }
    }

    private func refund(_ errand: Errand) async -> ProviderWord {
        guard let charge = errand.charge else { return .unreachable }
        let reply = await call("/v2/payments/captures/\(charge)/refund", "POST", key: errand.key, body: "{}")
        guard case .answer(let status, let answer) = reply else { return .unreachable }
        switch status {
        case 200, 201: return answer["status"].text == "COMPLETED" ? .refunded : .unreachable
        case 422: return answer["details"].items.first?["issue"].text == "CAPTURE_FULLY_REFUNDED" ? .refunded : .unreachable
        default: return .unreachable
        }
    }

    // MARK: What answers mean

    static func word(of order: JSON) -> ProviderWord {
        switch order["status"].text {
        case "COMPLETED":
            let capture = order["purchase_units"].items.first?["payments"]["captures"].items.first ?? .null
            switch capture["status"].text {
            case "COMPLETED", "PARTIALLY_REFUNDED": return .succeeded(charge: capture["id"].text)
            case "DECLINED", "FAILED": return .declined(reason: "payment-declined")
            // Given back at PayPal's own pages before we heard of it: nothing is paid by that.
            case "REFUNDED": return .ended(reason: "refunded")
            default: return .pending
            }
        case "APPROVED": return .approved
        case "VOIDED": return .ended(reason: "cancelled")
        case "CREATED", "SAVED", "PAYER_ACTION_REQUIRED": return .needsPayer(nil)
        default: return .pending
        }
    }

    private static func reason(_ answer: JSON) -> String {
        HandlerCalls.reason(answer["details"].items.first?["issue"].text ?? answer["name"].text, else: "payment-refused")
    }

    // MARK: The wire

    private func call(_ path: String, _ method: String, key: String?, body: String = "") async -> HandlerCalls.Reply {
        guard let token = await token() else { return .unreachable }
        var headers = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")]
        if let key { headers.append(("PayPal-Request-Id", key)) }
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

    private struct Order: Encodable {
        struct Unit: Encodable {
            struct Value: Encodable {
                var currencyCode: String
                var value: String

                enum CodingKeys: String, CodingKey {
                    case currencyCode = "currency_code"
                    case value
                }
            }

            var referenceID: String
            var customID: String
            var amount: Value

            enum CodingKeys: String, CodingKey {
                case referenceID = "reference_id"
                case customID = "custom_id"
                case amount
            }
        }

        struct Source: Encodable {
            struct PayPal: Encodable {
                struct Context: Encodable {
                    var returnURL: String
                    var cancelURL: String

                    enum CodingKeys: String, CodingKey {
                        case returnURL = "return_url"
                        case cancelURL = "cancel_url"
                    }
                }

                var experienceContext: Context

                enum CodingKeys: String, CodingKey { case experienceContext = "experience_context" }
            }

            var paypal: PayPal
        }

        var intent: String
        var purchaseUnits: [Unit]
        var paymentSource: Source

        enum CodingKeys: String, CodingKey {
            case intent
            case purchaseUnits = "purchase_units"
            case paymentSource = "payment_source"
        }
    }
}
