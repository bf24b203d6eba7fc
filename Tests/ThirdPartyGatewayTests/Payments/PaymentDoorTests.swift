// Prices, payments and invoices over HTTP, and what handlers tell by themselves.

import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import Outbound
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import ThirdPartyGateway

/// The routes of a harness behind a real server; a token is an organisation's id with its rights.
private struct Door: Sendable {
    let port: Int
    private let sender: HTTPSender

    static func play(
        _ environment: [String: String] = [:], _ body: (PaymentHarness, Door) async throws -> Void
    ) async throws {
        try await PaymentHarness.play(environment) { harness in
            let server = HTTPServer(
                .init(title: "Payments", version: "1", summary: "For tests.", prefix: "thirdparty"), routes: harness.parts.routes, port: 0,
                health: Health(missing: { [] }, metrics: { "" }), authenticate: Self.authenticate, logger: PaymentHarness.quiet)
            let running = Running([server])
            try await withHarness(Door(port: await server.boundPort), { door in try await body(harness, door) }) { _ in await running.stop()
            }
        }
    }

    private init(port: Int) {
        (self.port, sender) = (port, .anywhere())
    }

    private static let authenticate: Authenticate = { credentials, _ in
        let parts = credentials.bearer.split(separator: ".")
        guard let first = parts.first, let organisation = OrganisationID(first) else { throw Problem.unauthorised }
        let rights: Set<String> = parts.count > 1 ? ["payments:read"] : ["payments:read", "payments:write"]
        return .client(ClientID(bits: 1), organisation, scopes: rights)
    }

    static func token(_ organisation: OrganisationID = PaymentHarness.organisation, readOnly: Bool = false) -> String {
        "\(organisation)" + (readOnly ? ".read" : "")
    }

    func call(
        _ method: String, _ path: String, as token: String? = token(), _ body: String? = nil, headers: [(name: String, value: String)] = []
    ) async throws -> (status: Int, body: JSONTree, text: String) {
        var request = OutboundRequest(
            url: "http://127.0.0.1:\(port)\(path)", method: method, headers: headers, body: Array((body ?? "").utf8), timeout: .seconds(30))
        if let token { request.headers.append((name: "Authorization", value: "Bearer \(token)")) }
        if body != nil { request.headers.append((name: "Content-Type", value: "application/json")) }
        let response = try await sender.send(request)
        let json = (try? JSONTree(response.body)) ?? .null
        return (response.status, json, String(decoding: response.body, as: UTF8.self))
    }
}

extension JSONTree {
    fileprivate var problem: String? { self["type"].text.map { String($0.dropFirst(Problem.prefix.count)) } }
}

@Suite("Doors of payments")
struct PaymentDoorTests {
    @Test("PAY-01: prices and quotes are shown before anybody commits; wrong fields are named")
    func quotes() async throws {
        try await Door.play { harness, door in
            let free = try await door.call("GET", "/thirdparty/v1/prices", as: nil)
            #expect(free.status == 200 && free.body["version"].integer == 0)
            try await harness.setPrices()
            let prices = try await door.call("GET", "/thirdparty/v1/prices", as: nil)
            #expect(prices.body["version"].integer == 1 && prices.body["prices"]["perRequest"].integer == 500)
            #expect(try await door.call("GET", "/thirdparty/v1/prices?version=7", as: nil).status == 404)
            let asked = #"{"types":["heart-rate"],"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z","granularity":"minutes","#
            let quote = try await door.call("POST", "/thirdparty/v1/quotes", as: nil, asked + #""persons":3}"#)
            #expect(quote.status == 200 && quote.body["perPerson"]["minor"].integer == 622)
            #expect(quote.body["total"]["decimal"].text == "18.66" && quote.body["priceListVersion"].integer == 1)
            let length = asked.replacing(#""to":"2026-01-02T00:00:00Z""#, with: #""length":"P1D""#) + #""persons":3}"#
            let same = try await door.call("POST", "/thirdparty/v1/quotes", as: nil, length)
            #expect(same.status == 200 && same.body == quote.body, "a length says the same as a request's: \(same.text)")
            for (body, pointer) in [
                (length.replacing("P1D", with: "P1X"), "/length"), (asked + #""length":"P1D"}"#, "/to"),
                (asked.replacing("2026-01-02", with: "2025-01-02") + #""persons":1}"#, "/to"),
                (asked + #""persons":0}"#, "/persons"), (asked.replacing("heart-rate", with: "telepathy") + #""persons":1}"#, "/types/0"),
                (asked.replacing("2026-01-01T", with: "yesterday") + #""persons":1}"#, "/from"),
            ] {
                let refused = try await door.call("POST", "/thirdparty/v1/quotes", as: nil, body)
                #expect(refused.status == 422 && refused.body["errors"].items.first?["pointer"].text == pointer, "\(refused.text)")
            }
        }
    }

    @Test("PAY-01: a period that begins in 1969 or lasts eleven years had a price although no request for it is taken")
    func quotesOfNoRequest() async throws {
        try await Door.play { harness, door in
            try await harness.setPrices()
            let now = Timestamp.now
            let (past, ahead) = (now - .seconds(86_400), now + .seconds(11 * 366 * 86_400))
            for (from, period, pointer) in [
                ("1969-12-31T00:00:00Z", #""length":"P1D""#, "/from"), (now.rfc3339, #""length":"P11Y""#, "/to"),
                (past.rfc3339, #""to":"\#(ahead.rfc3339)""#, "/to"),
            ] {
                let body = #"{"types":["heart-rate"],"granularity":"minutes","from":"\#(from)",\#(period)}"#
                let refused = try await door.call("POST", "/thirdparty/v1/quotes", as: nil, body)
                #expect(refused.status == 422 && refused.body["errors"].items.map { $0["pointer"].text } == [pointer], "\(refused.text)")
            }
            let body = #"{"types":["heart-rate"],"granularity":"minutes","from":"1970-01-01T00:00:00Z","to":"\#(past.rfc3339)"}"#
            #expect(try await door.call("POST", "/thirdparty/v1/quotes", as: nil, body).status == 200)
        }
    }

    @Test("PAY-06, ORG-14: the form presets the preferred method until another one is begun, and pays by it where none is named")
    func preset() async throws {
        try await Door.play { harness, door in
            try await harness.setPrices()
            let request = try await harness.request()
            let path = "/thirdparty/v1/payments/\(try await harness.bill(request).payment)"
            #expect(try await door.call("GET", path).body["preset"] == .null, "nobody is shown how to pay before it is due")
            #expect(try await door.call("POST", path + "/attempts", "{}").body.problem == "payment-not-due")
            try await harness.accept(request)
            #expect(try await door.call("GET", path).body["preset"].text == "card")
            #expect(try await door.call("POST", path + "/attempts", #"{"method":"paypal"}"#).status == 200)
            #expect(try await door.call("GET", path).body["preset"].text == "paypal", "what was begun keeps its method")
            #expect(try await door.call("DELETE", path + "/attempts").status == 200)
            let paid = try await door.call("POST", path + "/attempts", #"{"paymentMethod":"pm_good"}"#)
            #expect(paid.body["status"].text == "paid" && paid.body["attempt"]["method"].text == "card", "\(paid.text)")
            #expect(paid.body["preset"] == .null)
            #expect(try await door.call("POST", path + "/attempts", "{}").body["status"].text == "paid", "nobody pays twice")
            #expect(harness.card.charges == 1)
        }
    }

    @Test("PAY-03, PAY-05, PAY-07: what is open is listed, paid by a token, and listed as made")
    func paying() async throws {
        try await Door.play { harness, door in
            try await harness.setPrices()
            let (first, second) = (try await harness.request(), try await harness.request())
            try await harness.accept(first)
            let list = try await door.call("GET", "/thirdparty/v1/payments?show=open")
            #expect(list.body["items"].items.map { $0["request"].text } == ["\(second.id)", "\(first.id)"])
            #expect(list.body["items"].items.map { $0["status"].text } == ["not-due", "due"])
            #expect(list.body["items"].items[0]["step"] == .null, "nobody is shown how to pay before it is due")
            let path = "/thirdparty/v1/payments/\(try await harness.bill(first).payment)"
            #expect(try await door.call("POST", path + "/attempts", #"{"method":"card","paymentMethod":"4242 4242"}"#).status == 422)
            let form = try await door.call("POST", path + "/attempts", #"{"method":"card"}"#)
            #expect(form.status == 200 && form.body["step"]["clientSecret"].text == "process1_secret")
            harness.card.become(.declines("card-declined"))
            let declined = try await door.call("POST", path + "/attempts", #"{"method":"card","paymentMethod":"pm_bad"}"#)
            #expect(declined.status == 402 && declined.body.problem == "payment-declined")
            #expect(declined.body["detail"].text?.contains("card-declined") == true)
            harness.card.become(.willing)
            let paid = try await door.call("POST", path + "/attempts", #"{"method":"card","paymentMethod":"pm_good"}"#)
            #expect(paid.status == 200 && paid.body["status"].text == "paid" && paid.body["invoice"].text == "2026-000001")
            let made = try await door.call("GET", "/thirdparty/v1/payments?show=made&request=\(first.id)&limit=1")
            #expect(made.body["items"].items.count == 1 && made.body["next"] == .null)
            #expect(try await door.call("GET", "/thirdparty/v1/payments?status=paid").body["items"].items.count == 1)
            #expect(try await door.call("GET", "/thirdparty/v1/payments?from=2030-01-01T00:00:00Z").body["items"].items.isEmpty)
            let page = try await door.call("GET", "/thirdparty/v1/payments?limit=1")
            let next = try #require(page.body["next"].text)
            #expect(try await door.call("GET", "/thirdparty/v1/payments?limit=1&after=\(next)").body["items"].items.count == 1)
        }
    }

    @Test("PAY-05: what is tried too early, too late, by a method that is not there or while the handler is away is told so")
    func refusals() async throws {
        try await Door.play { harness, door in
            try await harness.setPrices()
            let request = try await harness.request()
            let path = "/thirdparty/v1/payments/\(try await harness.bill(request).payment)/attempts"
            #expect(try await door.call("POST", path, #"{"method":"card"}"#).body.problem == "payment-not-due")
            try await harness.accept(request)
            harness.payPal.become(.away)
            let away = try await door.call("POST", path, #"{"method":"paypal"}"#)
            #expect(away.status == 503 && away.body.problem == "payment-handler-unreachable")
            let off = try await door.call("DELETE", path)
            #expect(off.status == 200 && off.body["attempt"]["state"].text == "cancelled" && off.body["status"].text == "due")
            let transfer = try await door.call("POST", path, #"{"method":"bank-transfer"}"#)
            #expect(transfer.body["step"]["iban"].text?.hasPrefix("IT60") == true)
            try await harness.close(request, as: .revoked)
            #expect(try await door.call("POST", path, #"{"method":"card"}"#).body.problem == "payment-over")
            #expect(try await door.call("POST", path, #"{"method":"cash"}"#).status == 422)
        }
        try await Door.play(["TRACKME_PAY_BANK_IBAN": ""]) { harness, door in
            try await harness.setPrices()
            _ = try await harness.accepted()
            #expect(harness.parts.repository.paymentStore.providers.methods.count == 3)
        }
    }

    @Test("PAY-06, PAY-08: an invoice is read as JSON and printed as a page; nothing of it is shown to others")
    func invoices() async throws {
        try await Door.play { harness, door in
            try await harness.setPrices()
            let request = try await harness.accepted()
            let payment = try await harness.pay(request).stored.bill.payment
            let list = try await door.call("GET", "/thirdparty/v1/invoices")
            #expect(list.body["items"].items.map { $0["invoice"].text } == ["2026-000001"])
            let json = try await door.call("GET", "/thirdparty/v1/invoices/2026-000001")
            #expect(json.body["buyer"]["name"].text == "Cardiolab" && json.body["buyer"]["address"]["city"].text == "Milano")
            #expect(json.body["net"].integer == 510 && json.body["tax"].integer == 112 && json.body["total"]["minor"].integer == 622)
            let page = try await door.call(
                "GET", "/thirdparty/v1/invoices/2026-000001", headers: [(name: "Accept", value: "text/html")])
            #expect(page.status == 200 && page.text.contains("Fattura 2026-000001") && page.text.contains("6.22 EUR"))
            #expect(page.text.contains("Frequenza cardiaca") && page.text.contains("Via Larga 1, 20122 Milano, IT"))
            let stranger = Door.token(OrganisationID(bits: 5))
            for path in ["invoices/2026-000001", "payments/\(payment)", "invoices/2026-000002", "invoices/x", "payments/pay_x"] {
                #expect(try await door.call("GET", "/thirdparty/v1/\(path)", as: stranger).status == 404, "\(path)")
            }
            #expect(
                try await door.call("POST", "/thirdparty/v1/payments/\(payment)/attempts", as: stranger, #"{"method":"card"}"#).status
                    == 404)
            #expect(try await door.call("DELETE", "/thirdparty/v1/payments/\(payment)/attempts", as: stranger).status == 404)
            for path in ["invoices", "payments"] {
                #expect(try await door.call("GET", "/thirdparty/v1/\(path)", as: stranger).body["items"].items.isEmpty)
                #expect(try await door.call("GET", "/thirdparty/v1/\(path)", as: nil).status == 401)
            }
            let reader = Door.token(readOnly: true)
            #expect(
                try await door.call("POST", "/thirdparty/v1/payments/\(payment)/attempts", as: reader, #"{"method":"card"}"#).status == 403)
        }
    }

    @Test("PAY-09: Stripe's notifications are taken only with their signature, and PayPal's are only a hint")
    func notifications() async throws {
        try await Door.play { harness, door in
            let event = #"{"type":"payment_intent.succeeded","data":{"object":{"id":"process1","status":"succeeded"}}}"#
            let path = "/thirdparty/v1/providers/stripe/events"
            // No secret is set in this harness: nothing can be believed.
            let signed = [(name: StripeSignature.header, value: "t=1,v1=00")]
            let refused = try await door.call("POST", path, as: nil, event, headers: signed)
            #expect(refused.status == 400 && refused.body.problem == "signature-refused")
            #expect(try await door.call("POST", path, as: nil, event).status == 400)
            let hint = #"{"event_type":"CHECKOUT.ORDER.APPROVED","resource":{"id":"unknown"}}"#
            #expect(try await door.call("POST", "/thirdparty/v1/providers/paypal/events", as: nil, hint).status == 204)
            #expect(try await door.call("POST", "/thirdparty/v1/providers/paypal/events", as: nil, "[]").status == 204)
            #expect(try await harness.waiting() == 0)
        }
    }

    @Test("PAY-09: a notification with the right signature pays, and again changes nothing")
    func signedNotification() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            try await harness.pay(request, token: nil)
            let text = """
                {"type":"payment_intent.succeeded","data":{"object":{"id":"process1","status":"succeeded","amount_received":622,
                "currency":"eur"}}}
                """
            let event = try #require(StripeEvent(Array(text.utf8)))
            let word = try #require(event.word)
            for _ in 0..<2 { try await harness.parts.jobs.receive("scripted", event.reference, word) }
            #expect(try await harness.isPaid(request))
            #expect(try await harness.invoices().count == 1)
        }
    }

    @Test("PAY-05: a payer who comes back from PayPal finds a page, not a door that asks for a token; nothing of a payment is shown there")
    func backFromPayPal() async throws {
        try await Door.play { harness, door in
            let path = ProviderRoutes.payPalReturn
            let back = try await door.call("GET", "\(path)?token=5O190127TN364715T&PayerID=QYR5Z8XDVJNXQ", as: nil)
            #expect(back.status == 200 && back.text.contains("Back from PayPal") && !back.text.contains("5O190127TN364715T"))
            let italian = try await door.call("GET", path, as: nil, headers: [(name: "Accept-Language", value: "it")])
            #expect(italian.status == 200 && italian.text.contains("Ritorno da PayPal"))
            let cancelled = try await door.call("GET", "\(path)?cancelled=1&token=5O190127TN364715T", as: nil)
            #expect(cancelled.status == 200 && cancelled.text.contains("Nothing was paid"))
            #expect(try await harness.waiting() == 0, "what nobody here has begun is not asked for")
        }
    }

    @Test("prices, payments and invoices are described: every route has an answer and says which right it needs")
    func described() async throws {
        try await PaymentHarness.play { harness in
            for route in harness.parts.routes where route.access == .organisation {
                #expect(route.description.contains("Needs `payments:"), "\(route.path)")
            }
            #expect(
                harness.parts.routes.filter { $0.access == .anyone }.map(\.path).sorted() == [
                    "/thirdparty/v1/prices", "/thirdparty/v1/providers/paypal/events", "/thirdparty/v1/providers/paypal/return",
                    "/thirdparty/v1/providers/stripe/events", "/thirdparty/v1/quotes",
                ])
        }
    }
}
