// Who is asking, before and after it has been proved.

package import Contracts

/// What a request showed of itself. Never logged: printing it tells only whether there was something.
package struct Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The token of `Authorization: Bearer`, 1 to 512 characters of the `b64token` alphabet (RFC 6750).
    package let bearer: String

    package init(bearer: String) {
        self.bearer = bearer
    }

    package static let longestBearer = 512

    package var description: String { "Credentials(…)" }
    package var debugDescription: String { description }

    /// Reads the header; nil for another scheme, a token outside the alphabet, or one that is too long.
    init?(authorization: String) {
        let scheme = "bearer "
        guard authorization.utf8.count > scheme.utf8.count, authorization.utf8.count <= scheme.utf8.count + Self.longestBearer,
            zip(authorization.utf8, scheme.utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
        else { return nil }
        let token = authorization.utf8.dropFirst(scheme.utf8.count)
        guard token.allSatisfy(Self.isTokenCharacter), let text = String(token) else { return nil }
        bearer = text
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"),
            UInt8(ascii: "="):
            true
        default: false
        }
    }
}

/// Who is asking, proved. `context` is whatever the service's `authenticate` wants its own handlers to find.
package enum Caller: Sendable {
    case anyone
    case device(DeviceID, PersonID, context: (any Sendable)? = nil)
    case integrator(String, context: (any Sendable)? = nil)

    package var context: (any Sendable)? {
        switch self {
        case .anyone: nil
        case .device(_, _, let context), .integrator(_, let context): context
        }
    }
}

/// Proves credentials for a route's access, or throws `Problem.unauthorised`, `Problem.forbidden`. Not asked where anyone may
/// come in or where nothing was shown.
package typealias Authenticate = @Sendable (Credentials, Access) async throws -> Caller
