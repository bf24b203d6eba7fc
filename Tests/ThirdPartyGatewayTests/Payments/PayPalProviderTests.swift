// PayPal's Orders API against a recorded contract: requests and answers as PayPal's own reference shows them.

import Contracts
import Foundation
import HTTPKit
import Synchronization
import Testing

@testable import ThirdPartyGateway

@Suite("PayPal")
struct PayPalProviderTests {
    private static let paths: [(Route.Method, String)] = [
        (.post, "/v1/oauth2/token"), (.post, "/v2/checkout/orders"), (.get, "/v2/checkout/orders/{id}"),
        (.post, "/v2/checkout/orders/{id}/capture"), (.post, "/v2/payments/captures/{id}/refund"), (.get, "/v2/payments/captures/{id}"),
        (.get, "/v1/customer/disputes"), (.get, "/v1/customer/disputes/{id}"),
    ]
    private static let paid = Amount(minor: 622, currency: "EUR")

    private static let created = """
        {"id":"5O190127TN364715T","status":"PAYER_ACTION_REQUIRED","payment_source":{"paypal":{}},"links":[
        {"href":"https://api-m.paypal.com/v2/checkout/orders/5O190127TN364715T","rel":"self","method":"GET"},
        {"href":"https://www.paypal.com/checkoutnow?token=5O190127TN364715T","rel":"payer-action","method":"GET"}]}
        """
    private static let completed = """
        {"id":"5O190127TN364715T","status":"COMPLETED","purchase_units":[{"reference_id":"d9f80740","payments":{"captures":[
        {"id":"3C679366HH908993F","status":"COMPLETED","amount":{"currency_code":"EUR","value":"6.22"},"final_capture":true}]}}]}
        """

    private static func refusal(_ issue: String) -> HandlerServer.Reply {
        .init(status: 422, body: #"{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"\#(issue)","description":"…"}],"debug_id":"9"}"#)
    }

    private static func order(_ status: String) -> HandlerServer.Reply {
        .init(body: #"{"id":"5O190127TN364715T","status":"\#(status)"}"#)
    }

    private static func play(_ body: (HandlerServer, PayPalProvider) async throws -> Void) async throws {
        try await PayPalProvider.play(paths, body)
    }

    @Test("PAY-05, PAY-06: an order is opened with the amount; the payer is sent to PayPal")
    func open() async throws {
        try await Self.play { server, payPal in
            server.answer("POST /v2/checkout/orders", .init(status: 201, body: Self.created))
            let word = await payPal.carry(job(.open, .paypal))
            #expect(
                word
                    == .opened(
                        reference: "5O190127TN364715T",
                        step: PayerStep(redirect: "https://www.paypal.com/checkoutnow?token=5O190127TN364715T")))
            #expect(
                server.asked[0].authorization == "Basic Y2xpZW50OnNlY3JldA==" && server.asked[0].body == "grant_type=client_credentials")
            let asked = server.asked[1]
            #expect(asked.key == "0123456789abcdef" && asked.authorization == "Bearer A21AA")
            let body = try JSONTree(Array(asked.body.utf8))
            let unit = try #require(body["purchase_units"].items.first)
            #expect(
                body["intent"].text == "CAPTURE" && unit["amount"]["value"].text == "6.22" && unit["amount"]["currency_code"].text == "EUR")
            #expect(unit["custom_id"].text == "\(PaymentID(bits: 9))" && unit["reference_id"] == unit["custom_id"])
            #expect(unit["invoice_id"] == unit["custom_id"], "by it PayPal refuses a second capture, also one of a store that was restored")
            let context = body["payment_source"]["paypal"]["experience_context"]
            #expect(context["return_url"].text == "https://suite.example/back")
            #expect(context["cancel_url"].text?.hasPrefix("https://suite.example/back?") == true)
            // The token serves for the next call too.
            _ = await payPal.carry(job(.open, .paypal))
            #expect(server.lines.filter { $0.hasSuffix("token") }.count == 1)
        }
    }

    @Test("PAY-05: an order that the payer has approved is captured; states are what PayPal says")
    func capture() async throws {
        try await Self.play { server, payPal in
            server.answer(
                "GET /v2/checkout/orders/5O190127TN364715T", Self.order("CREATED"), Self.order("APPROVED"), .init(body: Self.completed),
                Self.order("VOIDED"), .init(status: 404, body: #"{"name":"RESOURCE_NOT_FOUND"}"#))
            let look = job(.look, .paypal, reference: "5O190127TN364715T")
            #expect(await payPal.carry(look) == .needsPayer(nil))
            #expect(await payPal.carry(look) == .approved)
            #expect(await payPal.carry(look) == .succeeded(charge: "3C679366HH908993F", amount: Self.paid))
            #expect(await payPal.carry(look) == .ended(reason: "cancelled"))
            #expect(await payPal.carry(look) == .ended(reason: "expired"))
            server.answer("POST /v2/checkout/orders/5O190127TN364715T/capture", .init(status: 201, body: Self.completed))
            let confirm = job(.confirm, .paypal, reference: "5O190127TN364715T")
            #expect(await payPal.carry(confirm) == .succeeded(charge: "3C679366HH908993F", amount: Self.paid))
            #expect(server.asked.last?.key == "0123456789abcdef")
        }
    }

    @Test("PAY-09: an order that was captured before is not captured again; declined and unapproved ones say so")
    func refusedCapture() async throws {
        try await Self.play { server, payPal in
            server.answer(
                "POST /v2/checkout/orders/5O190127TN364715T/capture", Self.refusal("ORDER_ALREADY_CAPTURED"),
                Self.refusal("ORDER_NOT_APPROVED"), Self.refusal("INSTRUMENT_DECLINED"), .init(status: 503, body: "{}"))
            server.answer("GET /v2/checkout/orders/5O190127TN364715T", .init(body: Self.completed))
            let confirm = job(.confirm, .paypal, reference: "5O190127TN364715T")
            #expect(await payPal.carry(confirm) == .succeeded(charge: "3C679366HH908993F", amount: Self.paid))
            #expect(await payPal.carry(confirm) == .needsPayer(nil))
            #expect(await payPal.carry(confirm) == .declined(reason: "instrument-declined"))
            #expect(await payPal.carry(confirm) == .unreachable)
        }
    }

    @Test("PAY-09: an order that is called off is never captured; one that has charged says so")
    func cancel() async throws {
        try await Self.play { server, payPal in
            server.answer(
                "GET /v2/checkout/orders/5O190127TN364715T", Self.order("APPROVED"), Self.order("CREATED"), .init(body: Self.completed))
            let cancel = job(.cancel, .paypal, reference: "5O190127TN364715T")
            #expect(await payPal.carry(cancel) == .ended(reason: "cancelled"))
            #expect(await payPal.carry(cancel) == .ended(reason: "cancelled"))
            #expect(await payPal.carry(cancel) == .succeeded(charge: "3C679366HH908993F", amount: Self.paid))
        }
    }

    @Test("PAY-04: what was given back at PayPal's own pages before we heard of it is not paid; a part given back leaves it paid")
    func refundedElsewhere() async throws {
        try await Self.play { server, payPal in
            server.answer(
                "GET /v2/checkout/orders/5O190127TN364715T",
                .init(body: Self.completed.replacing(#""status":"COMPLETED","amount""#, with: #""status":"REFUNDED","amount""#)),
                .init(body: Self.completed.replacing(#""status":"COMPLETED","amount""#, with: #""status":"PARTIALLY_REFUNDED","amount""#)))
            let look = job(.look, .paypal, reference: "5O190127TN364715T")
            #expect(await payPal.carry(look) == .ended(reason: "refunded"))
            #expect(await payPal.carry(look) == .succeeded(charge: "3C679366HH908993F", amount: Self.paid))
        }
    }

    @Test("PAY-09: the capture is refunded once")
    func refund() async throws {
        try await Self.play { server, payPal in
            server.answer(
                "POST /v2/payments/captures/3C679366HH908993F/refund",
                .init(status: 201, body: #"{"id":"1JU08902781691411","status":"COMPLETED"}"#),
                Self.refusal("CAPTURE_FULLY_REFUNDED"), .init(status: 201, body: #"{"status":"PENDING"}"#))
            let refund = job(.refund, .paypal, reference: "5O190127TN364715T", charge: "3C679366HH908993F")
            #expect(await payPal.carry(refund) == .refunded)
            #expect(server.asked.last?.key == "0123456789abcdef")
            #expect(await payPal.carry(refund) == .refunded)
            #expect(await payPal.carry(refund) == .pending)
        }
    }

    @Test("a token that is refused is asked for anew")
    func token() async throws {
        try await Self.play { server, payPal in
            server.answer(
                "GET /v2/checkout/orders/5O190127TN364715T", .init(status: 401, body: #"{"error":"invalid_token"}"#), Self.order("CREATED"))
            let look = job(.look, .paypal, reference: "5O190127TN364715T")
            #expect(await payPal.carry(look) == .unreachable)
            #expect(await payPal.carry(look) == .needsPayer(nil))
            #expect(server.lines.filter { $0.hasSuffix("token") }.count == 2)
            server.answer("POST /v1/oauth2/token", .init(status: 401, body: "{}"))
            let stranger = PayPalProvider(
                url: server.url, credentials: "x:y", returnURL: "", calls: server.calls(), clock: { PaymentHarness.start })
            #expect(await stranger.carry(look) == .unreachable)
        }
    }
}
