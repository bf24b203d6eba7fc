// Money as it is counted: whole minor units of one currency, never a fraction.

/// An amount of money, never less than nothing.
package struct Amount: Hashable, Codable, Sendable {
    /// Cents, for a currency that has them (ISO 4217's minor unit).
    package var minor: Int64
    /// ISO 4217, three capital letters.
    package var currency: String

    package init(minor: Int64, currency: String) {
        (self.minor, self.currency) = (minor, currency)
    }

    package var isNothing: Bool { minor == 0 }

    /// Digits after the decimal point: 2 for most, 0 and 3 for the few of ISO 4217 that differ.
    package static func digits(of currency: String) -> Int {
        switch currency {
        case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF": 0
        case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND": 3
        default: 2
        }
    }

    /// Whether it has the form of ISO 4217; not whether there is such a currency.
    package static func isCurrency(_ text: String) -> Bool {
        text.utf8.count == 3 && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    /// With a point and as many digits as the currency has: `12.50`.
    package var decimal: String {
        let digits = Amount.digits(of: currency)
        guard digits > 0 else { return String(minor) }
        let text = String(minor)
        let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        return "\(padded.dropLast(digits)).\(padded.suffix(digits))"
    }

    /// `12.50 EUR`.
    package var text: String { "\(decimal) \(currency)" }
}

/// How a third party pays (PAY-06).
package enum PaymentMethod: String, Codable, Sendable, CaseIterable {
    case card
    case paypal
    case bankTransfer = "bank-transfer"
}
