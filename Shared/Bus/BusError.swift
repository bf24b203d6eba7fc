// What can be wrong with the bus itself; what a server refuses is a `Failure` of Contracts.

/// Why a node, a socket or the self-test failed. The reason names endpoints and peers, never a key or personal data.
package struct BusError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Its words are stable: `description` and logs show them.
    package enum Code: String, Sendable {
        /// A key is not 40 characters of Z85, or the two halves do not belong together.
        case invalidKey = "invalid-key"
        /// Neither `tcp://` nor `ipc://`, or a path of 100 bytes or more.
        case invalidEndpoint = "invalid-endpoint"
        /// The endpoint is taken, or its folder is missing.
        case bind
        /// A stranger's key was let in: the process must not go on.
        case strangerAdmitted = "stranger-admitted"
        /// It could not be shown in time that a stranger's key is refused.
        case unverified
        /// The node was shut down.
        case closed
        /// libzmq is too old, lacks CURVE, or is out of sockets.
        case zeromq
    }

    package let code: Code
    /// For logs and operators; never what a message contained.
    package let reason: String

    package init(_ code: Code, _ reason: String) {
        (self.code, self.reason) = (code, reason)
    }

    /// Whether the same call may succeed later without a change of configuration.
    package var isRetriable: Bool {
        code == .bind || code == .unverified
    }

    package var description: String { "\(code.rawValue): \(reason)" }
}
