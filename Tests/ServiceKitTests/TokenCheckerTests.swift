// Access tokens: which are good, for which doors, and what a log-out or an erasure does to them.

import Contracts
import Foundation
import GRDB
import HTTPKit
import Logging
import Sealing
import Storage
import TestKit
import Testing

@testable import ServiceKit

@Suite("Checking access tokens")
struct TokenCheckerTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)
    private static let second: Int64 = 1_800_000_000
    private static let issuer = "https://localhost:8443"
    private static let person = PersonID(bits: 5)
    private static let session = SessionID(bits: 6)
    private static let migrations = [
        Migration(1, "tokens") { db in
            try ConsumerPositions.create(in: db)
            try TokenChecker.create(in: db)
        }
    ]

    private let key: SigningKey

    init() throws {
        key = try SigningKey(seed: 0..<32)
    }

    private func withChecker(_ body: (TokenChecker, Store) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let store = try Store.open(
                folder.appendingPathComponent("a.db"), applicationID: 1, migrations: Self.migrations, logger: Logger(label: "test"))
            let checker = try TokenChecker(store: store, issuer: Self.issuer)
            try await tell(checker, store, keyState(key, "k1"), SigningKeyState.type, StreamFamily.signingKeysStream)
            try await body(checker, store)
            await store.close()
        }
    }

    private func keyState(
        _ key: SigningKey, _ id: String, from: Duration = .seconds(-60), until: Duration = .seconds(600)
    ) -> SigningKeyState {
        SigningKeyState(
            keyID: id, publicKey: Base64URL.encode(key.publicKey.bytes), notBefore: Self.now + from, notAfter: Self.now + until)
    }

    private func event(_ fact: some Encodable, _ type: String, _ stream: String) throws -> StreamEvent {
        StreamEvent(
            header: StreamHeader(
                stream: stream, epoch: "e", sequence: 1, head: 1, type: type, subject: "", at: Self.now, trace: ""),
            payload: Array(try JSONEncoder().encode(fact)))
    }

    private func tell(_ checker: TokenChecker, _ store: Store, _ fact: some Encodable, _ type: String, _ stream: String) async throws {
        let event = try event(fact, type, stream)
        try await store.write { try checker.apply($0, event) }
        checker.heard([event], at: Self.now)
    }

    private func claims(_ change: (inout AccessTokenClaims) -> Void = { _ in }) -> AccessTokenClaims {
        var claims = AccessTokenClaims(
            iss: Self.issuer, sub: Self.person.description, kind: .person, sid: Self.session, authTime: Self.second,
            amr: ["pwd"], jti: "1", iat: Self.second, nbf: Self.second, exp: Self.second + 600)
        change(&claims)
        return claims
    }

    private func token(_ claims: AccessTokenClaims, keyID: String = "k1", typ: String = "at+jwt", key: SigningKey? = nil) throws -> String {
        try CompactJWS.sign(payload: JSONEncoder().encode(claims), typ: typ, keyID: keyID, with: key ?? self.key)
    }

    @Test("ACC-13: a token of consent's key is good for its time, its issuer and its audience, and only for these")
    func good() async throws {
        try await withChecker { checker, _ async throws in
            #expect(checker.check(try token(claims()), now: Self.now) == claims())
            let bad: [(inout AccessTokenClaims) -> Void] = [
                { $0.exp = Self.second }, { $0.nbf = Self.second + 60 }, { $0.iat = Self.second + 60 }, { $0.exp = Self.second + 100_000 },
                { $0.iss = "https://evil.example" }, { $0.aud = "other" }, { $0.sub = MemberID(bits: 1).description }, { $0.sub = "" },
                { $0.kind = .operator }, { $0.org = OrganisationID(bits: 1) }, { $0.exp = .max }, { $0.nbf = .max }, { $0.iat = .min },
            ]
            for change in bad { #expect(checker.check(try token(claims(change)), now: Self.now) == nil) }
            #expect(checker.check(try token(claims(), typ: "JWT"), now: Self.now) == nil)
            #expect(checker.check(try token(claims(), keyID: "k2"), now: Self.now) == nil)
            #expect(checker.check(try token(claims(), key: .random()), now: Self.now) == nil)
            for rubbish in ["", "a.b.c", "tmd_0000"] { #expect(checker.check(rubbish, now: Self.now) == nil) }
            // The issuer's clock may be a little ahead.
            #expect(checker.check(try token(claims { ($0.nbf, $0.iat) = ($0.nbf + 4, $0.iat + 4) }), now: Self.now) != nil)
        }
    }

    @Test("a key counts to its last moment, and one that is no key counts never")
    func keyTimes() async throws {
        try await withChecker { checker, store async throws in
            let stream = StreamFamily.signingKeysStream
            var broken = keyState(key, "broken")
            broken.publicKey = "AAAA"
            try await tell(checker, store, broken, SigningKeyState.type, stream)
            #expect(checker.check(try token(claims(), keyID: "broken"), now: Self.now) == nil)
            let late = Self.now + .seconds(601)
            #expect(checker.check(try token(claims { $0.exp += 600 }), now: late) == nil)
        }
    }

    @Test("ACC-13, ACC-15: after the clock went back new tokens got 401 too; now old ones alone do, and an ended session stays ended")
    func clockWentBack() async throws {
        try await withChecker { checker, store async throws in
            let ahead = keyState(key, "ahead", from: .seconds(3600), until: .seconds(86_400))
            try await tell(checker, store, ahead, SigningKeyState.type, StreamFamily.signingKeysStream)
            let old = try token(claims { ($0.iat, $0.nbf, $0.exp) = ($0.iat + 3600, $0.nbf + 3600, $0.exp + 3600) }, keyID: "ahead")
            let new = try token(claims { $0.jti = "2" }, keyID: "ahead")
            for checker in [checker, try TokenChecker(store: store, issuer: Self.issuer)] {
                #expect(checker.check(new, now: Self.now) != nil)
                #expect(checker.check(old, now: Self.now) == nil, "it would be good for an hour longer than was promised")
            }
            let ended = SessionEnded(session: Self.session, until: Self.now + .seconds(3600 + 630))
            try await tell(checker, store, ended, SessionEnded.type, StreamFamily.sessionsStream)
            for checker in [checker, try TokenChecker(store: store, issuer: Self.issuer)] {
                #expect(checker.check(new, now: Self.now) == nil)
                checker.expire(now: Self.now + .seconds(3660))
                #expect(checker.check(old, now: Self.now + .seconds(3660)) == nil)
            }
        }
    }

    @Test("a signing key that a whole snapshot does not hold counts no more, also after a restart; those that it holds count meanwhile")
    func keysOfSnapshot() async throws {
        try await withChecker { checker, store async throws in
            let stream = StreamFamily.signingKeysStream
            let second = try SigningKey(seed: 32..<64)
            let event = try event(keyState(second, "k2"), SigningKeyState.type, stream)
            #expect(try await store.write { try checker.take($0, event) } == Array("k2".utf8))
            checker.heard([event], at: Self.now)
            #expect(checker.check(try token(claims()), now: Self.now) != nil)
            let known = try await store.write { try checker.keys($0, of: stream, after: [], limit: 9) }
            #expect(known == [Array("k1".utf8), Array("k2".utf8)])
            await (try await store.write { try checker.forget($0, key: Array("k1".utf8)) })()
            for checker in [checker, try TokenChecker(store: store, issuer: Self.issuer)] {
                #expect(checker.check(try token(claims()), now: Self.now) == nil)
                #expect(checker.check(try token(claims(), keyID: "k2", key: second), now: Self.now) != nil)
            }
        }
    }

    @Test("ACC-13: a token that was proved before is refused as any other once its time is over or its key is replaced under the same name")
    func provedBefore() async throws {
        try await withChecker { checker, store async throws in
            let token = try token(claims())
            for _ in 1...2 { #expect(checker.check(token, now: Self.now) == claims()) }
            #expect(checker.check(token, now: Self.now + .seconds(600)) == nil)
            try await tell(checker, store, keyState(.random(), "k1"), SigningKeyState.type, StreamFamily.signingKeysStream)
            #expect(checker.check(token, now: Self.now) == nil)
        }
    }

    @Test("X1: each request with the same token cost a signature anew, half the processor time of a refused body")
    func costsOnce() async throws {
        try await withChecker { checker, _ async throws in
            func cost(_ tokens: [String]) -> Duration {
                ContinuousClock().measure { for token in tokens { #expect(checker.check(token, now: Self.now) != nil) } }
            }
            let tokens = try (0..<200).map { number in try token(claims { $0.jti = "\(number)" }) }
            let (first, again) = (cost(tokens), (0..<5).map { _ in cost(tokens) }.min() ?? .zero)
            #expect(again * 3 < first, "\(first) for the first check of 200 tokens, \(again) for the next")
        }
    }

    @Test("ACC-15: once the end of a session is heard its tokens are refused, also after a restart; other sessions go on")
    func sessionEnded() async throws {
        try await withChecker { checker, store async throws in
            let ended = SessionEnded(session: Self.session, until: Self.now + .seconds(600))
            try await tell(checker, store, ended, SessionEnded.type, StreamFamily.sessionsStream)
            let other = claims { $0.sid = SessionID(bits: 7) }
            for checker in [checker, try TokenChecker(store: store, issuer: Self.issuer)] {
                #expect(checker.check(try token(claims()), now: Self.now) == nil)
                #expect(checker.check(try token(other), now: Self.now) != nil)
            }
            // A consent that was put back from a copy does not know that it has ended.
            #expect(try await store.write { try checker.keys($0, of: StreamFamily.sessionsStream, after: [], limit: 9) } == [])
            for checker in [checker, try TokenChecker(store: store, issuer: Self.issuer)] {
                #expect(checker.check(try token(claims()), now: Self.now) == nil)
            }
        }
    }

    @Test("W1: whoever listens stands until the session ends, whatever the age of its tokens, or the person is erased, data alone included")
    func stands() async throws {
        try await withChecker { checker, store async throws in
            let listener = Caller.person(Self.person, Self.session)
            let (device, other) = (Caller.device(DeviceID(bits: 9), Self.person), Caller.person(PersonID(bits: 77), SessionID(bits: 7)))
            let long = Self.now - .seconds(86_400)
            #expect(checker.stands(listener, since: long))
            // Its last token expired long ago.
            let ended = SessionEnded(session: Self.session, until: Self.now - .seconds(3600))
            try await tell(checker, store, ended, SessionEnded.type, StreamFamily.sessionsStream)
            #expect(!checker.stands(listener, since: long) && checker.stands(device, since: long) && checker.stands(other, since: long))
            let data = PersonErased(erasure: ErasureID(bits: 1), person: Self.person, scope: .data, orderedAt: Self.now)
            try await tell(checker, store, data, PersonErased.type, StreamFamily.erasuresStream)
            #expect(
                !checker.stands(device, since: long) && checker.stands(device, since: Self.now + .seconds(1))
                    && checker.stands(other, since: long))
            let account = PersonErased(erasure: ErasureID(bits: 2), person: Self.person, scope: .account, orderedAt: Self.now)
            try await tell(checker, store, account, PersonErased.type, StreamFamily.erasuresStream)
            #expect(!checker.stands(device, since: Self.now + .seconds(1)))
        }
    }

    @Test("ACC-30: tokens of an erased account are refused at once; erasing the data alone logs nobody out")
    func erased() async throws {
        try await withChecker { checker, store async throws in
            for (scope, isGood) in [(ErasureScope.data, true), (.account, false)] {
                let fact = PersonErased(erasure: ErasureID(bits: 1), person: Self.person, scope: scope, orderedAt: Self.now)
                try await tell(checker, store, fact, PersonErased.type, StreamFamily.erasuresStream)
                #expect((checker.check(try token(claims()), now: Self.now) != nil) == isGood)
            }
            #expect(try await store.write { try checker.keys($0, of: StreamFamily.erasuresStream, after: [], limit: 9) } == [])
            #expect(checker.check(try token(claims()), now: Self.now) == nil)
            #expect(try TokenChecker(store: store, issuer: Self.issuer).check(try token(claims()), now: Self.now) == nil)
        }
    }

    @Test("ACC-14: each door admits its kinds of account and says of the others that it is not for them")
    func doors() async throws {
        try await withChecker { checker, _ async throws in
            let tokens: [AccountKind: String] = [
                .person: try token(claims()),
                .member: try token(
                    claims { ($0.kind, $0.sub, $0.org) = (.member, MemberID(bits: 1).description, OrganisationID(bits: 2)) }),
                .operator: try token(claims { ($0.kind, $0.sub) = (.operator, OperatorID(bits: 3).description) }),
            ]
            let doors: [Access: Set<AccountKind>] = [
                .person: [.person], .owner: [.person], .member: [.member], .operator: [.operator],
                .account: [.person, .member, .operator], .passwordChange: [.person, .member, .operator], .personAnew: [.person],
                .accountAnew: [.person, .member, .operator], .enrolment: [.person, .member, .operator],
            ]
            for (access, kinds) in doors {
                for (kind, token) in tokens {
                    let credentials = Credentials(bearer: token)
                    if kinds.contains(kind) {
                        #expect(throws: Never.self) { try checker.caller(for: credentials, access: access, now: Self.now) }
                    } else {
                        #expect(throws: Problem.notForThisAccount) { try checker.caller(for: credentials, access: access, now: Self.now) }
                    }
                }
            }
            #expect(throws: Problem.unauthorised) { try checker.caller(for: Credentials(bearer: "x"), access: .person, now: Self.now) }
        }
    }

    @Test("X4: one access token took an account over; what changes its keys asks for a proof of the last five minutes (RFC 9470)")
    func fresh() async throws {
        try await withChecker { checker, _ async throws in
            func opens(_ authTime: Int64?, _ access: Access, scope: String? = nil) throws -> Bool {
                let bearer = try token(claims { ($0.authTime, $0.scope) = (authTime, scope) })
                do throws(Problem) {
                    _ = try checker.caller(for: Credentials(bearer: bearer), access: access, now: Self.now)
                    return true
                } catch {
                    #expect(error == .insufficientUserAuthentication || error == .secondFactorRequired)
                    return false
                }
            }
            for access in [Access.personAnew, .accountAnew, .enrolment] {
                #expect(try opens(Self.second, access) && opens(Self.second - 299, access))
                for old: Int64? in [nil, Self.second - 300, 0, Int64.min, Int64.max] { #expect(try !opens(old, access), "\(old ?? -1)") }
            }
            for access in [Access.person, .account, .owner] { #expect(try opens(nil, access)) }
            let only = AccessTokenClaims.enrolmentOnly
            #expect(try opens(Self.second, .enrolment, scope: only) && opens(nil, .passwordChange, scope: only))
            for access in [Access.person, .account, .personAnew, .accountAnew] { #expect(try !opens(Self.second, access, scope: only)) }
            #expect(try !opens(Self.second - 300, .enrolment, scope: only))
        }
    }

    @Test("ACC-08: a token that is good for choosing a password opens that door and no other")
    func passwordChange() async throws {
        try await withChecker { checker, _ async throws in
            let only = Credentials(bearer: try token(claims { $0.scope = AccessTokenClaims.passwordChangeOnly }))
            #expect(throws: Never.self) { try checker.caller(for: only, access: .passwordChange, now: Self.now) }
            for access in [Access.person, .account, .owner] {
                #expect(throws: Problem.passwordChangeRequired) { try checker.caller(for: only, access: access, now: Self.now) }
            }
            let strange = Credentials(bearer: try token(claims { $0.scope = "something-else" }))
            #expect(throws: Problem.forbidden) { try checker.caller(for: strange, access: .passwordChange, now: Self.now) }
        }
    }
}
