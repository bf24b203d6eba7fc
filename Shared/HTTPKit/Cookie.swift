// The cookie by which a browser stays logged in.

import HTTPTypes

/// Sent with `HTTPAnswer.with(cookie:)`. `__Host-`, `Secure`, `HttpOnly`, `SameSite=Lax` and the whole site's path: no script reads
/// it, no other host sets it, and it does not travel unencrypted.
package struct Cookie: Hashable, Sendable {
    /// Holds the access token.
    package static let sessionName = "__Host-trackme"
    /// Holds what the session is prolonged with; only the service that issues tokens reads it.
    package static let refreshName = "__Host-trackme-refresh"
    /// Says that this browser has logged in before; good for nothing but not being held up by strangers' failures.
    package static let browserName = "__Host-trackme-browser"
    private static let attributes = "; Path=/; Secure; HttpOnly; SameSite=Lax"

    let field: String

    /// - Parameter token: of the `b64token` alphabet, as `Credentials` reads it.
    package static func session(_ token: String, lasting: Duration) -> Cookie {
        Cookie(field: "\(sessionName)=\(token); Max-Age=\(max(0, lasting.components.seconds))" + attributes)
    }

    /// As `session`, for the token that is exchanged for the next one.
    package static func refresh(_ token: String, lasting: Duration) -> Cookie {
        Cookie(field: "\(refreshName)=\(token); Max-Age=\(max(0, lasting.components.seconds))" + attributes)
    }

    /// As `session`, for what a browser keeps after a log-in that succeeded; a log-out leaves it.
    package static func browser(_ value: String, lasting: Duration) -> Cookie {
        Cookie(field: "\(browserName)=\(value); Max-Age=\(max(0, lasting.components.seconds))" + attributes)
    }

    /// Logs the browser out.
    package static let removed = Cookie(field: "\(sessionName)=; Max-Age=0" + attributes)
    /// Goes with `removed`: nothing is left to prolong a session with.
    package static let refreshRemoved = Cookie(field: "\(refreshName)=; Max-Age=0" + attributes)

    /// The value of a cookie in a `Cookie` header (RFC 6265 §4.2); nil where there is none of that name or more than one.
    static func value(_ name: String, in header: String) -> Substring? {
        let pairs = header.split(separator: ";").map { $0.trimmingPrefix { $0 == " " } }
        let values = pairs.filter { $0.hasPrefix(name + "=") }.map { $0.dropFirst(name.count + 1) }
        return values.count == 1 ? values[0] : nil
    }
}

extension Exchange {
    /// The value of a cookie; nil where there is none of that name or more than one.
    package func cookie(_ name: String) -> String? {
        head.cookie.flatMap { Cookie.value(name, in: $0) }.flatMap { $0.isEmpty ? nil : String($0) }
    }
}

extension HTTPAnswer {
    /// The same answer that also sets, or removes, this cookie.
    package func with(cookie: Cookie) -> HTTPAnswer {
        with(.setCookie, cookie.field)
    }

    /// 303: the browser goes on with GET there, after a form was sent.
    package static func seeOther(_ location: String) -> HTTPAnswer {
        HTTPAnswer.empty(status: 303).with(.location, location)
    }
}
