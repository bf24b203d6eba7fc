// What Stripe and PayPal say of money that they have taken before: refusals of refunds, disputes, failures, amounts.

import Contracts
import Foundation
import HTTPKit
import Testing

@testable import ThirdPartyGateway

@Suite("Where money is, by Stripe")
struct StripeReviewTests {
    private static let paths: [(Route.Method, String)] = [
        (.get, "/v1/payment_intents/{id}"), (.get, "/v1/refunds"), (.post, "/v1/refunds"), (.get, "/v1/disputes"),
    ]
    private static let none = HandlerServer.Reply(body: #"{"data":[]}"#)

    private static func play(_ body: (HandlerServer, StripeProvider) async throws -> Void) async throws {
        try await HandlerServer.play(paths, keyHeader: "Idempotency-Key") { server in
            server.answer("GET /v1/refunds", none)
            server.answer("GET /v1/disputes", none)
            try await body(server, StripeProvider(url: server.url, secret: "sk_test_x", publishableKey: "", calls: server.calls()))
        }
    }

    private static func refusal(_ code: String, _ status: Int = 400, type: String = "invalid_request_error") -> HandlerServer.Reply {
        .init(status: status, body: #"{"error":{"type":"\#(type)","code":"\#(code)","message":"…"}}"#)
    }

    private static func dispute(_ status: String) -> HandlerServer.Reply {
        .init(body: #"{"data":[{"id":"dp_1","status":"\#(status)","reason":"fraudulent","amount":622,"currency":"eur"}]}"#)
    }

    @Test("PAY-05: a refund that Stripe will refuse for ever ends with its reason; what passes, or the operator can mend, is asked again")
    func refused() async throws {
        try await Self.play { server, stripe in
            let refund = job(.refund, reference: "pi_1")
            for code in ["charge_not_refundable", "resource_missing", "payment_intent_unexpected_state"] {
                server.answer("POST /v1/refunds", Self.refusal(code))
                let word = await stripe.carry(refund)
                #expect(word == .stands(.refundRefused(reason: code.replacing("_", with: "-"))), "\(code): \(word)")
            }
            for reply in [
                Self.refusal("balance_insufficient"), Self.refusal("lock_timeout"), Self.refusal("api_key_expired", 401),
                Self.refusal("", type: "idempotency_error"), .init(status: 503, body: "{}"), .init(status: 429, body: "{}"),
            ] {
                server.answer("POST /v1/refunds", reply)
                #expect(await stripe.carry(refund) == .unreachable)
            }
            server.answer("POST /v1/refunds", Self.refusal("charge_already_refunded"))
            #expect(await stripe.carry(refund) == .refunded)
        }
    }

    @Test("PAY-05: a refund that is refused since the charge is contested says where the dispute stands")
    func refusedByDispute() async throws {
        try await Self.play { server, stripe in
            let refund = job(.refund, reference: "pi_1")
            server.answer("POST /v1/refunds", Self.refusal("charge_disputed"))
            server.answer("GET /v1/disputes", Self.dispute("under_review"), Self.dispute("lost"), Self.dispute("won"))
            #expect(await stripe.carry(refund) == .stands(.disputed(reason: "fraudulent")))
            #expect(await stripe.carry(refund) == .stands(.lost))
            #expect(await stripe.carry(refund) == .stands(.refundRefused(reason: "charge-disputed")))
            server.answer("GET /v1/disputes", .init(status: 500, body: "{}"))
            #expect(await stripe.carry(refund) == .unreachable)
        }
    }

    @Test("PAY-05: a refund of this errand that failed is not made again; one of an earlier errand is")
    func failedBefore() async throws {
        try await Self.play { server, stripe in
            func list(_ key: String) -> HandlerServer.Reply {
                .init(
                    body: """
                        {"data":[{"status":"failed","amount":622,"failure_reason":"expired_or_canceled_card",
                        "metadata":{"errand":"\(key)"}}]}
                        """)
            }
            server.answer("GET /v1/refunds", list("0123456789abcdef"))
            #expect(await stripe.carry(job(.refund, reference: "pi_1")) == .stands(.refundRefused(reason: "expired-or-canceled-card")))
            #expect(server.lines == ["GET /v1/refunds"])
            server.answer("GET /v1/refunds", list("of another"))
            server.answer(
                "POST /v1/refunds", .init(body: #"{"status":"failed","amount":622,"currency":"eur","failure_reason":"declined"}"#))
            #expect(await stripe.carry(job(.refund, reference: "pi_1")) == .stands(.refundRefused(reason: "declined")))
            #expect(server.asked.last?.body.contains("metadata%5Berrand%5D=0123456789abcdef") == true)
        }
    }

    @Test("PAY-09: a refund of another amount or currency than was asked for is no refund")
    func otherAmount() async throws {
        try await Self.play { server, stripe in
            for body in [#""amount":500,"currency":"eur""#, #""amount":622,"currency":"usd""#, #""amount":622"#] {
                server.answer("POST /v1/refunds", .init(body: #"{"status":"succeeded",\#(body)}"#))
                let word = await stripe.carry(job(.refund, reference: "pi_1"))
                #expect(word == .stands(.refundRefused(reason: "amount-differs")), "\(body)")
            }
        }
    }

    @Test("PAY-09: a charge says how much was taken; without that nobody can say that it is paid")
    func amounts() async throws {
        try await Self.play { server, stripe in
            func intent(_ more: String) -> HandlerServer.Reply { .init(body: #"{"id":"pi_1","status":"succeeded"\#(more)}"#) }
            server.answer(
                "GET /v1/payment_intents/pi_1", intent(#","amount":622,"amount_received":600,"currency":"eur""#),
                intent(#","amount_received":62200,"currency":"isk""#), intent(#","amount_received":62250,"currency":"isk""#),
                intent(#","amount":622"#), intent(""))
            let look = job(.look, reference: "pi_1")
            #expect(await stripe.carry(look) == .succeeded(charge: nil, amount: Amount(minor: 600, currency: "EUR")))
            #expect(await stripe.carry(look) == .succeeded(charge: nil, amount: Amount(minor: 622, currency: "ISK")))
            #expect(await stripe.carry(look) == .succeeded(charge: nil, amount: Amount(minor: 62250, currency: "ISK")))
            #expect(await stripe.carry(look) == .pending)
            #expect(await stripe.carry(look) == .pending)
        }
    }

    @Test("PAY-04: a review says where the money is: ours, contested, lost, given back, or on a way that failed")
    func review() async throws {
        try await Self.play { server, stripe in
            let review = job(.review, reference: "pi_1")
            #expect(await stripe.carry(review) == .stands(.kept))
            // A bank's inquiry moves no money.
            for status in ["warning_needs_response", "warning_closed", "won"] {
                server.answer("GET /v1/disputes", Self.dispute(status))
                #expect(await stripe.carry(review) == .stands(.kept), "\(status)")
            }
            server.answer("GET /v1/disputes", Self.dispute("needs_response"))
            #expect(await stripe.carry(review) == .stands(.disputed(reason: "fraudulent")))
            server.answer("GET /v1/disputes", Self.dispute("lost"))
            #expect(await stripe.carry(review) == .stands(.lost))
            // A handler that knows no disputes has none.
            server.answer("GET /v1/disputes", .init(status: 404, body: "Not Found"))
            server.answer(
                "GET /v1/refunds", .init(body: #"{"data":[{"status":"succeeded","amount":622}]}"#),
                .init(body: #"{"data":[{"status":"succeeded","amount":100}]}"#),
                .init(body: #"{"data":[{"status":"pending","amount":622}]}"#),
                .init(body: #"{"data":[{"status":"failed","amount":622}]}"#))
            #expect(await stripe.carry(review) == .stands(.refunded))
            #expect(await stripe.carry(review) == .stands(.kept))
            #expect(await stripe.carry(review) == .pending)
            #expect(await stripe.carry(review) == .stands(.refundRefused(reason: "refund-failed")))
            server.answer("GET /v1/disputes", .init(status: 401, body: "{}"))
            #expect(await stripe.carry(review) == .unreachable)
        }
    }
}

@Suite("Where money is, by PayPal")
struct PayPalReviewTests {
    private static let capture = "3C679366HH908993F"
    private static let paths: [(Route.Method, String)] = [
        (.post, "/v1/oauth2/token"), (.get, "/v2/checkout/orders/{id}"), (.post, "/v2/checkout/orders/{id}/capture"),
        (.post, "/v2/payments/captures/{id}/refund"), (.get, "/v2/payments/captures/{id}"), (.get, "/v1/customer/disputes"),
        (.get, "/v1/customer/disputes/{id}"),
    ]

    private static func play(_ body: (HandlerServer, PayPalProvider) async throws -> Void) async throws {
        try await PayPalProvider.play(paths) { server, provider in
            server.answer("GET /v1/customer/disputes", .init(body: #"{"items":[]}"#))
            server.answer("GET /v2/payments/captures/\(capture)", .init(body: #"{"status":"COMPLETED"}"#))
            try await body(server, provider)
        }
    }

    private static func refusal(_ issue: String, _ status: Int = 422) -> HandlerServer.Reply {
        .init(status: status, body: #"{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"\#(issue)"}]}"#)
    }

    private static func dispute(_ status: String, _ outcome: String = "NONE") -> HandlerServer.Reply {
        .init(
            body: """
                {"dispute_id":"PP-D-1","status":"\(status)","reason":"UNAUTHORISED","dispute_outcome":{"outcome_code":"\(outcome)"}}
                """)
    }

    private static let refund = job(.refund, .paypal, reference: "5O190127TN364715T", charge: capture)

    @Test("PAY-05: a refund that PayPal will refuse for ever ends with its reason; what passes is asked again")
    func refused() async throws {
        try await Self.play { server, payPal in
            let path = "POST /v2/payments/captures/\(Self.capture)/refund"
            for issue in ["REFUND_TIME_LIMIT_EXCEEDED", "MAX_NUMBER_OF_REFUNDS_EXCEEDED"] {
                server.answer(path, Self.refusal(issue))
                let word = await payPal.carry(Self.refund)
                #expect(word == .stands(.refundRefused(reason: issue.lowercased().replacing("_", with: "-"))), "\(word)")
            }
            server.answer(path, Self.refusal("RESOURCE_NOT_FOUND", 404))
            #expect(await payPal.carry(Self.refund) == .stands(.refundRefused(reason: "charge-unknown")))
            for reply in [Self.refusal("PENDING_CAPTURE"), Self.refusal("NOT_AUTHORIZED", 403), .init(status: 500, body: "{}")] {
                server.answer(path, reply)
                #expect(await payPal.carry(Self.refund) == .unreachable)
            }
            server.answer(path, .init(status: 201, body: #"{"status":"FAILED","status_details":{"reason":"ECHECK"}}"#))
            #expect(await payPal.carry(Self.refund) == .stands(.refundRefused(reason: "echeck")))
        }
    }

    @Test("PAY-09: a refund of another amount than was asked for is no refund; one that completes a part given back by hand is")
    func refundedAmount() async throws {
        try await Self.play { server, payPal in
            func answer(_ value: String, total: String?) -> HandlerServer.Reply {
                let breakdown = total.map {
                    #","seller_payable_breakdown":{"total_refunded_amount":{"currency_code":"EUR","value":"\#($0)"}}"#
                }
                return .init(
                    status: 201,
                    body: #"{"status":"COMPLETED","amount":{"currency_code":"EUR","value":"\#(value)"}\#(breakdown ?? "")}"#)
            }
            server.answer(
                "POST /v2/payments/captures/\(Self.capture)/refund", answer("6.22", total: nil), answer("5.22", total: "6.22"),
                answer("5.22", total: nil), .init(status: 201, body: #"{"status":"COMPLETED"}"#))
            #expect(await payPal.carry(Self.refund) == .refunded)
            #expect(await payPal.carry(Self.refund) == .refunded)
            #expect(await payPal.carry(Self.refund) == .stands(.refundRefused(reason: "amount-differs")))
            #expect(await payPal.carry(Self.refund) == .refunded)
        }
    }

    @Test("PAY-05: a refund finds its money by the order where the capture's answer was lost; where there is none it ends")
    func chargeLost() async throws {
        try await Self.play { server, payPal in
            let order = """
                {"status":"COMPLETED","purchase_units":[{"payments":{"captures":[{"id":"\(Self.capture)","status":"COMPLETED"}]}}]}
                """
            server.answer(
                "GET /v2/checkout/orders/5O190127TN364715T", .init(body: order), .init(body: #"{"status":"CREATED"}"#),
                .init(status: 404, body: "{}"), .init(status: 500, body: "{}"))
            server.answer("POST /v2/payments/captures/\(Self.capture)/refund", .init(status: 201, body: #"{"status":"COMPLETED"}"#))
            let refund = job(.refund, .paypal, reference: "5O190127TN364715T")
            #expect(await payPal.carry(refund) == .refunded)
            #expect(await payPal.carry(refund) == .stands(.refundRefused(reason: "charge-unknown")))
            #expect(await payPal.carry(refund) == .stands(.refundRefused(reason: "charge-unknown")))
            #expect(await payPal.carry(refund) == .unreachable)
        }
    }

    @Test("PAY-04: a review says where the money is: ours, contested, lost or given back")
    func review() async throws {
        try await Self.play { server, payPal in
            let review = job(.review, .paypal, reference: "5O190127TN364715T", charge: Self.capture)
            #expect(await payPal.carry(review) == .stands(.kept))
            server.answer("GET /v1/customer/disputes", .init(body: #"{"items":[{"dispute_id":"PP-D-1","status":"OPEN"}]}"#))
            server.answer(
                "GET /v1/customer/disputes/PP-D-1", Self.dispute("WAITING_FOR_SELLER_RESPONSE"),
                Self.dispute("RESOLVED", "RESOLVED_BUYER_FAVOUR"),
                Self.dispute("RESOLVED", "RESOLVED_SELLER_FAVOUR"), Self.dispute("RESOLVED", "RESOLVED_WITH_PAYOUT"))
            #expect(await payPal.carry(review) == .stands(.disputed(reason: "unauthorised")))
            #expect(await payPal.carry(review) == .stands(.lost))
            #expect(await payPal.carry(review) == .stands(.kept))
            #expect(await payPal.carry(review) == .stands(.kept))
            // Without the permission for disputes the capture alone tells.
            server.answer("GET /v1/customer/disputes", .init(status: 403, body: "{}"))
            server.answer(
                "GET /v2/payments/captures/\(Self.capture)", .init(body: #"{"status":"REFUNDED"}"#), .init(body: #"{"status":"REVERSED"}"#),
                .init(body: #"{"status":"PENDING"}"#), .init(status: 500, body: "{}"))
            #expect(await payPal.carry(review) == .stands(.refunded))
            #expect(await payPal.carry(review) == .stands(.lost))
            #expect(await payPal.carry(review) == .pending)
            #expect(await payPal.carry(review) == .unreachable)
        }
    }

    @Test("PAY-09: an order that was captured without saying how much is looked at, and pays only by what that says")
    func capturedAmount() async throws {
        try await Self.play { server, payPal in
            server.answer("POST /v2/checkout/orders/5O190127TN364715T/capture", .init(status: 201, body: #"{"status":"COMPLETED"}"#))
            func order(_ value: String) -> HandlerServer.Reply {
                .init(
                    body: """
                        {"status":"COMPLETED","purchase_units":[{"payments":{"captures":[{"id":"\(Self.capture)","status":"COMPLETED",
                        "amount":{"currency_code":"EUR","value":"\(value)"}}]}}]}
                        """)
            }
            server.answer("GET /v2/checkout/orders/5O190127TN364715T", order("6.22"), order("62.20"), order("x"))
            let confirm = job(.confirm, .paypal, reference: "5O190127TN364715T")
            #expect(await payPal.carry(confirm) == .succeeded(charge: Self.capture, amount: Amount(minor: 622, currency: "EUR")))
            #expect(await payPal.carry(confirm) == .succeeded(charge: Self.capture, amount: Amount(minor: 6220, currency: "EUR")))
            #expect(await payPal.carry(confirm) == .pending)
        }
    }

    @Test(
        "amounts are read as PayPal writes them, and nothing else is",
        arguments: [
            ("EUR", "6.22", 622), ("EUR", "6", 600), ("EUR", "6.2", 620), ("JPY", "622", 622), ("KWD", "6.225", 6225),
            ("HUF", "622", 62200),
            ("EUR", "6.222", nil), ("JPY", "6.2", nil), ("EUR", "-1", nil), ("EUR", "", nil), ("EUR", ".5", nil), ("EUR", "1.", nil),
            ("EUR", "1e3", nil), ("EUR", "1.2.3", nil), ("EUR", "99999999999999999999", nil), ("eur", "1", nil),
        ] as [(String, String, Int64?)])
    func money(currency: String, value: String, minor: Int64?) {
        let amount = PayPalMoney.amount(.fields(["currency_code": .text(currency), "value": .text(value)]))
        #expect(amount == minor.map { Amount(minor: $0, currency: currency) })
        if let amount {
            let written = JSONTree.fields(["currency_code": .text(currency), "value": .text(PayPalMoney.value(amount))])
            #expect(PayPalMoney.amount(written) == amount)
        }
        #expect(PayPalMoney.value(Amount(minor: 62200, currency: "HUF")) == "622")
        #expect(PayPalMoney.value(Amount(minor: 622, currency: "EUR")) == "6.22")
    }

    @Test("notifications of refunds, reversals and disputes name the money in ways of their own")
    func references() throws {
        func names(_ text: String) throws -> [String] { PayPalTypes.references(try JSONTree(Array(text.utf8))) }
        #expect(
            try names(
                """
                {"event_type":"PAYMENT.CAPTURE.REFUNDED","resource":{"id":"1Y107995YT783435V","links":[
                {"rel":"self","href":"https://api.paypal.com/v2/payments/refunds/1Y107995YT783435V"},
                {"rel":"up","href":"https://api.paypal.com/v2/payments/captures/0JF852973C016714D"}]}}
                """) == ["1Y107995YT783435V", "0JF852973C016714D"])
        #expect(
            try names(
                """
                {"event_type":"CUSTOMER.DISPUTE.CREATED","resource":{"dispute_id":"PP-D-1","disputed_transactions":[
                {"seller_transaction_id":"3C679366HH908993F"}]}}
                """) == ["3C679366HH908993F"])
        #expect(
            try names(#"{"resource":{"id":"a","supplementary_data":{"related_ids":{"order_id":"b","capture_id":"c"}}}}"#) == [
                "a", "b", "c",
            ])
        #expect(try names("[]").isEmpty && names(#"{"resource":{"id":"\#(String(repeating: "x", count: 65))"}}"#).isEmpty)
    }
}
