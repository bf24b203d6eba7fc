// The gateway beside the other services of a story, and the organisation that knocks at it: registers, asks, pays, reads.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import ServiceLifecycle
import TestKit
import Testing

@testable import Operator
@testable import ThirdPartyGateway

/// The gateway beside the other services of a story, and an organisation that knocks at it.
struct Hospital: Sendable {
    static let address = "office@ospedale.example"
    static let password = "una frase che ricordo"
    /// Twelve euro for whatever is asked of one person.
    static let price = PriceList(currency: "EUR", perRequest: 1200, usual: .init(seconds: 0, minutes: 0, hours: 0))

    let suite: StorySuite
    let parts: GatewayModule
    let mail: MailPeer
    /// The gateway's own, for what it asks the others by the bus.
    let runtime: Runtime
    let port: Int
    var token: String?

    /// Runs `body` with the gateway up beside everything else.
    /// - Parameter further: settings over those of these stories.
    static func with(_ further: [String: String] = [:], _ body: (inout Hospital) async throws -> Void) async throws {
        let mail = MailPeer()
        let own = [
            "TRACKME_NOTIFY_SMTP_URL": mail.url, "TRACKME_NOTIFY_SMTP_TLS": "false", "TRACKME_PAY_BANK_IBAN": "IT60X0542811101000000123456",
            "TRACKME_PAY_BANK_HOLDER": "TrackMe", "TRACKME_ORG_WEBHOOK_PRIVATE": "true",
        ]
        let settings = own.merging(further) { $1 }
        try await StorySuite.with(settings, hasGateway: false) { suite in
            let environment = suite.layout.environment(of: .thirdPartyGateway, httpPort: 0).merging(settings) { $1 }
            let runtime = try suite.harness.runtime(.thirdPartyGateway, under: environment)
            var reader = SettingsReader(environment: environment)
            let parts = try await GatewayModule(GatewayAssembly.settings(&reader), on: runtime)
            suite.harness.start(parts.services)
            var hospital = Hospital(suite: suite, parts: parts, mail: mail, runtime: runtime, port: await parts.server.boundPort)
            try await body(&hospital)
        }
    }

    static func withRegistered(_ further: [String: String] = [:], _ body: (inout Hospital) async throws -> Void) async throws {
        try await with(further) { hospital in
            try await hospital.registered()
            try await body(&hospital)
        }
    }

    func call(_ method: String, _ path: String, _ body: Any? = nil, type: String = "application/json") async throws -> HarnessAnswer {
        let client = HarnessClient(port: port)
        let bytes = try body.map { body in
            try (body as? String).map { Data($0.utf8) } ?? JSONSerialization.data(withJSONObject: body)
        }
        return try await client.send(
            client.request(method, "/thirdparty/v1" + path, token: token, body: bytes, type: bytes == nil ? nil : type))
    }

    // MARK: Its account

    static func form() -> [String: Any] {
        organisationForm(
            name: "Ospedale Maggiore", email: Self.address, sector: "health care", description: "A hospital.", password: Self.password,
            terms: OrganisationConditions.version)
    }

    /// The text of the mails that have arrived at an address, decoded.
    func mails(to address: String = Self.address) -> [String] {
        mail.mails.filter { $0.to.contains { $0.contains(address) } }
            .map { $0.text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }

    /// The mail's link is followed, and the first member logs in at consent.
    mutating func confirmAndLogIn() async throws {
        let waiting = self
        let link = try await eventually("the confirmation mail arrives") {
            waiting.mails().lazy.compactMap { $0.firstMatch(of: /organisations\/confirm\/([A-Za-z0-9_-]+)/)?.1 }.first.map(String.init)
        }
        let confirmed = try await call("POST", "/organisations/confirmations", ["token": link])
        try #require(confirmed.status == 200, "\(confirmed.text)")
        token = try await eventually("the first member can log in") { try await waiting.logIn() }
        let known = self
        try await eventually("the gateway knows the log-in") { try await known.call("GET", "/organisation").status == 200 }
    }

    mutating func registered() async throws {
        _ = try await suite.ask(SetPrices(prices: Self.price))
        let answer = try await call("POST", "/organisations", Self.form())
        try #require(answer.status == 201, "\(answer.text)")
        try await confirmAndLogIn()
    }

    /// The access token of a new session; nil where the log-in is refused.
    func logIn(_ login: String = Self.address, _ password: String = Self.password) async throws -> String? {
        let said = try await HarnessClient(suite.consent).logIn(login, password)
        return said.status == 200 ? try said.accessToken : nil
    }

    /// The same organisation through somebody else's session.
    func seen(by token: String) -> Hospital {
        var other = self
        other.token = token
        return other
    }

    /// Waits for a mail to the corporate address that says all of this.
    func told(_ words: String...) async throws {
        try await eventually("a mail says \(words)") { [self] in
            mails().contains { mail in words.allSatisfy(mail.contains) }
        }
    }

    // MARK: Asking

    func ask(_ guest: Guest, _ types: [String], days: Range<Int> = -1..<30) async throws -> RequestID {
        let now = Timestamp.now
        return try await ask(guest, types, from: now + .seconds(days.lowerBound * 86_400), to: now + .seconds(days.upperBound * 86_400))
    }

    func ask(_ guest: Guest, _ types: [String], from: Timestamp, to: Timestamp) async throws -> RequestID {
        let answer = try await call("POST", "/requests", Self.form(guest.code, types, from: from, ["to": to.rfc3339]))
        guard answer.status == 201, let id = (answer.json["request"] as? String).flatMap({ RequestID($0) }) else {
            throw NotTaken(status: answer.status)
        }
        return id
    }

    /// By the second.
    /// - Parameter end: `to` or `length`.
    static func form(_ code: String, _ types: [String], from: Timestamp, _ end: [String: String]) -> [String: Any] {
        let form: [String: Any] = [
            "fiscalCode": code, "types": types, "from": from.rfc3339, "granularity": "seconds", "purpose": "Your recovery",
        ]
        return form.merging(end) { $1 }
    }

    func status(_ request: RequestID) async throws -> String {
        try await call("GET", "/requests/\(request)").json["status"] as? String ?? ""
    }

    func becomes(_ status: String, _ request: RequestID) async throws {
        try await eventually("the request is \(status)") { try await self.status(request) == status }
    }

    func data(_ request: RequestID, _ type: String) async throws -> HarnessAnswer {
        try await call("GET", "/requests/\(request)/data?type=\(type)")
    }

    /// Everything of one type, page by page.
    func everything(_ request: RequestID, _ type: String) async throws -> [[String: Any]] {
        var (items, next): ([[String: Any]], String?) = ([], nil)
        repeat {
            let page = try await call("GET", "/requests/\(request)/data?type=\(type)&limit=1000" + (next.map { "&after=\($0)" } ?? ""))
            try #require(page.status == 200, "\(page.text)")
            items += page.items
            next = page.json["next"] as? String
        } while next != nil
        return items
    }

    func values(_ request: RequestID, _ type: String) async throws -> [Double] {
        try await data(request, type).items.compactMap { $0["value"] as? Double }
    }

    /// The bank has got the transfer, and the operator marks it.
    func pay(_ request: RequestID) async throws {
        let open = try await call("GET", "/payments?request=\(request)").items
        let payment = try #require(open.first.flatMap { $0["payment"] as? String }.flatMap { PaymentID($0) }, "\(open)")
        _ = try await suite.ask(MarkPaid(payment: payment))
    }

    /// Accepted by the guest and paid, with data that may leave.
    func allowed(_ guest: Guest, _ request: RequestID) async throws {
        try #require(try await guest.answer(request, "accept") == 200)
        try await becomes("APPROVED", request)
        try await pay(request)
        let known = self
        try await eventually("the data are ready") {
            try await known.call("GET", "/requests/\(request)").json["delivery"] as? String == "ready"
        }
    }

    /// What the subscription has delivered from its beginning on, oldest first.
    func items(_ request: RequestID) async throws -> [[String: Any]] {
        try await call("GET", "/subscriptions/\(request)/items?after=0&limit=1000").items
    }
}
