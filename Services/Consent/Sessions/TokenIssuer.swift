// What somebody who is logged in gets: an access token that every service checks, and a refresh token for the next one.

import Contracts
import Foundation
import Sealing

/// The answer to a log-in and to a refresh.
struct IssuedTokens: Hashable, Codable, Sendable {
    var session: SessionID
    var kind: AccountKind
    var accessToken: String
    /// Seconds.
    var expiresIn: Int
    var refreshToken: String
    /// When the session is over unless it is refreshed before.
    var sessionUntil: String
    /// The password was a temporary one: the access token is good for choosing another and nothing else (ACC-08).
    var passwordChangeRequired: Bool
}

struct TokenIssuer: Sendable {
    let keys: SigningKeys
    /// The suite's public origin.
    let issuer: String

    /// Good for ten minutes.
    func accessToken(for subject: AccountSubject, session: SessionID, mustChange: Bool, at now: Timestamp) throws -> String {
        let second = now.milliseconds / 1000
        return try keys.sign(
            AccessTokenClaims(
                iss: issuer, sub: subject.text, kind: subject.kind, sid: session, org: subject.organisation,
                scope: mustChange ? AccessTokenClaims.passwordChangeOnly : nil, jti: Base64URL.encode(Random.bytes(16)), iat: second,
                nbf: second, exp: second + SessionLife.accessToken.components.seconds))
    }

    func tokens(
        for subject: AccountSubject, session: SessionID, mustChange: Bool, refresh: RefreshToken, until: Timestamp, at now: Timestamp
    ) throws -> IssuedTokens {
        IssuedTokens(
            session: session, kind: subject.kind,
            accessToken: try accessToken(for: subject, session: session, mustChange: mustChange, at: now),
            expiresIn: Int(SessionLife.accessToken.components.seconds), refreshToken: refresh.text, sessionUntil: until.rfc3339,
            passwordChangeRequired: mustChange)
    }
}

extension AccountSubject {
    /// `per_…`, `mem_…` or `opr_…`: the token's `sub`.
    var text: String {
        switch self {
        case .person(let person): person.description
        case .member(let member, _): member.description
        case .operator(let `operator`): `operator`.description
        }
    }
}
