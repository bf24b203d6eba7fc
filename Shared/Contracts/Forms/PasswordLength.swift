// How long a password may be, wherever one is chosen: the same rule in every form and in the service that keeps log-ins.

import Foundation

/// In Unicode code points of the normalised text, as NIST SP 800-63B §5.1.1.2 counts.
package enum PasswordLength {
    /// Why a length is refused. Never says the password.
    package enum Fault: Hashable, Sendable {
        case tooShort(least: Int)
        case tooLong
    }

    /// Of every suite; an operator may ask for more (`acc.password_least`).
    package static let least = 8
    /// Room for whole sentences: SP 800-63B asks for 64 at least. With a bound, as whoever sends a password makes the suite hash it.
    package static let longest = 128

    /// The same password typed on two systems must be the same bytes: compatibility composition, as SP 800-63B recommends.
    package static func normalised(_ password: String) -> String {
        password.precomposedStringWithCompatibilityMapping
    }

    /// Nil where the length is right.
    /// - Parameter asked: the least that is asked for here.
    package static func fault(of password: String, asked: Int = least) -> Fault? {
        let length = normalised(password).unicodeScalars.count
        if length < asked { return .tooShort(least: asked) }
        return length > longest ? .tooLong : nil
    }
}
