// Why nothing came back.

/// Holds neither address nor content, so that it can be logged.
package enum OutboundError: Error, Hashable, Sendable {
    /// URL, method or a header is malformed, or the scheme is neither http nor https.
    case malformed
    /// A mail server does not take our log-in, or wants one: whoever runs the suite must see to its name and password.
    case logInRefused
    /// The name leads only to addresses that the policy refuses.
    case refusedAddress
    /// The name cannot be resolved.
    case unresolved
    /// Nobody took the connection.
    case connect
    /// No secure connection: certificate or handshake.
    case tls
    case timeout
    /// The answer is longer than was asked for.
    case tooLarge
    /// The task was cancelled, or the sender shut down.
    case cancelled
    /// As many requests wait as may wait.
    case queueFull
    /// libcurl's code for anything else: the connection broke, the answer is no HTTP.
    case other(Int)

    /// Whether the same request may succeed later. Certificates are renewed, names come back and passwords are put right, so only what the request itself, the
    /// policy or the caller decided is final.
    package var isRetriable: Bool {
        switch self {
        case .malformed, .refusedAddress, .tooLarge, .cancelled: false
        case .logInRefused, .unresolved, .connect, .tls, .timeout, .queueFull, .other: true
        }
    }
}
