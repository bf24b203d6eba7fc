// Forgotten passwords: who gets a mail, what its link opens, and what strangers learn.

import Contracts
import Foundation
import GRDB
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Recovery")
struct RecoveryTests {
    private static let new = "tutta un'altra frase"

    private func ask(_ harness: LogInHarness, _ email: String, from address: String = "10.0.0.1") async throws -> HarnessAnswer {
        try await harness.request("POST", "/consent/v1/recoveries", json: ["email": email], headers: AccountHarness.forwarded(address))
    }

    private func link(_ harness: LogInHarness, to email: String = "anna@example.org", count: Int = 1) async throws -> SendMessage {
        try await harness.mail.arrived(to: email, .recoverPassword, count: count)
    }

    private func choose(
        _ harness: LogInHarness, _ token: String, _ new: String = new, again: String? = nil
    ) async throws -> HarnessAnswer {
        try await harness.request(
            "POST", "/consent/v1/recoveries/password", json: ["token": token, "password": new, "passwordAgain": again ?? new])
    }

    // MARK: Asking

    @Test("SC-20, ACC-16: whoever has forgotten the password enters the e-mail, follows the mailed link, and is logged in by what it gave")
    func story() async throws {
        try await LogInHarness.runWithPerson { harness in
            let oldPhone = try await harness.logIn(device: "old phone")
            try await ask(harness, "Anna@Example.org").expect(status: 202)
            let message = try await link(harness)
            #expect(Set(message.values.keys) == MessageTemplate.recoverPassword.values && message.values["hours"] == "2")
            #expect(message.values["link"]?.hasPrefix("\(LogInHarness.origin)/consent/v1/recovery/") == true)
            try await choose(harness, message.linkToken).expect(status: 204)
            let newPhone = try await harness.logIn("anna@example.org", Self.new, device: "new phone")
            #expect(try await harness.isOpen(newPhone.accessToken))
            #expect(try await harness.tryLogIn().problem == "credentials-not-valid", "the forgotten one is no longer valid")
            #expect(try await harness.isOpen(oldPhone.accessToken) == false, "whoever was logged in must log in again")
            #expect(try await harness.refresh(oldPhone.refreshToken).status == 401)
            _ = try await harness.mail.arrived(to: "anna@example.org", .passwordChanged)
        }
    }

    @Test("ACC-16: an unknown address gets the same neutral answer as a known one, and no mail")
    func neutral() async throws {
        try await LogInHarness.runWithPerson { harness in
            let unknown = try await ask(harness, "nobody@example.org").expect(status: 202)
            let known = try await ask(harness, "anna@example.org").expect(status: 202)
            #expect(unknown.body == known.body)
            _ = try await link(harness)
            // Wishes are answered in order: the unknown one came first.
            #expect(harness.mail.messages(to: "nobody@example.org").isEmpty)
            let left = try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM recovery_wishes") }
            #expect(left == 0)
        }
    }

    @Test("CON-08: before the answer both do the same: one row with the sealed address, looked at afterwards")
    func sameWork() async throws {
        try await LogInHarness.runWithPerson { harness in
            func wishes() async throws -> Int {
                let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'recovery_wishes'"
                return try await harness.store.read { db in try Int.fetchOne(db, sql: sql) ?? 0 }
            }
            let before = try await wishes()
            for email in ["nobody@example.org", "anna@example.org"] { try await ask(harness, email).expect(status: 202) }
            #expect(try await wishes() - before == 2)
        }
    }

    @Test("CON-08: the answer's time told who has an account: for neither address is anything done beside the answer, only after a pause")
    func workAfterTheAnswer() async throws {
        try await LogInHarness.runWithPerson { harness in
            @Sendable func changes() async throws -> Int {
                let sql = """
                    SELECT (SELECT count(*) FROM recovery_wishes) = 0
                        OR (SELECT count(*) FROM mail_links WHERE purpose = 'recover') > 0
                    """
                return try await harness.store.read { db in try Int.fetchOne(db, sql: sql) ?? 0 }
            }
            for email in ["nobody@example.org", "anna@example.org"] {
                let asked = ContinuousClock.now
                try await ask(harness, email).expect(status: 202)
                try await eventually("it is looked at") { try await changes() != 0 }
                #expect(ContinuousClock.now - asked >= .milliseconds(Recoveries.pause.lowerBound), "\(email)")
            }
            _ = try await link(harness)
        }
    }

    @Test(
        "ACC-16: a malformed address is said so at once, and nothing is sent",
        arguments: ["anna", "anna@", "@example.org", "anna example.org", "anna@localhost", ""])
    func malformed(_ typed: String) async throws {
        try await LogInHarness.run { harness in
            let response = try await ask(harness, typed)
            #expect(response.status == 422 && response.problem == "invalid-body" && response.pointers == ["/email"])
            let wishes = try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM recovery_wishes") }
            #expect(wishes == 0)
        }
    }

    @Test("ACC-16: an account gets three mails an hour at most, and one address asks only so often; both without telling who is registered")
    func limited() async throws {
        try await LogInHarness.runWithPerson(environment: ["TRACKME_ACC_RECOVERIES_PER_HOUR": "5"]) { harness in
            for _ in 0..<5 { try await ask(harness, "anna@example.org").expect(status: 202) }
            let refused = try await ask(harness, "anna@example.org")
            #expect(refused.status == 429 && refused.headers["retry-after"] != nil)
            try await ask(harness, "nobody@example.org", from: "10.0.0.2").expect(status: 202)
            try await eventually("every wish is answered") {
                try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM recovery_wishes") } == 0
            }
            try await eventually("what was decided is sent") { harness.mail.messages(to: nil, .recoverPassword).count == 3 }
        }
    }

    @Test("ACC-16: a wish survives a crash before it was answered")
    func crash() async throws {
        try await withTemporaryFolder { folder in
            try await LogInHarness.run(in: folder) { harness in
                try await harness.addPerson()
                let email = try #require(EmailAddress("anna@example.org"))
                let now = harness.clock.now
                try await harness.store.write { [requests = harness.parts.recoveries.requests] db in
                    try requests.add(db, email, .italian, at: now)
                }
            }
            try await LogInHarness.run(in: folder) { harness in _ = try await link(harness) }
        }
    }

    @Test("ACC-30: an account that is being closed gets no mail and no new password")
    func closing() async throws {
        try await LogInHarness.run { harness in
            try await harness.addPerson(state: .closing)
            try await harness.addPerson("carla@example.org")
            try await ask(harness, "anna@example.org").expect(status: 202)
            try await ask(harness, "carla@example.org").expect(status: 202)
            _ = try await link(harness, to: "carla@example.org")
            #expect(harness.mail.messages(to: "anna@example.org").isEmpty)
        }
    }

    // MARK: The link

    @Test("ACC-16: a link works once, for its time, for its purpose, and not at all where one character is another")
    func once() async throws {
        try await LogInHarness.runWithPerson { harness in
            try await ask(harness, "anna@example.org").expect(status: 202)
            let token = try await link(harness).linkToken
            let changed = (token.first == "A" ? "B" : "A") + token.dropFirst()
            for wrong in [changed, "", String(token.dropLast()), token + "A", "%00", "🔑"] {
                let response = try await choose(harness, wrong)
                #expect(wrong.isEmpty ? response.status == 422 : response.problem == "link-not-valid")
            }
            let other = try await harness.request(
                "POST", "/consent/v1/recoveries/password",
                json: ["token": token, "password": Self.new, "passwordAgain": Self.new, "invitation": true])
            #expect(other.problem == "link-not-valid", "it is no invitation")
            try await choose(harness, token).expect(status: 204)
            #expect(try await choose(harness, token).problem == "link-not-valid")

            try await ask(harness, "anna@example.org").expect(status: 202)
            let late = try await link(harness, count: 2).linkToken
            harness.clock.advance(.seconds(2 * 3600))
            #expect(try await choose(harness, late).problem == "link-not-valid")
        }
    }

    @Test("ACC-16: of several links the first one used ends the others")
    func severalLinks() async throws {
        try await LogInHarness.runWithPerson { harness in
            try await ask(harness, "anna@example.org").expect(status: 202)
            let first = try await link(harness).linkToken
            try await ask(harness, "anna@example.org").expect(status: 202)
            let second = try await link(harness, count: 2).linkToken
            try await choose(harness, second).expect(status: 204)
            #expect(try await choose(harness, first).problem == "link-not-valid")
        }
    }

    @Test("ACC-16: a password that cannot be taken is named and leaves the link as it was")
    func wrongNew() async throws {
        try await LogInHarness.runWithPerson { harness in
            try await ask(harness, "anna@example.org").expect(status: 202)
            let token = try await link(harness).linkToken
            let differing = try await choose(harness, token, Self.new, again: "noch eine")
            #expect(differing.problem == "new-password-refused" && differing.pointers == ["/password", "/passwordAgain"])
            #expect(try await choose(harness, token, "short").pointers == ["/password"])
            #expect(try await harness.tryLogIn().status == 200, "unchanged")
            try await choose(harness, token).expect(status: 204)
        }
    }

    @Test("X13: a device that a stranger paired read on after the owner's recovery; now it does not, unless the owner says so")
    func devices() async throws {
        try await LogInHarness.run { harness in
            let person = try await harness.addPerson()
            func readersSince() async throws -> Timestamp? {
                try await harness.store.read { db in try AccountStore().find(db, person: person)?.readersSince }
            }
            func recover(_ keeping: [String: Any], count: Int) async throws {
                try await ask(harness, "anna@example.org").expect(status: 202)
                let token = try await harness.mail.arrived(to: "anna@example.org", .recoverPassword, count: count).linkToken
                let body = ["token": token, "password": Self.new, "passwordAgain": Self.new].merging(keeping) { $1 }
                try await harness.request("POST", "/consent/v1/recoveries/password", json: body).expect(status: 204)
            }
            try await recover(["keepDevices": true], count: 1)
            #expect(try await readersSince() == nil)
            harness.clock.advance(.seconds(1))
            try await recover([:], count: 2)
            #expect(try await readersSince() == harness.clock.now)
            let facts = try await harness.store.read { db in
                try Data.fetchAll(db, sql: "SELECT body FROM stream_log WHERE type = 'person-state.v1'")
            }
            let state = try JSONDecoder().decode(PersonState.self, from: try #require(facts.last))
            #expect(facts.count == 1 && state.readersSince == harness.clock.now && state.active)
            try await ask(harness, "anna@example.org").expect(status: 202)
            let page = try await harness.request("GET", "/consent/v1/recovery/" + link(harness, count: 3).linkToken)
            #expect(page.text.contains("keepDevices"))
        }
    }

    @Test("CON-09: whoever has proved by mail who they are need not wait for a stranger's failures")
    func forgetsFailures() async throws {
        try await LogInHarness.runWithPerson { harness in
            for _ in 0..<5 { _ = try await harness.tryLogIn("anna@example.org", "wrong wrong") }
            #expect(try await harness.tryLogIn().status == 429)
            try await ask(harness, "anna@example.org").expect(status: 202)
            try await choose(harness, link(harness).linkToken).expect(status: 204)
            #expect(try await harness.tryLogIn("anna@example.org", Self.new).status == 200)
        }
    }

    @Test("NFR-11: the store holds neither the token of a link nor the address that was typed")
    func atRest() async throws {
        try await LogInHarness.runWithPerson { harness in
            try await ask(harness, "anna@example.org").expect(status: 202)
            let token = try await link(harness).linkToken
            let row = try await harness.store.read { db in
                try Row.fetchOne(db, sql: "SELECT digest, payload FROM mail_links").map { ($0[0] as Data, $0[1] as Data) }
            }
            let (digest, payload) = try #require(row)
            #expect(!String(decoding: digest + payload, as: UTF8.self).contains(token.prefix(8)))
        }
    }

    @Test("ACC-16: what a link carries opens only by its token: another account's token or purpose opens nothing")
    func payload() async throws {
        try await LogInHarness.runWithPerson { harness in
            let now = harness.clock.now
            let (seen, gone) = try await harness.store.write { db in
                let token = try MailLinkStore().make(
                    db, purpose: .changeAddress, account: 1, payload: Array("new@example.org".utf8), at: now, lasting: .seconds(60))
                let otherPurpose = try MailLinkStore().find(db, token, purpose: .recover, at: now)
                let seen = try MailLinkStore().use(db, token, purpose: .changeAddress, at: now)
                return (otherPurpose == nil ? seen : nil, try MailLinkStore().use(db, token, purpose: .changeAddress, at: now))
            }
            #expect(seen.map { String(decoding: $0.payload, as: UTF8.self) } == "new@example.org" && gone == nil)
        }
    }

    // MARK: Pages

    @Test("ACC-16, UI-04: the pages work without a script in both languages: looking uses nothing up, the form names what is wrong")
    func pages() async throws {
        try await LogInHarness.runWithPerson { harness in
            let asking = try await harness.request("GET", "/consent/v1/recovery", headers: ["Accept-Language": "it"])
            #expect(asking.status == 200 && asking.text.contains("Password dimenticata?") && asking.text.contains("<form method=\"post\""))
            let wrong = try await harness.request("POST", "/consent/v1/recovery", form: "email=an%3Cna")
            #expect(wrong.status == 422 && wrong.text.contains("not an e-mail address") && wrong.text.contains("an&lt;na"))
            let unknown = try await harness.request("POST", "/consent/v1/recovery", form: "email=nobody%40example.org")
            let known = try await harness.request("POST", "/consent/v1/recovery", form: "email=anna%40example.org")
            func withoutNonces(_ text: String) -> String { text.replacing(/nonce="[^"]*"/, with: "") }
            #expect(unknown.status == 200 && withoutNonces(unknown.text) == withoutNonces(known.text))

            let path = "/consent/v1/recovery/" + (try await link(harness).linkToken)
            for _ in 0..<3 {
                let page = try await harness.request("GET", path)
                #expect(page.status == 200 && page.text.contains("Choose a new password") && !page.text.contains("<script"))
                #expect(page.headers["cache-control"] == "no-store")
            }
            let differing = try await harness.request(
                "POST", path + "?lang=it", form: "password=tutta+un%27altra+frase&passwordAgain=un%27altra")
            #expect(differing.status == 422 && differing.text.contains("La password non è uguale nei due campi"))
            #expect(!differing.text.contains("tutta un"), "a page never shows a password")
            let foreign = try await harness.request(
                "POST", path, form: "password=abcdefgh1&passwordAgain=abcdefgh1", headers: ["Origin": "https://evil.example"])
            #expect(foreign.status == 403)
            let done = try await harness.request("POST", path, form: "password=tutta+un%27altra+frase&passwordAgain=tutta+un%27altra+frase")
            #expect(done.status == 200 && done.text.contains("The password is saved"))
            #expect(try await harness.tryLogIn("anna@example.org", Self.new).status == 200)
            let gone = try await harness.request("GET", path)
            #expect(gone.status == 404 && gone.text.contains("/consent/v1/recovery"), "and how to get a new one")
        }
    }
}
