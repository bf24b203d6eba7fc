// Access tokens and the keys that prove them: what consent issues and every service checks by itself.

/// Which functions an account has (ACC-14); each kind sees only its own.
package enum AccountKind: String, Codable, Sendable, CaseIterable {
    case person
    /// Of an organisation.
    case member
    case `operator`
}

/// The languages in which people are addressed (UI-04); English stands in where a text is missing.
package enum Language: String, Codable, Sendable, CaseIterable {
    case italian = "it"
    case english = "en"
}

/// The payload of an access token: a JWS (RFC 7515) with EdDSA and `typ` `at+jwt` (RFC 9068). Times are whole seconds since 1970.
package struct AccessTokenClaims: Hashable, Codable, Sendable {
    /// The suite's public origin.
    package var iss: String
    /// `trackme`: one audience for all services of the suite.
    package var aud: String
    /// `per_…`, `mem_…` or `opr_…`, as `kind` says.
    package var sub: String
    package var kind: AccountKind
    /// The log-in that the token belongs to: it ends with it (ACC-15).
    package var sid: SessionID
    /// The member's organisation.
    package var org: OrganisationID?
    /// `password-change`: the bearer may only choose a new password (ACC-08); `second-factor`: only enrol a second factor. Absent:
    /// everything that `kind` may.
    package var scope: String?
    /// When the holder last proved who they are, in seconds since 1970 (OpenID Connect Core §2); absent in sessions that began before
    /// it was kept.
    package var authTime: Int64?
    /// How (RFC 8176): `pwd`, `otp`, `mfa`.
    package var amr: [String]?
    /// 128 random bits, of this token alone (RFC 7519 §4.1.7).
    package var jti: String
    /// Seconds since 1970, as RFC 7519 has them; so are the two that follow.
    package var iat: Int64
    /// Not good before; checkers allow for clocks that differ.
    package var nbf: Int64
    /// Not good from this second on; later than `iat`.
    package var exp: Int64

    package init(
        iss: String, aud: String = audience, sub: String, kind: AccountKind, sid: SessionID, org: OrganisationID? = nil,
        scope: String? = nil, authTime: Int64? = nil, amr: [String]? = nil, jti: String, iat: Int64, nbf: Int64, exp: Int64
    ) {
        (self.iss, self.aud, self.sub, self.kind, self.sid, self.org) = (iss, aud, sub, kind, sid, org)
        (self.scope, self.jti, self.iat, self.nbf, self.exp) = (scope, jti, iat, nbf, exp)
        (self.authTime, self.amr) = (authTime, amr)
    }

    private enum CodingKeys: String, CodingKey {
        case iss, aud, sub, kind, sid, org, scope, amr, jti, iat, nbf, exp
        case authTime = "auth_time"
    }

    package static let audience = "trackme"
    /// `typ` of the header: a JWS that was signed for another purpose is not an access token.
    package static let tokenType = "at+jwt"
    /// The `scope` of a token that is good for choosing a new password and nothing else.
    package static let passwordChangeOnly = "password-change"
    /// The `scope` of a token that is good for enrolling a second factor and nothing else.
    package static let enrolmentOnly = "second-factor"
}

/// Said by consent on `consent.signing-keys` of the family `consent.accounts`; the snapshot holds the keys whose tokens may still be valid.
package struct SigningKeyState: Hashable, Codable, Sendable {
    package static let type = "signing-key-state.v1"

    /// `kid` of the tokens that it signs.
    package var keyID: String
    /// The Ed25519 public key, 32 bytes as base64url.
    package var publicKey: String
    /// From when on it signs; it is said before, so that everybody knows it by then.
    package var notBefore: Timestamp
    /// After this instant no token signed by it is valid.
    package var notAfter: Timestamp

    package init(keyID: String, publicKey: String, notBefore: Timestamp, notAfter: Timestamp) {
        (self.keyID, self.publicKey, self.notBefore, self.notAfter) = (keyID, publicKey, notBefore, notAfter)
    }
}

/// Said by consent on `consent.sessions` of the family `consent.accounts` when a session ends before its last access token does; the
/// snapshot holds those whose tokens have not expired yet. Its tokens are refused from then on (ACC-15).
package struct SessionEnded: Hashable, Codable, Sendable {
    package static let type = "session-ended.v1"

    package var session: SessionID
    /// When its last access token has expired: the fact may be forgotten then.
    package var until: Timestamp
    /// Whether it ended without anything being held against it: by its age, for a newer log-in beyond the limit, or with everybody's after a
    /// restore or by an operator. What it set up stays then, such as a push endpoint. Absent where its owner or a sign of theft ended it.
    package var lapsed: Bool?

    package init(session: SessionID, until: Timestamp, lapsed: Bool = false) {
        (self.session, self.until, self.lapsed) = (session, until, lapsed ? true : nil)
    }
}

/// Said by consent on `consent.sessions`, in no snapshot, when the person has another password or all their sessions were ended by an
/// order. A session that had lapsed before may have been a thief's, displaced by fifty log-ins: what such sessions set up ends.
package struct LapsedSessionsRevoked: Hashable, Codable, Sendable {
    package static let type = "lapsed-sessions-revoked.v1"

    package var person: PersonID

    package init(person: PersonID) {
        self.person = person
    }
}
