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
        try await suite.say("POST", suite.consent + "/consent/v1/sessions", ["login": login, "password": password]).status
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
            let token = try await eventually("the link is mailed") {
                mails(mail, to: somebody.email).lazy.compactMap { $0.firstMatch(of: /confirm-address\/([A-Za-z0-9_-]+)/)?.1 }.first
            }
            #expect(try await suite.say("POST", suite.consent + "/consent/v1/confirm-address/\(token)", [String: String]()).status == 200)
            #expect(try await logIn(suite, somebody.email, somebody.password) == 200)
            let again = try await client.call("POST", .consent, "/consent/v1/accounts", body: form)
            #expect(again.status == first.status && again.text("state") == "unconfirmed")
            try await eventually("the owner is told") {
                mails(mail, to: somebody.email).contains { $0.contains("/consent/v1/recovery") }
            }
        }
    }
}
