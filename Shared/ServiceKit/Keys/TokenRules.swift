// When an access token is good: pure rules over what consent has told.

import Contracts
import Foundation
import Sealing

/// What is known of keys, sessions and people, and the judgement on one token. Time is told.
struct TokenRules: Sendable {
    /// No access token lives longer, whatever it says of itself.
    static let longestLife = Duration.seconds(3600)
    /// How far the clock of the machine that issued it may be ahead.
    static let clockSkew = Duration.seconds(5)

    /// How long the end of a session is known at least, and of how many before older ones are forgotten.
    private static let shortestMemory = Duration.seconds(60)
    private static let mostEnds = 10_000

    private struct Key: Sendable {
        let bytes: [UInt8]
        let verifying: VerifyingKey
        let notAfter: Timestamp
    }

    private var keys: [String: Key] = [:]
    private var sessionsEnded: [SessionID: Timestamp] = [:]
    private var peopleGone: [PersonID: Timestamp] = [:]
    /// When it was learnt that somebody's data were erased, whose account may go on.
    private var dataErased: [PersonID: Timestamp] = [:]
    /// When the ends of sessions were learnt, whatever the age of their tokens.
    private var endsLearnt: [SessionID: Timestamp] = [:]

    // MARK: What was told

    /// A key that cannot be one is left out: its tokens are refused.
    mutating func learn(_ state: SigningKeyState) {
        keys[state.keyID] = Base64URL.decode(state.publicKey).flatMap { bytes in
            (try? VerifyingKey(bytes: bytes)).map { verifying in
                Key(bytes: bytes, verifying: verifying, notAfter: state.notAfter)
            }
        }
    }

    mutating func learn(_ ended: SessionEnded) {
        sessionsEnded[ended.session] = ended.until
    }

    mutating func learn(gone person: PersonID, at: Timestamp) {
        peopleGone[person] = at
    }

    /// Streams of the session may still be open though no token of it is good any more.
    mutating func learn(endOf session: SessionID, at: Timestamp) {
        if endsLearnt.count >= Self.mostEnds { endsLearnt = endsLearnt.filter { $0.value + Self.shortestMemory >= at } }
        endsLearnt[session] = at
    }

    mutating func learn(dataErasedOf person: PersonID, at: Timestamp) {
        dataErased[person] = at
    }

    mutating func forget(key: String) { keys[key] = nil }

    mutating func expire(now: Timestamp) {
        keys = keys.filter { $0.value.notAfter >= now }
        sessionsEnded = sessionsEnded.filter { $0.value >= now }
        peopleGone = peopleGone.filter { $0.value >= now - Self.longestLife }
        dataErased = dataErased.filter { $0.value >= now - Self.longestLife }
    }

    var knowsKeys: Bool { !keys.isEmpty }

    // MARK: Somebody who was proved before

    /// Whether what was proved then still holds, however long ago: sessions are known by their end, not by their tokens.
    func stands(session: SessionID?, person: PersonID?, since provedAt: Timestamp) -> Bool {
        if let session, sessionsEnded[session] != nil || endsLearnt[session] != nil { return false }
        guard let person else { return true }
        return peopleGone[person] == nil && dataErased[person].map { $0 < provedAt } ?? true
    }

    // MARK: One token

    /// What a signature has proved for ever; whether the token is good now, and the key still the one, is asked of `holds` each time.
    struct Proved: Sendable {
        let claims: AccessTokenClaims
        let keyID: String
        let key: [UInt8]
    }

    /// The claims of a token signed under a key that may be used now; nil for every other, without a reason that a stranger could learn from.
    func prove(_ bearer: String, now: Timestamp) -> Proved? {
        var used: (id: String, key: Key)?
        let payload = try? CompactJWS.open(bearer, typ: AccessTokenClaims.tokenType) { keyID in
            used = usable(keyID, now).map { (keyID, $0) }
            return used?.key.verifying
        }
        guard let payload, let used, let claims = try? CheckedJSON.decode(AccessTokenClaims.self, from: payload) else { return nil }
        return Proved(claims: claims, keyID: used.id, key: used.key.bytes)
    }

    /// Whether a proved token is good now.
    func holds(_ proved: Proved, issuer: String, now: Timestamp) -> Bool {
        let claims = proved.claims
        guard usable(proved.keyID, now)?.bytes == proved.key, claims.iss == issuer, claims.aud == AccessTokenClaims.audience,
            isTimely(claims, now), names(claims), sessionsEnded[claims.sid] == nil
        else { return false }
        return PersonID(claims.sub).map { peopleGone[$0] == nil } ?? true
    }

    /// Its beginning is not asked for: a key is said after it was made, so that one that lies ahead tells of a clock that was put back, and
    /// whoever logs in or refreshes then must be believed at once.
    private func usable(_ keyID: String, _ now: Timestamp) -> Key? {
        keys[keyID].flatMap { now <= $0.notAfter ? $0 : nil }
    }

    /// A token that lies ahead is refused though consent signed it: it would be good for longer than was promised, and outlive what is kept
    /// of an end. Its holder refreshes.
    private func isTimely(_ claims: AccessTokenClaims, _ now: Timestamp) -> Bool {
        // Compared as seconds: what a token says may be any number, and multiplied it could overflow.
        let second = now.milliseconds / 1000
        let ahead = second + Self.clockSkew.components.seconds
        return claims.nbf <= ahead && claims.iat <= ahead && claims.exp > second && claims.exp > claims.iat
            && claims.exp <= ahead + Self.longestLife.components.seconds && claims.iat > 0
    }

    /// Whether the subject is of the kind that the token speaks for.
    private func names(_ claims: AccessTokenClaims) -> Bool {
        switch claims.kind {
        case .person: PersonID(claims.sub) != nil && claims.org == nil
        case .member: MemberID(claims.sub) != nil && claims.org != nil
        case .operator: OperatorID(claims.sub) != nil && claims.org == nil
        }
    }
}
