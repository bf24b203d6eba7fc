// What an organisation goes through with its own account: registered, changed, its password too.

import Bus
import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator
@testable import ThirdPartyGateway

@Suite("Stories of organisations", .timeLimit(.minutes(5)))
struct OrganisationStories {
    @Test(
        "SC-18, SC-46, ORG-05, ORG-08: a company forgets a condition, which alone is named; the same form with it is taken, a link is mailed, and by that the company can log in and ask"
    )
    func registers() async throws {
        try await Hospital.with { company in
            var form = Hospital.form()
            form["acceptedResponsibility"] = nil
            let refused = try await company.call("POST", "/organisations", form)
            #expect(refused.status == 422 && refused.problem == "conditions-not-accepted", "\(refused.text)")
            let errors = refused.json["errors"] as? [[String: Any]] ?? []
            #expect(errors.map { $0["pointer"] as? String } == ["/acceptedResponsibility"])
            #expect(company.mails().isEmpty)
            #expect(try await company.logIn() == nil)

            form["acceptedResponsibility"] = OrganisationConditions.version
            let taken = try await company.call("POST", "/organisations", form)
            #expect(taken.status == 201 && taken.json["state"] as? String == "unconfirmed", "\(taken.text)")
            try await company.confirmAndLogIn()
            #expect(try await company.call("GET", "/organisation").json["state"] as? String == "active")
            #expect(try await company.call("GET", "/requests").status == 200)
        }
    }

    @Test("SC-27, ORG-03, ORG-13: a company with a new legal representative stores the new data in place of the old ones, nothing else")
    func represented() async throws {
        try await Hospital.withRegistered { company in
            let before = try await company.call("GET", "/organisation")
            let representative = [
                "name": "Anna", "surname": "Verdi", "officeAddress": "Via Manzoni 3, Milano", "phone": "+39061234567",
                "email": "anna.verdi@ospedale.example", "fiscalCode": "VRDNNA80A41F205K",
            ]
            var wrong = representative
            wrong["phone"] = "none"
            let refused = try await company.call("PATCH", "/organisation", ["representative": wrong])
            #expect(refused.status == 422 && refused.text.contains("/representative/phone"), "\(refused.text)")
            let unchanged = try await company.call("GET", "/organisation").json as NSDictionary
            #expect(unchanged == before.json as NSDictionary, "nothing changes until it is right")
            let changed = try await company.call("PATCH", "/organisation", ["representative": representative])
            #expect(changed.status == 200, "\(changed.text)")
            let profile = try await company.call("GET", "/organisation")
            #expect(profile.json["representative"] as? [String: String] == representative)
            #expect(!profile.text.contains("Rossi") && !profile.text.contains("RSSMRA80A01H501U"))
            for name in ["businessName", "vatNumber", "email", "sector", "paymentMethod"] {
                #expect(profile.json[name] as? String == before.json[name] as? String, "\(name)")
            }
        }
    }

    @Test(
        "SC-28, ORG-14, PAY-06: a firm selects another payment method: the next payment form presets it, and what was begun by the old one goes on by that"
    )
    func payingAnotherWay() async throws {
        try await Hospital.withRegistered(["TRACKME_PAY_SANDBOX": "true"]) { firm in
            let guest = try await Guest(in: firm.suite)
            func payment(_ request: RequestID) async throws -> [String: Any] {
                try #require(try await firm.call("GET", "/payments?request=\(request)").items.first)
            }
            let first = try await firm.ask(guest, ["weight"])
            #expect(try await guest.answer(first, "accept") == 200)
            try await firm.becomes("APPROVED", first)
            let known = firm
            try await eventually("the transfer is prepared") {
                let items = try await known.call("GET", "/payments?request=\(first)").items
                return (items.first?["step"] as? [String: Any])?["transferReference"] != nil
            }
            #expect(try await payment(first)["preset"] as? String == "bank-transfer")

            #expect(try await firm.call("PATCH", "/organisation", ["paymentMethod": "card"]).status == 200)
            let second = try await firm.ask(guest, ["heart-rate"])
            #expect(try await guest.answer(second, "accept") == 200)
            try await firm.becomes("APPROVED", second)
            #expect(try await payment(second)["preset"] as? String == "card")
            #expect(try await payment(first)["preset"] as? String == "bank-transfer", "what is under way keeps its method")
            let path = "/payments/\(try await payment(second)["payment"] as? String ?? "")/attempts"
            let paid = try await firm.call("POST", path, [String: String]())
            #expect(paid.json["status"] as? String == "paid", "\(paid.text)")
            #expect((paid.json["attempt"] as? [String: Any])?["method"] as? String == "card")
        }
    }

    @Test(
        "ORG-15, ACC-17: a member's password changes by the old one once and the new one twice, or not at all; other sessions of the member end, the organisation's programs go on"
    )
    func password() async throws {
        try await Hospital.withRegistered { company in
            let program = try await program(of: company)
            let elsewhere = company.seen(by: try #require(try await company.logIn()))
            #expect(try await elsewhere.call("GET", "/organisation").status == 200)
            let (suite, token, new) = (company.suite, company.token, "un'altra frase da ricordare")
            func change(_ old: String, _ new: String, _ again: String) async throws -> (status: Int, problem: String?, token: String?) {
                let said = try await suite.say(
                    "PUT", suite.consent + "/consent/v1/password", ["old": old, "new": new, "newAgain": again], as: token)
                return (said.status, said.problem, said.json["accessToken"] as? String)
            }
            #expect(try await change("not the old one", new, new).problem == "wrong-old-password")
            #expect(try await change(Hospital.password, new, new + "!").problem == "new-password-refused")
            #expect(try await change(Hospital.password, "kurz", "kurz").problem == "new-password-refused")
            #expect(try await company.logIn(Hospital.address, new) == nil, "unchanged")

            let changed = try await change(Hospital.password, new, new)
            #expect(changed.status == 200)
            #expect(try await company.logIn() == nil)
            #expect(try await company.logIn(Hospital.address, new) != nil)
            let known = company
            try await eventually("the owner is told by mail") {
                known.mails().contains { $0.contains("password è stata cambiata") || $0.contains("password was changed") }
            }
            try await eventually("the session elsewhere is over") { try await elsewhere.call("GET", "/organisation").status == 401 }
            #expect(try await company.seen(by: try #require(changed.token)).call("GET", "/organisation").status == 200)
            #expect(try await program.call("GET", "/requests").status == 200)
        }
    }

    @Test(
        "ORG-10, ACC-12, ACC-16: after three wrong passwords the organisation is written to; one who forgot it follows the mailed link and is in, and members have no name to greet"
    )
    func forgotten() async throws {
        try await Hospital.withRegistered { company in
            let (known, suite, new) = (company, company.suite, "un'altra frase da ricordare")
            for _ in 0..<3 { #expect(try await company.logIn(Hospital.address, "not the password") == nil) }
            try await eventually("three failures are told") {
                known.mails().contains { $0.contains("una password sbagliata") || $0.contains("a wrong password") }
            }
            let asked = try await suite.say("POST", suite.consent + "/consent/v1/recoveries", ["email": Hospital.address])
            #expect(asked.status == 202)
            let link = try await eventually("the link is mailed") {
                known.mails().lazy.compactMap { $0.firstMatch(of: /recovery\/([A-Za-z0-9_-]+)/)?.1 }.first.map(String.init)
            }
            let chosen = try await suite.say(
                "POST", suite.consent + "/consent/v1/recoveries/password", ["token": link, "password": new, "passwordAgain": new])
            #expect(chosen.status == 204)
            let token = try await eventually("the new password opens") { try await known.logIn(Hospital.address, new) }
            let seen = company.seen(by: token)
            try await eventually("the organisation's pages open") { try await seen.call("GET", "/organisation").status == 200 }
        }
    }

    @Test(
        "ORG-16, CON-13: an organisation deletes its profile: it is shown first what ends and what stays due; unconfirmed nothing happens; confirmed, its log-in, requests, subscription and reading end in every service, and each person is told once"
    )
    func leaves() async throws {
        try await Hospital.withRegistered { company in
            let (patient, other) = (try await Guest(in: company.suite), try await Guest(in: company.suite, named: "Carla"))
            let weight = try #require(Metric(code: "weight"))
            let running = try await company.ask(patient, ["weight"])
            try await company.allowed(patient, running)
            let unpaid = try await company.ask(patient, ["heart-rate"])
            #expect(try await patient.answer(unpaid, "accept") == 200)
            try await company.becomes("APPROVED", unpaid)
            let waiting = try await company.ask(other, ["weight"])
            let known = company
            // By the bus, as the gateway reads: ingest refuses by itself.
            let profile = try await company.call("GET", "/organisation").json
            let organisation = try #require(OrganisationID(profile["organisation"] as? String ?? ""))
            let grant = try #require(try await patient.shown(running).grant)
            let ingest = try await company.runtime.client(of: .ingest)
            let read: @Sendable () async -> Failure.Code? = {
                await failure {
                    let (from, to) = (Timestamp.now - .seconds(3600), Timestamp.now + .seconds(3600))
                    let asked = ReadSamples(
                        grant: grant, organisation: organisation, type: weight, from: from, to: to, after: nil, limit: 10)
                    _ = try await ingest.ask(asked, deadline: .seconds(5))
                }?.code
            }

            let shown = try await eventually("what is due is shown") {
                let preview = try JSONDecoder().decode(ClosingItem.self, from: try await known.call("GET", "/organisation/closing").body)
                return preview.debts.isEmpty ? nil : preview
            }
            #expect(shown.debts == [Amount(minor: 1200, currency: "EUR")])
            #expect(shown.pendingRequests == 1 && shown.approvedRequests == 2 && shown.members == 1)
            let unconfirmed = try await company.call("POST", "/organisation/closing", ["confirmation": "yes"])
            #expect(unconfirmed.status == 422 && unconfirmed.problem == "closing-not-confirmed", "\(unconfirmed.text)")
            #expect(try await company.status(running) == "APPROVED")
            #expect(try await other.shown(waiting).status == .pending)
            #expect(await read() == nil)

            let closed = try await company.call("POST", "/organisation/closing", ["confirmation": "Ospedale Maggiore"])
            #expect(closed.status == 200, "\(closed.text)")
            let after = [
                try await company.call("GET", "/organisation").status, try await company.data(running, "weight").status,
            ]
            #expect(after.allSatisfy { $0 == 401 || $0 == 403 }, "\(after)")
            try await eventually("consent ends its requests") {
                let (first, second) = (try await patient.shown(running).status, try await patient.shown(unpaid).status)
                let third = try await other.shown(waiting).status
                return first == .ended && second == .ended && third == .expired
            }
            let refusals: [Failure.Code?] = [.forbidden, .notFound]
            try await eventually("ingest hands out nothing more") { refusals.contains(await read()) }
            #expect(try await other.answer(waiting, "accept") != 200)
            try await eventually("nobody logs in for it") { try await known.logIn() == nil }
            for guest in [patient, other] {
                let told = try await eventually("the person is told") {
                    let told = try await guest.inbox("organisation-left")
                    return told.isEmpty ? nil : told
                }
                #expect(told.count == 1 && told[0].contains("Ospedale Maggiore"), "\(told)")
            }
            try await eventually("what stays due is written to it") {
                known.mails().contains { $0.contains("12.00 EUR") && ($0.contains("restano dovuti") || $0.contains("remain due")) }
            }
        }
    }

    /// The organisation as its API client sees it.
    private func program(of company: Hospital) async throws -> Hospital {
        let made = try await company.call("POST", "/clients", ["name": "nightly", "scopes": ["requests:read"]]).json
        let (client, secret) = (try #require(made["client"] as? String), try #require(made["secret"] as? String))
        var stranger = company
        stranger.token = nil
        let token = try await stranger.call(
            "POST", "/oauth/token", "grant_type=client_credentials&client_id=\(client)&client_secret=\(secret)",
            type: "application/x-www-form-urlencoded")
        return company.seen(by: try #require(token.json["access_token"] as? String, "\(token.text)"))
    }
}
