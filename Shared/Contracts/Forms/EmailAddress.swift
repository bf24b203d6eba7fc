// An address that mail can be sent to, and how two of them are told apart.

/// `local@domain` in ASCII, as RFC 5321 §4.1.2 allows it without quoting: at most 64 and 254 characters, a domain of at least two
/// labels. Whether somebody reads it only a confirmed link shows. Coded as the string that was typed.
package struct EmailAddress: Hashable, Sendable {
    /// Characters of a whole address: a path of RFC 5321 §4.5.3.1.3 without its brackets.
    package static let longest = 254
    /// Characters before the `@` (RFC 5321 §4.5.3.1.1).
    package static let longestLocalPart = 64

    /// As it was typed, without white space around it.
    package let text: String

    /// Nil where no mail can be sent to it.
    package init?(_ typed: String) {
        let text = typed.trimmed
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.longest, parts.count == 2, Self.isLocalPart(parts[0]), Self.isDomain(parts[1]) else { return nil }
        self.text = text
    }

    /// What must be the same for two addresses to be one (CON-06): case does not count, though RFC 5321 lets a host tell local parts
    /// apart by it; no host in use does, and one reader must not hold two accounts by capitals alone.
    package var folded: String { text.lowercased() }

    private static func isLocalPart(_ part: Substring) -> Bool {
        let atoms = part.split(separator: ".", omittingEmptySubsequences: false)
        return part.utf8.count <= longestLocalPart
            && atoms.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { isLetterOrDigit($0) || "!#$%&'*+-/=?^_`{|}~".utf8.contains($0) } }
    }

    private static func isDomain(_ part: Substring) -> Bool {
        let labels = part.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, let last = labels.last, !last.utf8.allSatisfy({ (48...57).contains($0) }) else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
                && label.first != "-" && label.last != "-"
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}

extension EmailAddress: TextCoded {
    package static let kind = "an e-mail address"
}

extension EmailAddress: CustomStringConvertible {
    /// Never the address: descriptions end up in logs.
    package var description: String { "EmailAddress(…)" }
}

extension String {
    /// Without white space around it.
    package var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(self[first...last])
    }
}
