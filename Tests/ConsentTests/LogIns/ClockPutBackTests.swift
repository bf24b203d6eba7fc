// Log-ins, refreshes and ends of sessions where the machine's clock goes back: nobody is locked out, and nothing that ended begins anew.

import Bus
import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Log-ins after the clock went back")
struct ClockPutBackTests {
    private static let hour = Duration.seconds(3600)

    /// Whether every service would believe the token; the doors of consent ask its store besides.
    private func isBelieved(_ token: String?, _ harness: LogInHarness) throws -> Bool {
        harness.parts.checker.check(try #require(token), now: harness.clock.now) != nil
    }

    @Test(
        "CON-09, ACC-34: the clock went back, and every log-in got 429 and every refresh 503 until it had caught up, also after a restart",
        arguments: [3600, 86_400, 10 * 86_400])
    func nobodyIsLockedOut(seconds: Int) async throws {
        try await withTemporaryFolder { folder in
            let clock = TestClock()
            let kept = try await LogInHarness.run(in: folder, clock: clock) { harness in
                try await harness.addPerson()
                let session = try await harness.logIn()
                #expect(try await harness.tryLogIn("anna@example.org", "wrong wrong").status == 401)
                clock.advance(.seconds(-seconds))
                #expect(try await harness.isOpen(session.accessToken) == false, "it would be good for longer than was promised")
                let next: SessionAnswer = try await harness.refresh(session.refreshToken).expect(status: 200).decoded()
                #expect(try await harness.isOpen(next.accessToken))
                let again = try await harness.logIn()
                #expect(try await harness.isOpen(again.accessToken))
                #expect(try await harness.tryLogIn(from: "198.51.100.7").status == 200)
                return next
            }
            clock.advance(.seconds(1))
            try await LogInHarness.run(in: folder, clock: clock) { harness in
                let next: SessionAnswer = try await harness.refresh(kept.refreshToken).expect(status: 200).decoded()
                #expect(try await harness.isOpen(next.accessToken))
                try await harness.addPerson("nuova@example.org")
                for name in ["anna@example.org", "nuova@example.org"] { #expect(try await harness.tryLogIn(name).status == 200) }
                let made = try await harness.trackme.ask(MakeOperator(email: "olga@example.org", language: .english), deadline: .seconds(5))
                #expect(try await harness.tryLogIn("olga@example.org", made.temporaryPassword, kind: "operator").status == 200)
            }
        }
    }

    @Test("CON-09: after the clock went back the wait for five failures is the one second that it was, and failures count on")
    func throttleHolds() async throws {
        try await LogInHarness.runWithPerson { harness in
            for _ in 0..<5 { #expect(try await harness.tryLogIn("anna@example.org", "wrong wrong").status == 401) }
            harness.clock.advance(.zero - Self.hour)
            for _ in 0..<2 {
                let refused = try await harness.tryLogIn()
                #expect(refused.status == 429 && refused.headers["retry-after"] == "1")
            }
            harness.clock.advance(.seconds(1))
            #expect(try await harness.tryLogIn("anna@example.org", "wrong wrong").status == 401)
            let refused = try await harness.tryLogIn()
            #expect(refused.status == 429 && refused.headers["retry-after"] == "2", "the sixth")
            harness.clock.advance(.seconds(2))
            #expect(try await harness.tryLogIn().status == 200)
        }
    }

    @Test("ACC-15: a session that was refreshed and ended after the clock went back was alive again when the clock reached its old token")
    func endsHold() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            harness.clock.advance(.zero - Self.hour)
            let next: SessionAnswer = try await harness.refresh(session.refreshToken).expect(status: 200).decoded()
            try await harness.request("DELETE", "/consent/v1/sessions/current", token: next.accessToken).expect(status: 200)
            for step in [Duration.zero, .seconds(1800), .seconds(1860)] {
                harness.clock.advance(step)
                try await harness.parts.sessions.sweep()
                for token in [session.accessToken, next.accessToken] { #expect(try !isBelieved(token, harness)) }
            }
            #expect(try await harness.refresh(next.refreshToken).status == 401)
        }
    }

    @Test("ACC-15: the token of a fresh proof was believed on after a log-out, where the session had not been refreshed for ten minutes")
    func endOfProof() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            harness.clock.advance(.seconds(590))
            let proved = try await harness.request(
                "POST", "/consent/v1/sessions/current/authentication", token: session.accessToken, json: ["password": LogInHarness.password]
            ).expect(status: 200).decoded(as: PasswordChangeAnswer.self)
            harness.clock.advance(.seconds(60))
            #expect(try isBelieved(proved.accessToken, harness))
            try await harness.request("DELETE", "/consent/v1/sessions/current", token: proved.accessToken).expect(status: 200)
            try await harness.parts.sessions.sweep()
            #expect(try !isBelieved(proved.accessToken, harness))
        }
    }

    @Test("ACC-34: after the clock went back whoever had fifty sessions was logged out at once by the fifty-first")
    func fifty() async throws {
        try await LogInHarness.runWithPerson { harness in
            for _ in 0..<SessionStore.perAccount { _ = try await harness.logIn() }
            harness.clock.advance(.zero - Self.hour)
            let newest = try await harness.logIn()
            #expect(try await harness.isOpen(newest.accessToken))
            let listed: Page<SessionItem> = try await harness.request("GET", "/consent/v1/sessions", token: newest.accessToken).decoded()
            #expect(listed.items.count == SessionStore.perAccount)
        }
    }

    @Test("ACC-16: mails of before the clock went back kept the next link from whoever had forgotten the password")
    func recoveries() async throws {
        try await LogInHarness.runWithPerson { harness in
            func ask(_ number: Int) async throws {
                try await harness.request(
                    "POST", "/consent/v1/recoveries", json: ["email": "anna@example.org"],
                    headers: AccountHarness.forwarded("10.0.1.\(number)")
                ).expect(status: 202)
                _ = try await harness.mail.arrived(to: "anna@example.org", .recoverPassword, count: number)
            }
            for number in 1...Recoveries.linksPerHour { try await ask(number) }
            harness.clock.advance(.zero - Self.hour)
            try await ask(Recoveries.linksPerHour + 1)
        }
    }
}
