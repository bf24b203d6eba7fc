// Access tokens for tests of services that take them, signed as consent signs them.

package import Contracts
import Foundation
package import Sealing

package struct TokenIssuer: Sendable {
    private static let keyID = "test"

    private let origin: String
    private let key: SigningKey

    /// - Parameter origin: the issuer that the service under test believes.
    package init(_ origin: String, key: SigningKey? = nil) throws {
        self.origin = origin
        self.key = if let key { key } else { try SigningKey.random() }
    }

    /// What consent publishes of the key; no test outlives it.
    package var state: SigningKeyState {
        SigningKeyState(
            keyID: Self.keyID, publicKey: Base64URL.encode(key.publicKey.bytes), notBefore: Timestamp(milliseconds: 0),
            notAfter: .ofTheMachine + .seconds(365 * 86_400))
    }

    /// - Parameters:
    ///   - subject: an id of that kind; where it is absent, somebody whom nobody knows.
    ///   - proved: when they last proved who they are; where it is absent, the token does not say.
    package func token(
        _ kind: AccountKind, _ subject: String? = nil, of organisation: OrganisationID? = nil, session: SessionID = .random(),
        proved: Timestamp? = nil, at now: Timestamp = .ofTheMachine
    ) throws -> String {
        let somebody =
            switch kind {
            case .person: "\(PersonID.random())"
            case .member: "\(MemberID.random())"
            case .operator: "\(OperatorID.random())"
            }
        let issued = now.milliseconds / 1000 - 5
        let claims = AccessTokenClaims(
            iss: origin, sub: subject ?? somebody, kind: kind, sid: session, org: organisation,
            authTime: proved.map { $0.milliseconds / 1000 }, amr: proved.map { _ in ["pwd"] }, jti: Hex.encode(Random.bytes(16)),
            iat: issued, nbf: issued, exp: issued + 3600)
        return try CompactJWS.sign(payload: JSONEncoder().encode(claims), typ: AccessTokenClaims.tokenType, keyID: Self.keyID, with: key)
    }

    /// - Parameter proved: at `now` unless told.
    package func token(
        _ member: MemberID, of organisation: OrganisationID, at now: Timestamp = .ofTheMachine, proved: Timestamp? = nil
    ) throws -> String {
        try token(.member, "\(member)", of: organisation, proved: proved ?? now, at: now)
    }
}
