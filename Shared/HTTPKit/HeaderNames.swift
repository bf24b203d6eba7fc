// Header fields that the library does not name.

package import HTTPTypes

extension HTTPField.Name {
    /// Comes in and goes out; see `Exchange.requestID`.
    package static let requestID = known("X-Request-Id")
    /// `true` on a first answer that is given again.
    package static let idempotencyReplayed = known("Idempotency-Replayed")

    /// RFC 8288.
    package static let link = known("Link")

    static let contentSecurityPolicy = known("Content-Security-Policy")
    static let referrerPolicy = known("Referrer-Policy")

    /// - Parameter name: a constant of the program; one that is no header name stops it.
    package static func known(_ name: String) -> HTTPField.Name {
        guard let field = HTTPField.Name(name) else { preconditionFailure("\(name) is no header name") }
        return field
    }
}
