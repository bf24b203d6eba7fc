// A mail address that can be written into an envelope and a header without a second thought.

/// The plain form of RFC 5322, `local@domain` in ASCII: no quoted local part, no comment, no address literal, and above all no
/// character that could end a line or an angle bracket.
package struct MailAddress: Hashable, Sendable, CustomStringConvertible {
    /// As it was given, its case kept. Personal: never for a log.
    package let text: String

    /// RFC 5321 §4.5.3.1.
    private static let longest = (whole: 254, local: 64, label: 63)

    /// - Returns: nil for anything else; nothing is trimmed or mended.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= MailAddress.longest.whole, let at = bytes.firstIndex(of: UInt8(ascii: "@")),
            MailAddress.isLocalPart(bytes[..<at]), MailAddress.isDomain(bytes[(at + 1)...])
        else { return nil }
        self.text = text
    }

    package var description: String { text }

    /// Behind the `@`, its case kept.
    package var domain: Substring { text[text.index(after: text.firstIndex(of: "@") ?? text.startIndex)...] }

    private static func isLocalPart(_ bytes: ArraySlice<UInt8>) -> Bool {
        let marks = Set("!#$%&'*+-/=?^_`{|}~".utf8)
        return bytes.count <= longest.local
            && bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { atom in
                !atom.isEmpty && atom.allSatisfy { isLetterOrDigit($0) || marks.contains($0) }
            }
    }

    private static func isDomain(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            !label.isEmpty && label.count <= longest.label && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}
