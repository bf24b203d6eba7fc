// Germany's number of a person for taxes, and the check digit that it shares with other numbers.

/// Eleven digits by § 139b of the Abgabenordnung, as the Bundeszentralamt für Steuern gives them out: no zero in front, among the first
/// ten exactly one digit that stands there twice or three times, though never three times in a row, and a check digit. They say nothing
/// of their owner.
package struct TaxIdentificationNumber: Hashable, Sendable {
    /// The first thing that is wrong; never what was typed.
    package enum Fault: Error, Hashable, Sendable {
        case length
        /// Something else than digits, a zero in front, or digits repeated as in no number that was given out.
        case digits
        case checkDigit
    }

    package static let length = 11

    /// Without spaces.
    package let text: String

    /// Spaces do not count.
    package init(checking typed: String) throws(Fault) {
        let typed = typed.filter { !$0.isWhitespace }
        guard typed.utf8.count == Self.length else { throw .length }
        guard Self.hasForm(typed), typed.utf8.first != UInt8(ascii: "0"), Self.repeatsOneDigit(typed.utf8.dropLast()) else { throw .digits }
        guard CheckDigit.fitsMod11And10(typed.utf8) else { throw .checkDigit }
        text = typed
    }

    /// Whether it looks like one, valid or not.
    package static func hasForm(_ typed: String) -> Bool {
        let typed = typed.filter { !$0.isWhitespace }
        return typed.utf8.count == length && typed.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func repeatsOneDigit(_ digits: some Collection<UInt8>) -> Bool {
        let repeated = Dictionary(grouping: digits, by: { $0 }).values.filter { $0.count > 1 }
        guard repeated.count == 1, let one = repeated.first, one.count <= 3 else { return false }
        let isInRow = zip(digits, zip(digits.dropFirst(), digits.dropFirst(2))).contains { $0 == $1.0 && $0 == $1.1 }
        return !isInRow
    }
}

extension TaxIdentificationNumber: CustomStringConvertible {
    /// Never the number: descriptions end up in logs.
    package var description: String { "TaxIdentificationNumber(…)" }
}

/// Check digits by standards that several numbers use.
package enum CheckDigit {
    /// ISO 7064 MOD 11,10, the last digit being the check digit.
    /// - Parameter digits: digits in ASCII and nothing else.
    package static func fitsMod11And10(_ digits: some BidirectionalCollection<UInt8>) -> Bool {
        var product = 10
        for digit in digits.dropLast() {
            let sum = (Int(digit - UInt8(ascii: "0")) + product) % 10
            product = 2 * (sum == 0 ? 10 : sum) % 11
        }
        return digits.last == UInt8(ascii: "0") + UInt8((11 - product) % 10)
    }
}
