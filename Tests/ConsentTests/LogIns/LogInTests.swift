// Logging in over HTTP: the same answer for whatever is wrong, and what follows from many wrong ones.

import Bus
import Contracts
import Foundation
import GRDB
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Log-in")
struct LogInTests {
    @Test("ACC-11: the e-mail in any spelling of case and the matching password log in; anything else gets one message")
    func logIn() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn("ANNA@Example.org ")
            #expect(session.kind == .person && session.expiresIn == 600 && !session.passwordChangeRequired)
            #expect(try await harness.isOpen(session.accessToken))

            let wrong = try await harness.tryLogIn("anna@example.org", "un'altra frase")
            let unknown = try await harness.tryLogIn("nobody@example.org", LogInHarness.password)
            let noAddress = try await harness.tryLogIn("not an address", LogInHarness.password)
            for refused in [wrong, unknown, noAddress] {
                #expect(refused.status == 401 && refused.problem == "credentials-not-valid")
                // The form keeps the name and empties the password.
                #expect(refused.pointers == ["/password"])
            }
            func said(_ response: HarnessAnswer) throws -> Problem {
                var problem: Problem = try response.decoded()
                problem.requestId = nil
                return problem
            }
            #expect(try said(wrong) == said(unknown))
            #expect(try said(wrong) == said(noAddress))
            #expect(!wrong.text.contains("anna@"))
        }
    }

    @Test("A log-in while a slow disk kept the store was answered with 500: it is put off, and taken afterwards")
    func slowDisk() async throws {
        try await withTemporaryFolder { folder in
            try await LogInHarness.run(in: folder) { harness in
                try await harness.addPerson()
                var configuration = Configuration()
                configuration.allowsUnsafeTransactions = true
                configuration.busyMode = .timeout(20)
                let other = try DatabaseQueue(
                    path: folder.appendingPathComponent("store/consent.db").path, configuration: configuration)
                try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
                let refused = try await harness.tryLogIn()
                #expect(refused.status == 503 && refused.problem == "unavailable" && refused.headers["retry-after"] == "1")
                try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
                try other.close()
                #expect(try await harness.tryLogIn().status == 200)
            }
        }
    }

    @Test("ACC-11: an empty form names what is missing")
    func emptyForm() async throws {
        try await LogInHarness.run { harness in
            let response = try await harness.request("POST", "/consent/v1/sessions", json: [:])
            #expect(response.status == 422 && response.problem == "invalid-body")
            #expect(Set(response.pointers) == ["/login", "/password"])
            let empty = try await harness.request("POST", "/consent/v1/sessions", json: ["login": "", "password": "", "admin": true])
            #expect(empty.status == 422 && Set(empty.pointers).isSuperset(of: ["/login", "/password"]))
        }
    }

    @Test("ACC-11, CON-07: user name and fiscal code log in where they are switched on, and only there")
    func identifiers() async throws {
        let code = "RSSMRA85T10A562S"
        try await LogInHarness.run { harness in
            try await harness.addPerson(fiscalCode: code, userName: "anna.b")
            for name in [code, "anna.b"] {
                #expect(try await harness.tryLogIn(name).problem == "credentials-not-valid")
            }
            #expect(try await harness.tryLogIn().status == 200)
        }
        try await LogInHarness.run(environment: ["TRACKME_ACC_LOGIN_IDS": "username, fiscal_code"]) { harness in
            try await harness.addPerson(fiscalCode: code, userName: "anna.b")
            for name in [code, code.lowercased(), "anna.b", "ANNA.B"] { #expect(try await harness.tryLogIn(name).status == 200) }
            #expect(try await harness.tryLogIn().problem == "credentials-not-valid", "the address is switched off")
        }
    }

    @Test("ACC-11: detailed messages come only where an operator has switched them on")
    func detailed() async throws {
        try await LogInHarness.runWithPerson(environment: ["TRACKME_ACC_DETAILED_LOGIN_ERRORS": "true"]) { harness async throws in
            #expect(try await harness.tryLogIn("nobody@example.org").problem == "unknown-identifier")
            #expect(try await harness.tryLogIn("anna@example.org", "un'altra frase").problem == "log-in-password-wrong")
        }
    }

    @Test(
        "ACC-11: what stands in the way of an account is said only to whoever has the password",
        arguments: zip(
            [AccountState.unconfirmed, .awaitingGuardian, .closing],
            ["address-not-confirmed", "guardian-awaited", "credentials-not-valid"]))
    func obstacles(_ state: AccountState, _ problem: String) async throws {
        try await LogInHarness.run { harness in
            try await harness.addPerson(state: state)
            #expect(try await harness.tryLogIn().problem == problem)
            #expect(try await harness.tryLogIn("anna@example.org", "un'altra frase").problem == "credentials-not-valid")
        }
    }

    // MARK: Kinds of account

    @Test("ACC-14: each kind of account gets a token of its own kind; asked for another kind, nobody logs in")
    func kinds() async throws {
        try await LogInHarness.runWithPerson { harness in
            let made = try await harness.trackme.ask(MakeOperator(email: "olga@example.org", language: .english), deadline: .seconds(5))
            #expect(try await harness.tryLogIn(kind: "person").status == 200)
            #expect(try await harness.tryLogIn(kind: "operator").problem == "credentials-not-valid")
            #expect(try await harness.tryLogIn(kind: "queen").status == 422)
            let operating = try await harness.tryLogIn("olga@example.org", made.temporaryPassword, kind: "operator")
            #expect(try operating.decoded(as: SessionAnswer.self).kind == .operator)
        }
    }

    // MARK: Failures

    @Test("ACC-12: three wrong log-ins in a row bring the owner one mail; a success starts the count anew; the form shows the same message")
    func mailAfterThree() async throws {
        try await LogInHarness.runWithPerson { harness in
            let mail = "anna@example.org"
            for _ in 0..<2 { #expect(try await harness.tryLogIn(mail, "wrong wrong").problem == "credentials-not-valid") }
            _ = try await harness.logIn()
            for _ in 0..<2 { _ = try await harness.tryLogIn(mail, "wrong wrong") }
            // A mail would have been sent before this one.
            try await harness.request("POST", "/consent/v1/recoveries", json: ["email": mail]).expect(status: 202)
            _ = try await harness.mail.arrived(to: mail, .recoverPassword)
            #expect(harness.mail.messages(to: mail, .failedLogIns).isEmpty)

            #expect(try await harness.tryLogIn(mail, "wrong wrong").problem == "credentials-not-valid")
            let warning = try await harness.mail.arrived(to: mail, .failedLogIns)
            #expect(Set(warning.values.keys) == MessageTemplate.failedLogIns.values && warning.values["count"] == "3")
            #expect(warning.language == .italian)

            _ = try await harness.tryLogIn(mail, "wrong wrong")
            try await harness.request("POST", "/consent/v1/recoveries", json: ["email": mail]).expect(status: 202)
            _ = try await harness.mail.arrived(to: mail, .recoverPassword, count: 2)
            #expect(harness.mail.messages(to: mail, .failedLogIns).count == 1, "one warning in a run")
        }
    }

    @Test("ACC-12: the number of failures is a setting, and members of organisations are warned alike (CON-09)")
    func mailAfterOne() async throws {
        try await LogInHarness.run(environment: ["TRACKME_ACC_FAIL_NOTICE_AFTER": "1"]) { harness in
            _ = try await harness.addMember("max@example.com")
            let invitation = try await harness.mail.arrived(to: "max@example.com", .memberInvited)
            let token = try invitation.linkToken
            try await harness.request(
                "POST", "/consent/v1/recoveries/password",
                json: ["token": token, "password": LogInHarness.password, "passwordAgain": LogInHarness.password, "invitation": true]
            ).expect(status: 204)
            _ = try await harness.tryLogIn("max@example.com", "wrong wrong")
            _ = try await harness.mail.arrived(to: "max@example.com", .failedLogIns)
        }
    }

    @Test("ACC-12, CON-09: from the fifth failure on the next try waits, whether or not somebody has that name, and the wait ends")
    func throttled() async throws {
        try await LogInHarness.runWithPerson { harness in
            for name in ["anna@example.org", "nobody@example.org"] {
                for _ in 0..<5 { #expect(try await harness.tryLogIn(name, "wrong wrong").status == 401) }
                let refused = try await harness.tryLogIn(name, LogInHarness.password)
                #expect(refused.status == 429 && refused.problem == "too-many-requests")
                #expect(refused.headers["retry-after"] == "1")
            }
            harness.clock.advance(.seconds(1))
            #expect(try await harness.tryLogIn().status == 200)
            #expect(try await harness.tryLogIn("nobody@example.org").status == 401)
            #expect(try await harness.tryLogIn("anna@example.org", "wrong wrong").status == 401, "the run began anew")
        }
    }

    @Test("CON-09: strangers' failures keep nobody out who is logged in from where they are")
    func ownAddress() async throws {
        try await LogInHarness.runWithPerson { harness in
            #expect(try await harness.tryLogIn(from: "192.0.2.7").status == 200)
            for _ in 0..<5 { _ = try await harness.tryLogIn("anna@example.org", "wrong wrong", from: "198.51.100.1") }
            #expect(try await harness.tryLogIn(from: "198.51.100.2").status == 429)
            #expect(try await harness.tryLogIn(from: "192.0.2.7").status == 200)
        }
    }

    @Test("NFR-15: one remote address that guesses among many names is slowed down as well")
    func perAddress() async throws {
        try await LogInHarness.runWithPerson { harness async throws in
            for number in 0..<20 { #expect(try await harness.tryLogIn("n\(number)@example.org", from: "198.51.100.9").status == 401) }
            #expect(try await harness.tryLogIn(from: "198.51.100.9").status == 429)
            #expect(try await harness.tryLogIn(from: "198.51.100.8").status == 200)
        }
        try await LogInHarness.runWithPerson(environment: ["TRACKME_ACC_LOG_INS_PER_MINUTE": "3"]) { harness in
            for _ in 0..<3 { #expect(try await harness.tryLogIn().status == 200) }
            let refused = try await harness.tryLogIn()
            #expect(refused.status == 429 && refused.headers["retry-after"] != nil)
        }
    }

    @Test("CON-09: failures survive a restart")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let clock = TestClock()
            try await LogInHarness.run(in: folder, clock: clock) { harness in
                try await harness.addPerson()
                for _ in 0..<5 { _ = try await harness.tryLogIn("anna@example.org", "wrong wrong") }
            }
            try await LogInHarness.run(in: folder, clock: clock) { harness in
                let response = try await harness.tryLogIn()
                #expect(response.status == 429)
            }
        }
    }

    @Test("CON-08: a log-in under an unknown name does the same work as under a known one: one hash and one row of the same shape")
    func sameWork() async throws {
        try await LogInHarness.runWithPerson { harness in
            func rows() async throws -> Int {
                try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM log_in_runs") ?? 0 }
            }
            _ = try await harness.tryLogIn("anna@example.org", "wrong wrong", from: "10.1.0.1")
            let known = try await rows()
            _ = try await harness.tryLogIn("nobody@example.org", "wrong wrong", from: "10.1.0.2")
            #expect(try await rows() == 2 * known)
            let shown = try await harness.store.read { db in
                try Row.fetchAll(db, sql: "SELECT length(subject), count FROM log_in_runs").map { "\($0[0] as Int) \($0[1] as Int)" }
            }
            #expect(Set(shown) == ["16 1"])
        }
    }
}
