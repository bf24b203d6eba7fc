// Who is asking, before and after it has been proved.

package import Contracts

/// What a request showed of itself. Never logged: printing it tells only whether there was something.
package struct Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    package enum Source: Sendable {
        /// `Authorization: Bearer`: a program put it there on purpose.
        case header
        /// A browser sends it along whoever made the page, so that unsafe methods need `Origin` as well.
        case cookie
    }

    /// 1 to 2048 characters of the `b64token` alphabet (RFC 6750).
    package let bearer: String
    package let source: Source

    /// Checks nothing; what requests show is read and checked by HTTPKit.
    package init(bearer: String, source: Source = .header) {
        (self.bearer, self.source) = (bearer, source)
    }

    /// In bytes; a longer one is nobody's.
    package static let longestBearer = 2048

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
        (bearer, source) = (text, .header)
    }

    /// Reads the session's cookie; nil where there is none, more than one, or one that is no token.
    init?(cookies: String) {
        guard let value = Cookie.value(Cookie.sessionName, in: cookies), (1...Self.longestBearer).contains(value.utf8.count),
            value.utf8.allSatisfy(Self.isTokenCharacter)
        else { return nil }
        (bearer, source) = (String(value), .cookie)
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
    case person(PersonID, SessionID)
    case member(MemberID, OrganisationID, SessionID)
    case `operator`(OperatorID, SessionID)
    /// An organisation's software, with what its token was issued for (RFC 6749 §3.3).
    case client(ClientID, OrganisationID, scopes: Set<String>)

    /// What the service's `authenticate` left there; always nil for accounts.
    package var context: (any Sendable)? {
        switch self {
        case .anyone, .person, .member, .operator, .client: nil
        case .device(_, _, let context), .integrator(_, let context): context
        }
    }
}

/// Proves credentials for a route's access, or throws `Problem.unauthorised`, `Problem.forbidden`. Not asked where anyone may
/// come in or where nothing was shown.
package typealias Authenticate = @Sendable (Credentials, Access) async throws -> Caller

/// How a route's caller is proved, as often as it is asked.
struct Proof: Sendable {
    let access: Access
    let authenticate: Authenticate

    func caller(of head: RequestHead, publicOrigin: String?) async throws -> Caller {
        guard access != .anyone else { return .anyone }
        return try await authenticate(Credentials.shown(by: head, method: head.method, for: access, publicOrigin: publicOrigin), access)
    }
}

extension Credentials {
    /// What the request shows for a route of this access: the header first, and for accounts the browser's cookie.
    /// - Throws: `unauthorised` where there is nothing to look at, `wrong-origin` where a cookie came with a request that another
    ///   site may have made.
    static func shown(
        by head: RequestHead, method: String, for access: Access, publicOrigin: String?
    ) throws(Problem) -> Credentials {
        if let header = head.authorization {
            guard let credentials = Credentials(authorization: header) else { throw .unauthorised }
            return credentials
        }
        guard access.admitsAccounts, let cookies = head.cookie, let credentials = Credentials(cookies: cookies) else {
            throw .unauthorised
        }
        guard OriginRule.allows(method: method, origin: head.origin, publicOrigin: publicOrigin) else { throw .wrongOrigin }
        return credentials
    }
}

/// Whether a browser's request comes from the suite's own pages.
enum OriginRule {
    private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS"]

    static func allows(method: String, origin: String?, publicOrigin: String?) -> Bool {
        safeMethods.contains(method) || (origin != nil && origin == publicOrigin)
    }
}
