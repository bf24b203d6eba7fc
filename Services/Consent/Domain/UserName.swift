// A name that a person may log in by instead of the address.

import Contracts
import Foundation

/// 3 to 32 letters, digits, full stops, hyphens and underscores, beginning with a letter or digit. Never an address and never in the
/// form of a fiscal code, so that what is typed at log-in names one kind of thing. Coded as the string that was typed.
struct UserName: Hashable, Sendable {
    static let lengths = 3...32

    let text: String

    /// Nil where it cannot be a user name.
    init?(_ typed: String) {
        let text = typed.trimmed.precomposedStringWithCompatibilityMapping
        guard Self.lengths.contains(text.count), text.first.map({ $0.isLetter || $0.isNumber }) == true,
            text.allSatisfy({ $0.isLetter || $0.isNumber || ".-_".contains($0) }), !FiscalCode.hasForm(text)
        else { return nil }
        self.text = text
    }

    /// What must be the same for two names to be one (ACC-04): neither case nor the way a letter is composed counts.
    var folded: String { text.lowercased() }
}

extension UserName: TextCoded {
    static let kind = "a user name"
}
