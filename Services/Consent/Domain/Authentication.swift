// When and how somebody last proved who they are.

import Contracts

/// One proof, of one session. A pure value.
struct Authentication: Hashable, Sendable {
    /// How, by the names of RFC 8176.
    enum Method: String, CaseIterable, Sendable {
        case password = "pwd"
        /// An authenticator's code, or a recovery code in its place.
        case oneTimePassword = "otp"
    }

    let at: Timestamp
    let methods: Set<Method>

    /// `amr` of the token.
    var references: [String] {
        Method.allCases.filter(methods.contains).map(\.rawValue) + (methods.count > 1 ? ["mfa"] : [])
    }

    /// As the store keeps it.
    var written: String {
        Method.allCases.filter(methods.contains).map(\.rawValue).joined(separator: " ")
    }

    init(at: Timestamp, methods: Set<Method>) {
        (self.at, self.methods) = (at, methods)
    }

    init(at: Timestamp, written: String) {
        self.init(at: at, methods: Set(written.split(separator: " ").compactMap { Method(rawValue: String($0)) }))
    }
}
