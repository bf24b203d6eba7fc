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
    /// The account must have a second factor and has none yet: the access token is good for enrolling one. Nil in answers that an earlier
    /// version kept.
    var secondFactorRequired: Bool?
}

struct TokenIssuer: Sendable {
    let keys: SigningKeys
    /// The suite's public origin.
    let issuer: String

    /// Good for ten minutes, for whatever the session is good for.
    func accessToken(for subject: AccountSubject, _ row: SessionRow, at now: Timestamp) throws -> String {
        let second = now.milliseconds / 1000
        return try keys.sign(
            AccessTokenClaims(
                iss: issuer, sub: subject.text, kind: subject.kind, sid: row.session, org: subject.organisation,
                scope: row.scope, authTime: row.authentication.map { $0.at.milliseconds / 1000 }, amr: row.authentication?.references,
                jti: Base64URL.encode(Random.bytes(16)), iat: second, nbf: second, exp: second + SessionLife.accessToken.components.seconds)
        )
    }

    func tokens(
        for subject: AccountSubject, _ row: SessionRow, refresh: RefreshToken, until: Timestamp, at now: Timestamp
    ) throws -> IssuedTokens {
        IssuedTokens(
            session: row.session, kind: subject.kind, accessToken: try accessToken(for: subject, row, at: now),
            expiresIn: Int(SessionLife.accessToken.components.seconds), refreshToken: refresh.text, sessionUntil: until.rfc3339,
            passwordChangeRequired: row.mustChange, secondFactorRequired: row.mustEnrol)
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
