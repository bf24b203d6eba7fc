// First log-ins by what a real mail server has taken: of operators, and of people whose addresses are confirmed first.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator

@Suite("Stories of first log-ins", .timeLimit(.minutes(5)))
struct FirstLogInStories {
    private static func with(_ body: (StorySuite, MailPeer) async throws -> Void) async throws {
        let mail = MailPeer()
        let settings = [
            "TRACKME_NOTIFY_SMTP_URL": mail.url, "TRACKME_NOTIFY_SMTP_TLS": "false", "TRACKME_ACC_CONFIRM_REQUIRED": "true",
        ]
        try await StorySuite.with(settings, hasGateway: false) { try await body($0, mail) }
    }

    private func mails(_ mail: MailPeer, to address: String) -> [String] {
        mail.mails.filter { $0.to.contains { $0.lowercased().contains(address.lowercased()) } }
            .map { $0.text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }

    private func logIn(_ suite: StorySuite, _ login: String, _ password: String) async throws -> Int {
        try await HarnessClient(suite.consent).logIn(login, password).status
    }

    /// Follows the link that was mailed to an address.
    private func confirm(_ suite: StorySuite, _ mail: MailPeer, _ address: String) async throws {
        let token = try await eventually("the link is mailed to \(address)") {
            mails(mail, to: address).lazy.compactMap { $0.firstMatch(of: /confirm-address\/([A-Za-z0-9_-]+)/)?.1 }.first
        }
        #expect(try await suite.say("POST", suite.consent + "/consent/v1/confirm-address/\(token)", [String: String]()).status == 200)
    }

    @Test(
        "X15, ACC-08: the mail of `operator add` was never sent (3 of 3); each of three operators logs in by what the mail server has taken"
    )
    func operators() async throws {
        try await Self.with { suite, mail in
            for name in ["olga", "piero", "rita"] {
                let address = "\(name)@operators.example"
                let made = try await suite.ask(MakeOperator(email: address, language: name == "rita" ? .english : .italian))
                let text = try await eventually("the mail to \(address) is taken") { mails(mail, to: address).first }
                #expect(text.contains(made.temporaryPassword))
                #expect(try await logIn(suite, address, made.temporaryPassword) == 200)
            }
        }
    }

    @Test("X13, X17: a registration opens by the mailed link and not before; registering again is answered alike, and mailed to the owner")
    func confirmed() async throws {
        try await Self.with { suite, mail in
            let somebody = DemoPerson.random()
            let form = somebody.form(acceptedTerms: Conditions.version)
            let client = PeopleClient(consent: suite.consent, ingest: suite.server, authorities: nil)
            let first = try await client.call("POST", .consent, "/consent/v1/accounts", body: form)
            #expect(first.status == 201 && first.text("state") == "unconfirmed")
            #expect(try await logIn(suite, somebody.email, somebody.password) == 401)
            try await confirm(suite, mail, somebody.email)
            #expect(try await logIn(suite, somebody.email, somebody.password) == 200)
            let again = try await client.call("POST", .consent, "/consent/v1/accounts", body: form)
            #expect(again.status == first.status && again.text("state") == "unconfirmed")
            try await eventually("the owner is told") {
                mails(mail, to: somebody.email).contains { $0.contains("/consent/v1/recovery") }
            }
        }
    }

    @Test(
        "SC-16, ACC-02, ACC-03, ACC-05, ACC-07, ACC-10: a granddaughter without an account registers her grandmother: what is missing or wrong is named and nothing is stored; then the account is the grandmother's, and the mail comes to the given address"
    )
    func granddaughter() async throws {
        try await Self.with { suite, mail in
            let grandmother = DemoPerson.random()
            let address = "nipote.\(grandmother.email)"
            let client = PeopleClient(consent: suite.consent, ingest: suite.server, authorities: nil)
            func register(_ changes: [String: Any]) async throws -> PeopleReply {
                let form = grandmother.form(acceptedTerms: Conditions.version).merging(["email": address]) { $1 }.merging(changes) { $1 }
                return try await client.call("POST", .consent, "/consent/v1/accounts", body: form)
            }
            for (field, value) in [("surname", ""), ("fiscalCode", "RSSMRA80A01H501X"), ("acceptedPrivacy", "")] {
                let refused = try await register([field: value])
                #expect(refused.status == 422)
                #expect(refused.list("errors").map { $0["pointer"] as? String } == ["/\(field)"], "\(refused.object)")
            }
            #expect(mails(mail, to: address).isEmpty)
            let taken = try await register([:])
            #expect(taken.status == 201 && taken.text("state") == "unconfirmed")
            #expect(try await logIn(suite, address, grandmother.password) == 401, "not before the link is followed")
            try await confirm(suite, mail, address)

            let session = ["login": address, "password": grandmother.password]
            let token = try await client.call("POST", .consent, "/consent/v1/sessions", body: session).expecting(200, "log-in")
                .text("accessToken")
            let profile = try await client.call("GET", .consent, "/consent/v1/profile", token: token).expecting(200, "profile")
            #expect(profile.text("birthDate") == grandmother.birthDate)
        }
    }

    @Test(
        "SC-17, ACC-04, ACC-07: with a sibling's address no second account opens, and its owner is told by mail; with only the address changed the registration succeeds, and the mail is sent"
    )
    func siblings() async throws {
        try await Self.with { suite, mail in
            let (first, second) = (DemoPerson.random(), DemoPerson.random())
            let client = PeopleClient(consent: suite.consent, ingest: suite.server, authorities: nil)
            func register(_ somebody: DemoPerson, _ address: String) async throws -> Int {
                var form = somebody.form(acceptedTerms: Conditions.version)
                form["email"] = address
                return try await client.call("POST", .consent, "/consent/v1/accounts", body: form).status
            }
            #expect(try await register(first, first.email) == 201)
            try await confirm(suite, mail, first.email)
            #expect(try await register(second, first.email) == 201, "answered alike: whoever asks learns nothing of who is registered")
            try await eventually("the owner is told") { mails(mail, to: first.email).contains { $0.contains("/consent/v1/recovery") } }
            #expect(try await logIn(suite, first.email, second.password) == 401)
            #expect(try await register(second, second.email) == 201)
            try await confirm(suite, mail, second.email)
            #expect(try await logIn(suite, second.email, second.password) == 200)
            #expect(try await logIn(suite, first.email, first.password) == 200)
        }
    }
}
