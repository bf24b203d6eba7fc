// One person's data through all services and the gateway's own door: registered, asked, allowed, paid, fetched, withdrawn.

import Contracts
import Foundation
import FoundationNetworking
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import TestKit
import Testing

@testable import Consent
@testable import Operator
@testable import ThirdPartyGateway

/// The gateway beside the other services of a story, and an organisation that knocks at it.
private struct Hospital: Sendable {
    static let address = "office@ospedale.example"
    static let password = "una frase che ricordo"

    struct Answer: Sendable {
        let status: Int
        let body: Data

        var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body) as? [String: Any]) ?? [:] }

        var items: [[String: Any]] { json["items"] as? [[String: Any]] ?? [] }
        var problem: String? { (json["type"] as? String)?.replacing(Problem.prefix, with: "") }
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    let suite: StorySuite
    let parts: GatewayParts
    let mail: MailPeer
    let port: Int
    var token: String?

    /// Runs `body` with the gateway up beside everything else.
    static func with(_ body: (inout Hospital) async throws -> Void) async throws {
        let mail = MailPeer()
        let settings = [
            "TRACKME_NOTIFY_SMTP_URL": mail.url, "TRACKME_NOTIFY_SMTP_TLS": "false", "TRACKME_PAY_BANK_IBAN": "IT60X0542811101000000123456",
            "TRACKME_PAY_BANK_HOLDER": "TrackMe", "TRACKME_ORG_WEBHOOK_PRIVATE": "true",
        ]
        try await StorySuite.with(settings, hasGateway: false) { suite in
            try await suite.playing(.thirdPartyGateway) { runtime in
                var environment = suite.layout.environment(of: .thirdPartyGateway, httpPort: 0)
                environment.merge(settings) { $1 }
                var reader = SettingsReader(environment: environment)
                let parts = try await GatewayParts(GatewayAssembly.settings(&reader), on: runtime)
                let group = ServiceGroup(services: parts.services, logger: runtime.logger)
                let running = Task { try await group.run() }
                var hospital = Hospital(suite: suite, parts: parts, mail: mail, port: await parts.server.boundPort)
                do {
                    try await body(&hospital)
                } catch {
                    await group.triggerGracefulShutdown()
                    _ = await running.result
                    throw error
                }
                await group.triggerGracefulShutdown()
                _ = await running.result
            }
        }
    }

    func call(_ method: String, _ path: String, _ body: Any? = nil, type: String = "application/json") async throws -> Answer {
        guard let url = URL(string: "http://127.0.0.1:\(port)/thirdparty/v1\(path)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        if let body {
            request.httpBody = try (body as? String).map { Data($0.utf8) } ?? JSONSerialization.data(withJSONObject: body)
            request.setValue(type, forHTTPHeaderField: "Content-Type")
        }
        let (data, response) = try await URLSession.shared.data(for: request)
        return Answer(status: (response as? HTTPURLResponse)?.statusCode ?? 0, body: data)
    }

    // MARK: Its account

    static func form() -> [String: Any] {
        let address = ["street": "Via Festa del Perdono 7", "city": "Milano", "postalCode": "20122"]
        let version = OrganisationConditions.version
        return [
            "businessName": "Ospedale Maggiore", "vatNumber": "IT00743110157", "legalAddress": address, "billingAddress": address,
            "email": Self.address, "emailAgain": Self.address, "sector": "health care", "description": "A hospital.",
            "representative": [
                "name": "Mario", "surname": "Rossi", "officeAddress": "Via Festa del Perdono 7, Milano", "phone": "+39 02 50311",
                "email": "mario.rossi@ospedale.example", "fiscalCode": "RSSMRA80A01H501U",
            ],
            "paymentMethod": "bank-transfer", "password": Self.password, "passwordAgain": Self.password, "acceptedTerms": version,
            "acceptedPrivacy": version, "acceptedResponsibility": version, "acceptedJurisdiction": version,
        ]
    }

    /// The text of the mails that have arrived for the organisation, decoded.
    func mails() -> [String] {
        mail.mails.filter { $0.to.contains { $0.contains(Self.address) } }
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
        let (suite, login) = (suite, ["login": Self.address, "password": Self.password])
        token = try await eventually("the first member can log in") {
            struct Session: Decodable { var accessToken: String }
            let said = try await suite.say("POST", suite.consent + "/consent/v1/sessions", login)
            return said.status == 200 ? try said.decoded(Session.self).accessToken : nil
        }
        let known = self
        try await eventually("the gateway knows the log-in") { try await known.call("GET", "/organisation").status == 200 }
    }

    mutating func registered() async throws {
        let answer = try await call("POST", "/organisations", Self.form())
        try #require(answer.status == 201, "\(answer.text)")
        try await confirmAndLogIn()
    }

    // MARK: Asking

    func ask(_ guest: Guest, _ types: [String], days: Range<Int> = -1..<30) async throws -> RequestID {
        let answer = try await call(
            "POST", "/requests",
            [
                "fiscalCode": guest.code, "types": types, "from": (Timestamp.now + .seconds(days.lowerBound * 86_400)).rfc3339,
                "to": (Timestamp.now + .seconds(days.upperBound * 86_400)).rfc3339, "granularity": "seconds", "purpose": "Your recovery",
            ])
        guard answer.status == 201, let id = (answer.json["request"] as? String).flatMap({ RequestID($0) }) else {
            throw NotTaken(status: answer.status)
        }
        return id
    }

    func status(_ request: RequestID) async throws -> String {
        try await call("GET", "/requests/\(request)").json["status"] as? String ?? ""
    }

    func becomes(_ status: String, _ request: RequestID) async throws {
        try await eventually("the request is \(status)") { try await self.status(request) == status }
    }

    func data(_ request: RequestID, _ type: String) async throws -> Answer {
        try await call("GET", "/requests/\(request)/data?type=\(type)")
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
}

@Suite("Stories of third parties")
struct GatewayStories {
    private static let price = PriceList(currency: "EUR", perRequest: 1200, usual: .init(seconds: 0, minutes: 0, hours: 0))

    @Test(
        "SC-46, SC-18: a company forgets a condition, which is named; then the mail's link completes the registration; SC-27, SC-28: a new representative and another way of paying"
    )
    func registers() async throws {
        try await Hospital.with { hospital in
            var form = Hospital.form()
            form["acceptedResponsibility"] = nil
            let refused = try await hospital.call("POST", "/organisations", form)
            #expect(refused.status == 422 && refused.text.contains("/acceptedResponsibility"), "\(refused.text)")
            #expect(hospital.mails().isEmpty)
            let registered = try await hospital.call("POST", "/organisations", Hospital.form())
            #expect(registered.status == 201, "\(registered.text)")
            try await hospital.confirmAndLogIn()
            let changed = try await hospital.call(
                "PATCH", "/organisation",
                ["representative": ["name": "Anna", "surname": "Verdi", "phone": "+39 06 1234567"], "paymentMethod": "card"])
            #expect(changed.status == 200, "\(changed.text)")
            let profile = try await hospital.call("GET", "/organisation").json
            #expect((profile["representative"] as? [String: Any])?["name"] as? String == "Anna")
            #expect(profile["paymentMethod"] as? String == "card")
        }
    }

    @Test(
        "SC-30, SC-47: a hospital asks a patient, who accepts; before paying it gets nothing, then pages and files; the patient sees each read; SHR-16: withdrawn, nothing more"
    )
    func followsAPatient() async throws {
        try await Hospital.with { hospital in
            _ = try await hospital.suite.ask(SetPrices(prices: Self.price))
            try await hospital.registered()
            let guest = try await Guest(in: hospital.suite)
            try await guest.weigh(81.5)
            let request = try await hospital.ask(guest, ["weight", "body-temperature"])
            #expect(try await hospital.data(request, "weight").problem == "not-entitled")
            #expect(try await guest.answer(request, "accept") == 200)
            try await hospital.becomes("APPROVED", request)
            #expect(try await hospital.data(request, "weight").problem == "payment-outstanding", "PAY-04, INV-20")
            #expect(try await guest.accesses().isEmpty)
            try await hospital.pay(request)
            let (known, said) = (hospital, request.description)
            try await eventually("the weight is handed out") { try await known.values(request, "weight").contains(81.5) }
            #expect(try await hospital.data(request, "heart-rate").problem == "not-entitled", "SHR-11")
            try await eventually("SHR-09: the mail names the request and the amount") {
                known.mails().contains { $0.contains(said) && $0.contains("12.00 EUR") && !$0.contains(guest.code) }
            }
            // SHR-14: what is weighed later is there too.
            try await guest.weigh(80.5)
            try await eventually("the weight keeps flowing") { try await known.values(request, "weight").contains(80.5) }

            let begun = try await hospital.call("POST", "/requests/\(request)/files", ["format": "fhir"])
            #expect(begun.status == 202, "\(begun.text)")
            let path = "/requests/\(request)/files/\(begun.json["file"] as? String ?? "")"
            try await eventually("the file is written") { try await known.call("GET", path).json["state"] as? String == "done" }
            let part = try #require((try await hospital.call("GET", path).json["parts"] as? [[String: Any]])?.first)
            let file = try await hospital.call("GET", "\(path)/parts/\(part["name"] as? String ?? "")")
            #expect(Hex.encode(Digest.sha256([UInt8](file.body))) == part["sha256"] as? String)
            #expect(file.text.contains("29463-7") && !file.text.contains(guest.code))
            try await eventually("SHR-24: the patient sees who read what") {
                let seen = try await guest.accesses()
                return !seen.isEmpty && seen.allSatisfy { $0.name == "Ospedale Maggiore" }
            }

            let grant = try #require(try await hospital.call("GET", "/requests/\(request)").json["grant"] as? String)
            let gone = try await hospital.suite.say(
                "DELETE", hospital.suite.consent + "/consent/v1/grants/\(grant)", as: guest.token)
            #expect(gone.status == 200)
            try await eventually("nothing leaves any more") { try await known.data(request, "weight").status != 200 }
            try await hospital.becomes("REVOKED", request)
            #expect(try await hospital.data(request, "weight").problem == "not-entitled")
            #expect(try await hospital.call("GET", "\(path)/parts/\(part["name"] as? String ?? "")").problem == "not-entitled")
            try await eventually("SHR-15: it is told by mail") {
                known.mails().contains { $0.contains(said) && ($0.contains("non sono pi") || $0.contains("no longer available")) }
            }
        }
    }

    @Test(
        "SHR-13, SHR-14: a window into the future keeps delivering, by page and by webhook after its handshake; SHR-16: withdrawn, grant.revoked and nothing more"
    )
    func subscribes() async throws {
        try await Hospital.with { hospital in
            _ = try await hospital.suite.ask(SetPrices(prices: Self.price))
            try await hospital.registered()
            let guest = try await Guest(in: hospital.suite)
            try await HospitalHook.with { hook in
                let endpoint = try await hospital.call("POST", "/endpoints", ["url": await hook.url])
                #expect(endpoint.status == 201, "\(endpoint.text)")
                let verified = try await hospital.call("POST", "/endpoints/\(endpoint.json["id"] as? String ?? "")/verification")
                #expect(verified.json["state"] as? String == "active", "\(verified.text)")
                let request = try await hospital.ask(guest, ["weight"])
                #expect(try await guest.answer(request, "accept") == 200)
                try await hospital.becomes("APPROVED", request)
                #expect(try await hospital.call("GET", "/subscriptions/\(request)").status == 404, "INV-20: nothing before it is paid")
                try await hospital.pay(request)
                let (known, path) = (hospital, "/subscriptions/\(request)")
                try await eventually("it runs") { try await known.call("GET", path).json["state"] as? String == "running" }
                try await guest.weigh(80.5)
                try await eventually("the weight is on the page") {
                    try await known.call("GET", path + "/items").items.contains { $0["value"] as? Double == 80.5 }
                }
                try await eventually("the weight was pushed") { hook.values.contains(80.5) }
                let numbers = try await known.call("GET", path + "/items?after=0").items.compactMap { $0["number"] as? Int }
                #expect(!numbers.isEmpty && numbers == Array(1...max(1, numbers.count)))
                let later = try await known.call("GET", path + "/items?after=\(numbers.count)").items
                #expect(later.allSatisfy { ($0["number"] as? Int ?? 0) > numbers.count })
                let grant = try #require(try await hospital.call("GET", path).json["grant"] as? String)
                _ = try await hospital.suite.say("DELETE", hospital.suite.consent + "/consent/v1/grants/\(grant)", as: guest.token)
                try await eventually("grant.revoked is pushed") { hook.types.contains("grant.revoked") }
                try await guest.weigh(79)
                #expect(try await known.call("GET", path + "/items").problem == "subscription-over")
                #expect(!hook.values.contains(79))
            }
        }
    }

    @Test(
        "SC-29, SC-08, SC-10: a patient refuses: the asker is told, gets nothing and pays nothing; another request goes on by itself; SHR-03: a stranger's code is told"
    )
    func refuses() async throws {
        try await Hospital.with { hospital in
            _ = try await hospital.suite.ask(SetPrices(prices: Self.price))
            try await hospital.registered()
            let guest = try await Guest(in: hospital.suite)
            try await guest.weigh(70)
            let table = """
                fiscalCode,types,from,to,granularity,purpose
                \(guest.code),weight,\((Timestamp.now - .seconds(86_400)).rfc3339),P1M,seconds,A plan
                \(guest.code),heart-rate,\((Timestamp.now - .seconds(86_400)).rfc3339),P1M,seconds,A plan
                VRDLGI75C12F205U,weight,\((Timestamp.now - .seconds(86_400)).rfc3339),P1M,seconds,A plan
                """
            let sent = try await hospital.call("POST", "/requests/lists", table, type: "text/csv")
            #expect(sent.status == 202, "\(sent.text)")
            let (known, path) = (hospital, "/requests/lists/\(sent.json["list"] as? String ?? "")")
            try await eventually("the list is settled") { try await known.call("GET", path).json["sending"] as? Int == 0 }
            let items = try await hospital.call("GET", path).items
            #expect(items.map { $0["outcome"] as? String } == ["opened", "opened", "no-such-person"])
            let requests = items.compactMap { ($0["request"] as? String).flatMap { RequestID($0) } }
            try #require(requests.count == 2)
            #expect(try await guest.answer(requests[0], "accept") == 200)
            #expect(try await guest.answer(requests[1], "refuse") == 200)
            try await hospital.becomes("APPROVED", requests[0])
            try await hospital.becomes("DECLINED", requests[1])
            try await hospital.pay(requests[0])
            try await eventually("the weight is handed out") { try await known.values(requests[0], "weight").contains(70) }
            #expect(try await hospital.data(requests[1], "heart-rate").problem == "not-entitled")
            #expect(try await hospital.data(requests[0], "heart-rate").problem == "not-entitled", "INV-04")
            let owed = try await hospital.call("GET", "/payments?show=open").items
            #expect(!owed.contains { $0["request"] as? String == requests[1].description }, "PAY-09")
            let refused = requests[1].description
            try await eventually("SHR-08: it is told by mail, without a reason") {
                known.mails().contains { $0.contains(refused) && !$0.contains("12.00 EUR") }
            }
            let again = try await hospital.call(
                "POST", "/requests",
                [
                    "fiscalCode": guest.code, "types": ["weight"], "from": Timestamp.now.rfc3339, "length": "P1D", "granularity": "hours",
                    "purpose": "Again",
                ])
            #expect(again.problem == "open-request-covers-this", "SHR-18")
            #expect(again.text.contains(requests[0].description))
            #expect(try await hospital.call("POST", "/requests/\(requests[0])/end").json["status"] as? String == "ENDED")
            #expect(try await hospital.data(requests[0], "weight").problem == "not-entitled")
        }
    }
}
