// Stripe's API as the gateway uses it, against answers as Stripe gives them; localstripe stands for it in Tests/Interop.

import Contracts
import Foundation
import HTTPKit
import Sealing
import Testing

@testable import ThirdPartyGateway

private let paid = Amount(minor: 622, currency: "EUR")

@Suite("Stripe")
struct StripeProviderTests {
    private static let paths: [(Route.Method, String)] = [
        (.post, "/v1/payment_intents"), (.get, "/v1/payment_intents/{id}"), (.post, "/v1/payment_intents/{id}"),
        (.post, "/v1/payment_intents/{id}/confirm"), (.post, "/v1/payment_intents/{id}/cancel"), (.get, "/v1/refunds"),
        (.post, "/v1/refunds"), (.get, "/v1/disputes"),
    ]

    private static func play(_ body: (HandlerServer, StripeProvider) async throws -> Void) async throws {
        try await HandlerServer.play(paths, keyHeader: "Idempotency-Key") { server in
            try await body(
                server, StripeProvider(url: server.url, secret: "sk_test_x", publishableKey: "pk_test_x", calls: server.calls()))
        }
    }

    private static func intent(_ status: String, _ more: String = "") -> HandlerServer.Reply {
        .init(
            body:
                #"{"id":"pi_1","object":"payment_intent","client_secret":"pi_1_secret_2","amount":622,"currency":"eur","status":"\#(status)"\#(more)}"#
        )
    }

    private static let declinedCard = HandlerServer.Reply(
        status: 402,
        body: #"{"error":{"type":"card_error","code":"card_declined","decline_code":"insufficient_funds","message":"No."}}"#)

    @Test("PAY-05: an intent is opened with the amount, the currency and the errand's own Idempotency-Key")
    func open() async throws {
        try await Self.play { server, stripe in
            server.answer("POST /v1/payment_intents", Self.intent("requires_payment_method"))
            let word = await stripe.carry(job(.open))
            #expect(
                word
                    == .opened(
                        reference: "pi_1", step: PayerStep(clientSecret: "pi_1_secret_2", publishableKey: "pk_test_x"), amount: paid))
            let asked = try #require(server.asked.first)
            #expect(asked.key == "0123456789abcdef" && asked.authorization == "Bearer sk_test_x")
            #expect(
                asked.body.hasPrefix("amount=622&currency=eur&payment_method_types%5B%5D=card&metadata%5Bpayment%5D=\(PaymentID(bits: 9))"))
        }
    }

    @Test("PAY-02: an amount that Stripe refuses is not feasible; a wrong key of ours is not the payer's affair")
    func refused() async throws {
        try await Self.play { server, stripe in
            server.answer(
                "POST /v1/payment_intents", .init(status: 400, body: #"{"error":{"code":"amount_too_small","message":"…"}}"#),
                .init(status: 401, body: #"{"error":{"message":"Invalid API Key"}}"#),
                .init(status: 429, body: "{}"), .init(status: 500, body: "oops"), .init(status: 409, body: "{}"))
            #expect(await stripe.carry(job(.open)) == .ended(reason: "amount-too-small"))
            for _ in 0..<4 { #expect(await stripe.carry(job(.open)) == .unreachable) }
        }
    }

    @Test("PAY-05: with a token the intent gets it and is confirmed")
    func confirm() async throws {
        try await Self.play { server, stripe in
            server.answer("GET /v1/payment_intents/pi_1", Self.intent("requires_payment_method"))
            server.answer("POST /v1/payment_intents/pi_1", Self.intent("requires_confirmation"))
            server.answer("POST /v1/payment_intents/pi_1/confirm", Self.intent("succeeded", #","latest_charge":"ch_1""#))
            #expect(await stripe.carry(job(.confirm, reference: "pi_1", token: "pm_card")) == .succeeded(charge: "ch_1", amount: paid))
            #expect(
                server.lines == [
                    "GET /v1/payment_intents/pi_1", "POST /v1/payment_intents/pi_1", "POST /v1/payment_intents/pi_1/confirm",
                ])
            #expect(server.asked[1].body == "payment_method=pm_card" && server.asked[2].key == "0123456789abcdef")
        }
    }

    @Test("PAY-09: an intent that has succeeded before is not confirmed again, whoever has forgotten the key")
    func confirmedBefore() async throws {
        try await Self.play { server, stripe in
            server.answer("GET /v1/payment_intents/pi_1", Self.intent("succeeded", #","latest_charge":{"id":"ch_1"}"#))
            #expect(await stripe.carry(job(.confirm, reference: "pi_1", token: "pm_card")) == .succeeded(charge: "ch_1", amount: paid))
            #expect(server.lines == ["GET /v1/payment_intents/pi_1"])
            // Between the look and the confirmation.
            server.answer(
                "GET /v1/payment_intents/pi_1", Self.intent("requires_confirmation"), Self.intent("succeeded"))
            server.answer("POST /v1/payment_intents/pi_1", Self.intent("succeeded"))
            server.answer(
                "POST /v1/payment_intents/pi_1/confirm",
                .init(status: 400, body: #"{"error":{"code":"payment_intent_unexpected_state"}}"#))
            #expect(await stripe.carry(job(.confirm, reference: "pi_1", token: "pm_card")) == .succeeded(charge: nil, amount: paid))
        }
    }

    @Test("PAY-09: money of a payment that a restored store has forgotten is found, unless it went back, is contested or is known")
    func forgotten() async throws {
        try await Self.play { server, stripe in
            func found(_ id: String, _ charge: String) -> String {
                #"{"id":"\#(id)","amount":622,"currency":"eur","status":"succeeded","latest_charge":\#(charge)}"#
            }
            let list = [
                found("pi_1", #"{"refunded":true}"#), found("pi_2", #"{"refunded":false,"disputed":true}"#), found("pi_3", "null"),
                found("pi_4", #"{"refunded":false,"disputed":false}"#),
            ]
            server.answer(
                "GET /v1/payment_intents/search", .init(body: #"{"data":[\#(list.joined(separator: ","))]}"#), .init(body: #"{"data":[]}"#),
                .init(status: 400, body: "{}"), .init(status: 401, body: "{}"), .init(status: 500, body: "oops"))
            let payment = PaymentID(bits: 9)
            #expect(await stripe.forgotten(payment, besides: ["pi_3"]) == .paid(reference: "pi_4", amount: paid))
            for _ in 0..<2 { #expect(await stripe.forgotten(payment, besides: []) == .unknown) }
            for _ in 0..<2 { #expect(await stripe.forgotten(payment, besides: []) == .unreachable) }
        }
    }

    @Test("PAY-05: a declined card says why; one that needs its holder waits for the holder")
    func declined() async throws {
        try await Self.play { server, stripe in
            server.answer("GET /v1/payment_intents/pi_1", Self.intent("requires_payment_method"))
            server.answer("POST /v1/payment_intents/pi_1", Self.intent("requires_confirmation"))
            server.answer(
                "POST /v1/payment_intents/pi_1/confirm", Self.declinedCard,
                Self.intent("requires_action", #","next_action":{"type":"use_stripe_sdk"}"#), Self.intent("processing"))
            let call = job(.confirm, reference: "pi_1", token: "pm_card")
            #expect(await stripe.carry(call) == .declined(reason: "insufficient-funds"))
            #expect(await stripe.carry(call) == .needsPayer(nil))
            #expect(await stripe.carry(call) == .pending)
        }
    }

    @Test("UI-14: a token that Stripe does not know is no declined card")
    func unknownToken() async throws {
        try await Self.play { server, stripe in
            server.answer("GET /v1/payment_intents/pi_1", Self.intent("requires_payment_method"))
            server.answer(
                "POST /v1/payment_intents/pi_1",
                .init(status: 400, body: #"{"error":{"code":"resource_missing","param":"payment_method"}}"#),
                .init(status: 404, body: #"{"error":{"type":"invalid_request_error","message":"Not Found"}}"#))
            for _ in 0..<2 {
                #expect(
                    await stripe.carry(job(.confirm, reference: "pi_1", token: "pm_nobody"))
                        == .declined(reason: StripeProvider.unknownToken))
            }
        }
    }

    @Test("PAY-09: what cannot be cancelled has charged or is charging; what is cancelled charges nothing")
    func cancel() async throws {
        try await Self.play { server, stripe in
            server.answer(
                "POST /v1/payment_intents/pi_1/cancel", Self.intent("canceled"), .init(status: 400, body: #"{"error":{}}"#))
            server.answer(
                "GET /v1/payment_intents/pi_1", Self.intent("succeeded"), Self.intent("processing"), Self.intent("canceled"),
                Self.intent("requires_action"))
            let call = job(.cancel, reference: "pi_1")
            #expect(await stripe.carry(call) == .ended(reason: "cancelled"))
            #expect(await stripe.carry(call) == .succeeded(charge: nil, amount: paid))
            #expect(await stripe.carry(call) == .pending)
            #expect(await stripe.carry(call) == .ended(reason: "cancelled"))
            #expect(await stripe.carry(call) == .unreachable, "it is open still: cancelled again later")
        }
    }

    @Test("PAY-09: a refund is made once; one that is there already is the refund")
    func refund() async throws {
        try await Self.play { server, stripe in
            server.answer("GET /v1/refunds", .init(body: #"{"data":[]}"#), .init(body: #"{"data":[{"status":"succeeded","amount":622}]}"#))
            server.answer("POST /v1/refunds", .init(body: #"{"id":"re_1","status":"succeeded","amount":622,"currency":"eur"}"#))
            #expect(await stripe.carry(job(.refund, reference: "pi_1")) == .refunded)
            #expect(server.asked.last?.body.hasPrefix("payment_intent=pi_1") == true && server.asked.last?.key == "0123456789abcdef")
            server.forget()
            #expect(await stripe.carry(job(.refund, reference: "pi_1")) == .refunded)
            #expect(server.lines == ["GET /v1/refunds"])
            server.answer("GET /v1/refunds", .init(body: #"{"data":[]}"#))
            server.answer(
                "POST /v1/refunds", .init(status: 400, body: #"{"error":{"code":"charge_already_refunded"}}"#),
                .init(body: #"{"status":"pending","amount":622,"currency":"eur"}"#))
            #expect(await stripe.carry(job(.refund, reference: "pi_1")) == .refunded)
            #expect(await stripe.carry(job(.refund, reference: "pi_1")) == .pending)
        }
    }

    @Test("PAY-09: a part that was given back by hand is not taken for the whole; the rest is given back too")
    func partOfARefund() async throws {
        try await Self.play { server, stripe in
            server.answer(
                "GET /v1/refunds", .init(body: #"{"data":[{"status":"succeeded","amount":100}]}"#),
                .init(body: #"{"data":[{"status":"succeeded","amount":100},{"status":"pending","amount":522}]}"#),
                .init(body: #"{"data":[{"status":"succeeded","amount":100},{"status":"failed","amount":522}]}"#),
                .init(body: #"{"data":[{"status":"succeeded","amount":100},{"status":"succeeded","amount":522}]}"#))
            server.answer("POST /v1/refunds", .init(body: #"{"id":"re_2","status":"pending","amount":522,"currency":"eur"}"#))
            let call = job(.refund, reference: "pi_1")
            #expect(await stripe.carry(call) == .pending, "asked for; not there yet")
            #expect(server.lines == ["GET /v1/refunds", "POST /v1/refunds"])
            #expect(await stripe.carry(call) == .pending && server.lines.count == 3, "it is on its way")
            #expect(await stripe.carry(call) == .pending && server.lines.count == 5, "that of somebody else failed: asked for")
            #expect(await stripe.carry(call) == .refunded && server.lines.count == 6)
        }
    }

    @Test("PAY-05: nobody listens: nobody knows")
    func silence() async throws {
        try await Self.play { server, stripe in
            let away = StripeProvider(url: "http://127.0.0.1:1", secret: "sk", publishableKey: "", calls: server.calls())
            for kind in PaymentJob.Kind.allCases {
                #expect(await away.carry(job(kind, reference: "pi_1", token: "pm_card")) == .unreachable)
            }
        }
    }
}

@Suite("Stripe's notifications")
struct StripeEventTests {
    private static let secret = Array("whsec_test".utf8)
    private static let now = Timestamp(milliseconds: 1_767_312_000_000)
    private static let body = Array(#"{"type":"payment_intent.succeeded"}"#.utf8)

    private static func header(_ seconds: Int64, _ body: [UInt8] = body, secret: [UInt8] = secret) -> String {
        let signature = Digest.hmacSHA256(Array("\(seconds).".utf8) + body, keyBytes: secret)
        return "t=\(seconds),v1=\(Hex.encode(signature))"
    }

    @Test("a notification is believed by its signature, within five minutes, and by nothing else")
    func signature() {
        let stripe = StripeSignature(secret: Self.secret)
        let seconds = Self.now.milliseconds / 1000
        func verifies(_ header: String, _ body: [UInt8] = Self.body) -> Bool { stripe.verifies(header, body: body, at: Self.now) }
        #expect(verifies(Self.header(seconds)))
        #expect(verifies(Self.header(seconds - 300)) && verifies(Self.header(seconds + 300)))
        #expect(!verifies(Self.header(seconds - 301)) && !verifies(Self.header(seconds + 301)))
        #expect(!verifies(Self.header(seconds), Array("{}".utf8)))
        #expect(!verifies(Self.header(seconds, secret: Array("whsec_other".utf8))))
        // While a secret is being changed there are two signatures; other schemes are passed over.
        #expect(verifies("v0=00," + Self.header(seconds).replacing(",v1=", with: ",v1=00ff,v1=")))
        // The first time counts: it is the one that a forger cannot choose together with the signature.
        #expect(!verifies("t=\(seconds - 10_000)," + Self.header(seconds)))
        for text in ["", "t=,v1=", "t=\(seconds)", "v1=00", "t=1e9,v1=00", "t=-5,v1=00", "nonsense", "t=99999999999999999999,v1=00"] {
            #expect(!verifies(text))
        }
    }

    private static let said: [(String, ProviderStatus?)] = [
        (
            """
            {"type":"payment_intent.succeeded","data":{"object":{"id":"pi_1","amount_received":622,"currency":"eur","status":"succeeded",
            "latest_charge":"ch_1"}}}
            """,
            .succeeded(charge: "ch_1", amount: paid)
        ),
        (
            #"{"type":"payment_intent.payment_failed","data":{"object":{"id":"pi_1","last_payment_error":{"code":"expired_card"}}}}"#,
            .declined(reason: "expired-card")
        ),
        (#"{"type":"payment_intent.canceled","data":{"object":{"id":"pi_1","status":"canceled"}}}"#, .ended(reason: "cancelled")),
        (#"{"type":"charge.refunded","data":{"object":{"id":"ch_1","payment_intent":"pi_1","refunded":true}}}"#, nil),
        (#"{"type":"refund.failed","data":{"object":{"id":"re_1","payment_intent":"pi_1","status":"failed"}}}"#, nil),
        (#"{"type":"charge.refund.updated","data":{"object":{"id":"re_1","payment_intent":"pi_1","status":"failed"}}}"#, nil),
        (#"{"type":"charge.dispute.created","data":{"object":{"id":"dp_1","charge":"ch_1","payment_intent":"pi_1"}}}"#, nil),
        (#"{"type":"charge.dispute.closed","data":{"object":{"id":"dp_1","charge":"pi_1","status":"lost"}}}"#, nil),
    ]

    @Test("what notifications say of which process; what comes after a charge only asks to look at it", arguments: said)
    func events(text: String, word: ProviderStatus?) {
        let event = StripeEvent(Array(text.utf8))
        #expect(event?.reference == "pi_1" && event?.word == word)
    }

    @Test(
        "notifications of something else, or of nothing, say nothing",
        arguments: [
            "", "[]", "{}", "null", #"{"type":"customer.created","data":{"object":{"id":"cus_1"}}}"#,
            #"{"type":"payment_intent.succeeded","data":{"object":{}}}"#,
            #"{"type":"charge.refunded","data":{"object":{"id":"ch_1"}}}"#,
        ])
    func others(text: String) {
        #expect(StripeEvent(Array(text.utf8)) == nil)
    }

    @Test("a handler's reason is passed on only where it is a short word")
    func reasons() {
        #expect(HandlerCalls.reason("insufficient_funds", else: "x") == "insufficient-funds")
        for text in [nil, "", "Mario Rossi, card 4242", String(repeating: "a", count: 65), "ä"] {
            #expect(HandlerCalls.reason(text, else: "x") == "x")
        }
    }
}
