// Changing a password: by the old one, after a temporary one, and what is refused.

import Contracts
import Foundation
import GRDB
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Password change")
struct PasswordChangeTests {
    private static let new = "tutta un'altra frase"

    private func change(
        _ harness: LogInHarness, _ session: SessionAnswer, old: String = LogInHarness.password, new: String = new, again: String? = nil,
        endOthers: Bool? = nil
    ) async throws -> HarnessAnswer {
        var body: [String: Any] = ["old": old, "new": new, "newAgain": again ?? new]
        body["endOtherSessions"] = endOthers
        return try await harness.request("PUT", "/consent/v1/password", token: session.accessToken, json: body)
    }

    @Test("ACC-17: the old password once and the new one twice: then the new one is valid, the old one is not, and the owner gets a mail")
    func changes() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            let answer: PasswordChangeAnswer = try await change(harness, session).expect(status: 200).decoded()
            #expect(try await harness.isOpen(answer.accessToken))
            #expect(try await harness.tryLogIn().problem == "credentials-not-valid")
            #expect(try await harness.tryLogIn("anna@example.org", Self.new).status == 200)
            let mail = try await harness.mail.arrived(to: "anna@example.org", .passwordChanged)
            #expect(Set(mail.values.keys) == MessageTemplate.passwordChanged.values)
        }
    }

    @Test("ACC-17: a wrong old password is said so and leaves the password unchanged; it counts as a failed log-in")
    func wrongOld() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            for _ in 0..<5 {
                let refused = try await change(harness, session, old: "not the old one")
                #expect(refused.status == 422 && refused.problem == "wrong-old-password" && refused.pointers == ["/old"])
            }
            #expect(try await change(harness, session).status == 429, "nobody guesses it by a stolen session")
            harness.clock.advance(.seconds(1))
            #expect(try await harness.tryLogIn().status == 200, "unchanged")
        }
    }

    @Test(
        "ACC-17: new entries that differ, or that no password may be, are said so and leave the password unchanged",
        arguments: [
            (Self.new, Self.new + "!", ["/new", "/newAgain"]), ("kurz", "kurz", ["/new"]), ("password1", "password1", ["/new"]),
            ("anna@example.org", "anna@example.org", ["/new"]), ("Anna Bianchi", "Anna Bianchi", ["/new"]),
            (LogInHarness.password, LogInHarness.password, ["/new"]),
        ] as [(String, String, [String])])
    func wrongNew(_ new: String, _ again: String, _ pointers: [String]) async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            let refused = try await change(harness, session, new: new, again: again)
            #expect(refused.status == 422 && refused.problem == "new-password-refused" && refused.pointers == pointers)
            #expect(try await harness.tryLogIn().status == 200, "unchanged")
            #expect(harness.mail.messages(to: nil, .passwordChanged).isEmpty)
        }
    }

    @Test("ACC-17: a form that is not complete names what is missing")
    func missing() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            let refused = try await harness.request("PUT", "/consent/v1/password", token: session.accessToken, json: ["old": "x"])
            #expect(refused.status == 422 && Set(refused.pointers) == ["/new", "/newAgain"])
        }
    }

    @Test("ACC-17, ACC-34: whoever else is logged in must log in again, unless the person wants otherwise")
    func otherSessions() async throws {
        try await LogInHarness.runWithPerson { harness in
            let (here, there) = (try await harness.logIn(), try await harness.logIn())
            try await change(harness, here, endOthers: false).expect(status: 200)
            #expect(try await harness.isOpen(there.accessToken))
            try await change(harness, here, old: Self.new, new: "ancora un'altra frase").expect(status: 200)
            #expect(try await harness.isOpen(there.accessToken) == false)
            #expect(try await harness.isOpen(here.accessToken))
            #expect(try await harness.refresh(here.refreshToken).status == 200)
        }
    }

    @Test(
        "X4: a new password said nothing of sessions that had lapsed, so that a displaced thief's push endpoint stayed",
        arguments: [true, false])
    func lapsedSessions(endOthers: Bool) async throws {
        try await LogInHarness.run { harness in
            let person = try await harness.addPerson()
            let session = try await harness.logIn()
            func said() async throws -> [LapsedSessionsRevoked] {
                try await harness.store.read { db in
                    try Data.fetchAll(db, sql: "SELECT body FROM stream_log WHERE type = ?", arguments: [LapsedSessionsRevoked.type])
                }.map { try JSONDecoder().decode(LapsedSessionsRevoked.self, from: $0) }
            }
            #expect(try await said().isEmpty)
            try await change(harness, session, endOthers: endOthers).expect(status: 200)
            #expect(try await said() == [LapsedSessionsRevoked(person: person)])
        }
    }

    @Test("ACC-17: a mailed link that was under way ends when the password is changed")
    func pendingRecovery() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            try await harness.request("POST", "/consent/v1/recoveries", json: ["email": "anna@example.org"]).expect(status: 202)
            let token = try await harness.mail.arrived(to: "anna@example.org", .recoverPassword).linkToken
            try await change(harness, session).expect(status: 200)
            #expect(try await harness.request("GET", "/consent/v1/recovery/\(token)").status == 404)
        }
    }

    // MARK: Temporary passwords

    @Test("SC-24, ACC-08, ACC-17: with a mailed password one can only choose another; then the new one is valid and the old one is not")
    func temporary() async throws {
        try await LogInHarness.run { harness in
            try await harness.addPerson(temporary: true)
            let session = try await harness.logIn()
            #expect(session.passwordChangeRequired)
            let closed = try await harness.request("GET", "/consent/v1/sessions", token: session.accessToken)
            #expect(closed.status == 403 && closed.problem == "password-change-required")
            let stillLimited: SessionAnswer = try await harness.refresh(session.refreshToken).decoded()
            #expect(stillLimited.passwordChangeRequired)

            let answer: PasswordChangeAnswer = try await change(harness, stillLimited).expect(status: 200).decoded()
            #expect(try await harness.isOpen(answer.accessToken))
            let refreshed: SessionAnswer = try await harness.refresh(stillLimited.refreshToken).decoded()
            #expect(!refreshed.passwordChangeRequired)
            #expect(try await harness.tryLogIn().problem == "credentials-not-valid")
            let later = try await harness.logIn("anna@example.org", Self.new)
            #expect(!later.passwordChangeRequired)
        }
    }

    @Test("ACC-08: somebody with a temporary password can at least log out")
    func temporaryLogOut() async throws {
        try await LogInHarness.run { harness in
            try await harness.addPerson(temporary: true)
            let session = try await harness.logIn()
            try await harness.request("DELETE", "/consent/v1/sessions/current", token: session.accessToken).expect(status: 200)
            #expect(try await change(harness, session).status == 401)
        }
    }

    @Test("ACC-08: a temporary password that is too old is told from a wrong one, and a new one can be requested")
    func temporaryExpired() async throws {
        try await LogInHarness.run { harness in
            try await harness.addPerson(temporary: true)
            harness.clock.advance(.seconds(72 * 3600))
            #expect(try await harness.tryLogIn().problem == "temporary-password-expired")
            #expect(try await harness.tryLogIn("anna@example.org", "wrong wrong").problem == "credentials-not-valid")
            try await harness.request("POST", "/consent/v1/recoveries", json: ["email": "anna@example.org"]).expect(status: 202)
            let token = try await harness.mail.arrived(to: "anna@example.org", .recoverPassword).linkToken
            try await harness.request(
                "POST", "/consent/v1/recoveries/password", json: ["token": token, "password": Self.new, "passwordAgain": Self.new]
            ).expect(status: 204)
            #expect(try await harness.logIn("anna@example.org", Self.new).passwordChangeRequired == false)
        }
    }

    @Test("ACC-08: whether a temporary password must be changed is a setting")
    func temporaryMayStay() async throws {
        try await LogInHarness.run(environment: ["TRACKME_ACC_TEMP_MUST_CHANGE": "false"]) { harness in
            try await harness.addPerson(temporary: true)
            let session = try await harness.logIn()
            #expect(!session.passwordChangeRequired)
            #expect(try await harness.isOpen(session.accessToken))
        }
    }
}
