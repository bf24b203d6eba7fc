// Second factors through the doors: enrolled, asked for at each log-in, required of operators and members, and proofs within a session.

import Bus
import Contracts
import Dispatch
import Foundation
import Sealing
import Storage
import Synchronization
import TestKit
import Testing

@testable import Consent

@Suite("Second factors")
struct SecondFactorTests {
    private static let required = ["TRACKME_ACC_SECOND_FACTOR": "required"]
    private static let operatorAddress = "olga@example.org"

    /// An authenticator that holds the secret of an enrolment.
    private struct Authenticator {
        let secret: [UInt8]

        init(base32 text: String) throws {
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
            let bits = try text.flatMap { letter in
                let value = try #require(alphabet.firstIndex(of: letter))
                return (0..<5).reversed().map { UInt8(value >> $0 & 1) }
            }
            secret = stride(from: 0, to: bits.count / 8 * 8, by: 8).map { start in bits[start..<start + 8].reduce(0) { $0 << 1 | $1 } }
        }

        func code(at now: Timestamp, steps: Int64 = 0) -> String {
            OneTimePassword.text(of: Digest.hmacSHA1(OneTimePassword.message(OneTimePassword.step(at: now) + steps), keyBytes: secret))
        }
    }

    /// Enrols, and moves the clock on so that the next code is another.
    private func enrol(_ harness: LogInHarness, _ token: String?) async throws -> (Authenticator, EnrolledItem) {
        let offered = try await harness.request("POST", "/consent/v1/second-factor", token: token)
        #expect(offered.status == 200, "\(offered.text)")
        let item = try offered.decoded(as: OfferedFactorItem.self)
        #expect(item.link.hasPrefix("otpauth://totp/TrackMe:") && item.link.contains("secret=\(item.secret)&"))
        let authenticator = try Authenticator(base32: item.secret)
        let code = authenticator.code(at: harness.clock.now)
        let confirmed = try await harness.request("POST", "/consent/v1/second-factor/confirmation", token: token, json: ["code": code])
        #expect(confirmed.status == 200, "\(confirmed.text)")
        harness.clock.advance(.seconds(60))
        return (authenticator, try confirmed.decoded())
    }

    /// Keeps the store's writer until it is let go, ten seconds at most.
    private final class HeldWriter: Sendable {
        private let begun = Atomic<Bool>(false)
        private let gate = DispatchSemaphore(value: 0)

        var isHeld: Bool { begun.load(ordering: .sequentiallyConsistent) }

        /// False where nobody let go in time.
        func hold() -> Bool {
            begun.store(true, ordering: .sequentiallyConsistent)
            return gate.wait(timeout: .now() + 10) == .success
        }

        func letGo() {
            gate.signal()
        }
    }

    private func logIn(
        _ harness: LogInHarness, _ login: String = "anna@example.org", _ password: String = LogInHarness.password, code: String?
    ) async throws -> HarnessAnswer {
        var body = ["login": login, "password": password, "device": "phone"]
        body["code"] = code
        return try await harness.request("POST", "/consent/v1/sessions", json: body)
    }

    @Test("X5: after a log-in under a clock that was an hour ahead every right code was refused for an hour; no used one is taken again")
    func clockPutBack() async throws {
        try await LogInHarness.runWithPerson { harness in
            let (authenticator, _) = try await enrol(harness, try await harness.logIn().accessToken)
            let early = authenticator.code(at: harness.clock.now)
            #expect(try await logIn(harness, code: early).status == 200)
            harness.clock.advance(.seconds(3600))
            #expect(try await logIn(harness, code: authenticator.code(at: harness.clock.now)).status == 200)
            harness.clock.advance(.seconds(-3600))
            #expect(try await logIn(harness, code: early).status == 401, "it was used before the clock leapt")
            #expect(try await logIn(harness, code: authenticator.code(at: harness.clock.now, steps: 1)).status == 200)
        }
    }

    @Test("X5: a person who has enrolled logs in with password and code; no code is taken twice, and the token says how")
    func shown() async throws {
        try await LogInHarness.runWithPerson { harness in
            let (authenticator, _) = try await enrol(harness, try await harness.logIn().accessToken)
            _ = try await harness.mail.arrived(to: "anna@example.org", .secondFactorChanged)
            let missing = try await logIn(harness, code: nil)
            #expect(missing.status == 401 && missing.problem == "second-factor-needed" && missing.pointers == ["/code"])
            let code = authenticator.code(at: harness.clock.now)
            let session = try await logIn(harness, code: code)
            #expect(session.status == 200)
            let token = try #require(try session.decoded(as: SessionAnswer.self).accessToken)
            let payload = try #require(Base64URL.decode(token.split(separator: ".")[1]))
            let claims = try JSONDecoder().decode(AccessTokenClaims.self, from: Data(payload))
            #expect(claims.amr == ["pwd", "otp", "mfa"] && claims.authTime == harness.clock.now.milliseconds / 1000)
            #expect(try await logIn(harness, code: code).problem == "second-factor-not-right", "the same again")
            #expect(try await logIn(harness, code: authenticator.code(at: harness.clock.now, steps: -1)).status == 401, "an earlier one")
            #expect(try await logIn(harness, code: authenticator.code(at: harness.clock.now, steps: 1)).status == 200, "a clock ahead")
            #expect(try await logIn(harness, code: authenticator.code(at: harness.clock.now, steps: 2)).status == 401)
            #expect(try await logIn(harness, LogInHarness.password + "x", code: nil).problem == "credentials-not-valid")
        }
    }

    @Test("X5: a session that was open when the factor was enrolled took it away again without a code: it ends with the enrolment")
    func sessionsBefore() async throws {
        try await LogInHarness.runWithPerson { harness in
            let (owner, thief) = (try await harness.logIn().accessToken, try await harness.logIn().accessToken)
            _ = try await enrol(harness, owner)
            #expect(try await harness.request("DELETE", "/consent/v1/second-factor", token: thief).status == 401)
            #expect(try await harness.request("POST", "/consent/v1/second-factor/recovery-codes", token: thief).status == 401)
            #expect(try await logIn(harness, code: nil).problem == "second-factor-needed", "the factor is still there")
        }
    }

    @Test("X2: a wrong code at an enrolment waited for the store's writer and made recovery codes: it is refused by reading alone")
    func wrongAtEnrolment() async throws {
        try await LogInHarness.runWithPerson { harness in
            let token = try await harness.logIn().accessToken
            func confirm(_ code: String) async throws -> HarnessAnswer {
                try await harness.request("POST", "/consent/v1/second-factor/confirmation", token: token, json: ["code": code])
            }
            let writer = HeldWriter()
            async let isLetGo = harness.store.write { _ in writer.hold() }
            try await eventually("the writer is held") { writer.isHeld }
            #expect(try await confirm("123456").problem == "second-factor-wrong", "none is begun")
            writer.letGo()
            let wasLetGo = try await isLetGo
            #expect(wasLetGo, "the answer waited for the writer")

            let offered = try await harness.request("POST", "/consent/v1/second-factor", token: token).decoded(as: OfferedFactorItem.self)
            let authenticator = try Authenticator(base32: offered.secret)
            for code in [authenticator.code(at: harness.clock.now, steps: 5), "12345", "none"] {
                let refused = try await confirm(code)
                #expect(refused.status == 422 && refused.problem == "second-factor-wrong")
            }
            let code = authenticator.code(at: harness.clock.now)
            #expect(try await confirm(code).status == 200)
            #expect(try await confirm(code).problem == "second-factor-enrolled")
            // What is stored would say that one is enrolled.
            #expect(try await confirm("none").problem == "second-factor-wrong", "the store was asked about what cannot be a code")
        }
    }

    @Test("X5: wrong codes are slowed down as wrong passwords are; one that is not sent does not count")
    func throttled() async throws {
        try await LogInHarness.runWithPerson { harness in
            let (authenticator, _) = try await enrol(harness, try await harness.logIn().accessToken)
            for _ in 0..<10 { #expect(try await logIn(harness, code: nil).status == 401) }
            for _ in 0..<5 { #expect(try await logIn(harness, code: "000000").status == 401) }
            #expect(try await logIn(harness, code: authenticator.code(at: harness.clock.now)).status == 429)
            _ = try await harness.mail.arrived(to: "anna@example.org", .failedLogIns)
        }
    }

    @Test("X5: a recovery code is good once in place of a code, its owner is told, and new ones end the old")
    func recoveryCodes() async throws {
        try await LogInHarness.runWithPerson { harness in
            let (_, enrolled) = try await enrol(harness, try await harness.logIn().accessToken)
            #expect(enrolled.recoveryCodes.count == RecoveryCode.count)
            let session = try await logIn(harness, code: enrolled.recoveryCodes[0].uppercased())
            #expect(session.status == 200)
            #expect(try await logIn(harness, code: enrolled.recoveryCodes[0]).status == 401)
            _ = try await harness.mail.arrived(to: "anna@example.org", .secondFactorChanged, count: 2)
            let token = try session.decoded(as: SessionAnswer.self).accessToken
            let state = try await harness.request("GET", "/consent/v1/second-factor", token: token).decoded(as: SecondFactorItem.self)
            #expect(state.recoveryCodesLeft == RecoveryCode.count - 1 && state.enrolledAt != nil && !state.required)
            #expect(try await harness.request("POST", "/consent/v1/second-factor/recovery-codes", token: token).status == 200)
            #expect(try await logIn(harness, code: enrolled.recoveryCodes[1]).status == 401)
        }
    }

    @Test("X5: an operator needed a password only; the next log-in is good for enrolling a second factor and nothing else")
    func operators() async throws {
        try await LogInHarness.run(environment: Self.required) { harness in
            let made = try await harness.trackme.ask(
                MakeOperator(email: Self.operatorAddress, language: .english), deadline: .seconds(5))
            let temporary = try await harness.logIn(Self.operatorAddress, made.temporaryPassword)
            #expect(temporary.passwordChangeRequired && temporary.secondFactorRequired)
            let change = ["old": made.temporaryPassword, "new": LogInHarness.password, "newAgain": LogInHarness.password]
            let changed = try await harness.request("PUT", "/consent/v1/password", token: temporary.accessToken, json: change)
            let token = try changed.decoded(as: PasswordChangeAnswer.self).accessToken
            let refused = try await harness.request("GET", "/consent/v1/sessions", token: token)
            #expect(refused.status == 403 && refused.problem == "second-factor-required")
            let (authenticator, enrolled) = try await enrol(harness, token)
            #expect(try await harness.isOpen(enrolled.accessToken))
            let session = try await logIn(harness, Self.operatorAddress, code: authenticator.code(at: harness.clock.now))
            #expect(try session.decoded(as: SessionAnswer.self).secondFactorRequired == false)
            let refreshed = try await harness.refresh(session.decoded(as: SessionAnswer.self).refreshToken)
            #expect(try refreshed.decoded(as: SessionAnswer.self).secondFactorRequired == false)
            // Made anew, for whoever has lost the authenticator.
            let again = try await harness.trackme.ask(
                MakeOperator(email: Self.operatorAddress, language: .english), deadline: .seconds(5))
            #expect(try await harness.logIn(Self.operatorAddress, again.temporaryPassword).secondFactorRequired)
        }
    }

    @Test("X5: so it is with whoever works for an organisation, also after a refresh; people are offered one")
    func members() async throws {
        try await LogInHarness.run(environment: Self.required) { harness in
            _ = try await harness.addMember("giulia@example.org")
            let invitation = try await harness.mail.arrived(to: "giulia@example.org", .memberInvited).linkToken
            let body: [String: Any] = [
                "token": invitation, "password": LogInHarness.password, "passwordAgain": LogInHarness.password, "invitation": true,
            ]
            #expect(try await harness.request("POST", "/consent/v1/recoveries/password", json: body).status == 204)
            let session = try await harness.logIn("giulia@example.org")
            #expect(session.secondFactorRequired)
            let next = try await harness.refresh(session.refreshToken).decoded(as: SessionAnswer.self)
            #expect(next.secondFactorRequired)
            #expect(try await harness.request("GET", "/consent/v1/sessions", token: next.accessToken).problem == "second-factor-required")
            try await harness.addPerson()
            #expect(try await harness.logIn().secondFactorRequired == false)
        }
    }

    @Test("X4: a second factor is enrolled and taken away by a fresh proof alone; password or code gives one, a wrong one does not")
    func fresh() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            harness.clock.advance(.seconds(301))
            let stale = try await harness.request("POST", "/consent/v1/second-factor", token: session.accessToken)
            #expect(stale.status == 401 && stale.problem == "insufficient-user-authentication")
            #expect(stale.headers["www-authenticate"]?.contains("insufficient_user_authentication") == true)
            #expect(try await harness.isOpen(session.accessToken), "everything else goes on")
            func prove(_ body: [String: String], _ token: String? = nil) async throws -> HarnessAnswer {
                try await harness.request(
                    "POST", "/consent/v1/sessions/current/authentication", token: token ?? session.accessToken, json: body)
            }
            #expect(try await prove(["password": "wrong wrong"]).problem == "wrong-proof")
            #expect(try await prove(["code": "123456"]).problem == "wrong-proof", "none is enrolled")
            #expect(try await prove([:]).problem == "invalid-body")
            let proved = try await prove(["password": LogInHarness.password]).decoded(as: PasswordChangeAnswer.self)
            let (authenticator, _) = try await enrol(harness, proved.accessToken)
            harness.clock.advance(.seconds(301))
            #expect(try await harness.request("DELETE", "/consent/v1/second-factor", token: proved.accessToken).status == 401)
            let alone = try await prove(["password": LogInHarness.password], proved.accessToken)
            #expect(alone.status == 422 && alone.problem == "wrong-proof", "the password alone took the second factor away")
            let code = authenticator.code(at: harness.clock.now)
            let again = try await prove(["code": code], proved.accessToken).decoded(as: PasswordChangeAnswer.self)
            #expect(try await harness.request("DELETE", "/consent/v1/second-factor", token: again.accessToken).status == 204)
            #expect(try await logIn(harness, code: nil).status == 200)
            for _ in 0..<5 { _ = try await prove(["password": "wrong wrong"], again.accessToken) }
            #expect(try await prove(["password": LogInHarness.password], again.accessToken).status == 429)
        }
    }

    @Test(
        "X13: a second factor that a stranger enrolled before the address was confirmed ends with the owner's recovery; a later one stays")
    func recovery() async throws {
        try await LogInHarness.runWithPerson { harness in
            _ = try await enrol(harness, try await harness.logIn().accessToken)
            for round in 1...2 {
                let asked = try await harness.request("POST", "/consent/v1/recoveries", json: ["email": "anna@example.org"])
                #expect(asked.status == 202)
                let link = try await harness.mail.arrived(to: "anna@example.org", .recoverPassword, count: round).linkToken
                let body = ["token": link, "password": "un'altra frase \(round)", "passwordAgain": "un'altra frase \(round)"]
                #expect(try await harness.request("POST", "/consent/v1/recoveries/password", json: body).status == 204)
                let session = try await logIn(harness, "anna@example.org", "un'altra frase \(round)", code: nil)
                #expect(session.status == (round == 1 ? 200 : 401), "\(session.text)")
                if round == 1 { _ = try await enrol(harness, session.decoded(as: SessionAnswer.self).accessToken) }
            }
        }
    }
}
