// A telephone number that can be called from anywhere.

/// By E.164: a plus sign and 8 to 15 digits, the first not zero. Personal. Coded as its text.
package struct TelephoneNumber: Hashable, Sendable {
    private static let digits = 8...15

    /// Like `+393331234567`.
    package let text: String

    /// As people type it: spaces, hyphens, full stops, slashes and brackets do not count, `00` is a plus, and what has no country's code
    /// is taken for a number of `country`, with or without its trunk prefix, also in `+49 (0)30 …`. Nil where nobody can be called by it.
    package init?(_ typed: String, in country: Country) {
        var number = typed.filter { !" -./()\u{a0}".contains($0) }
        let calling = "+" + country.callingCode
        if number.hasPrefix("00") { number = "+" + number.dropFirst(2) }
        if !number.hasPrefix("+") { number = calling + number }
        if let trunk = country.trunkPrefix, number.hasPrefix(calling + trunk) {
            number = calling + number.dropFirst(calling.count + trunk.count)
        }
        self.init(e164: number)
    }

    /// Nil for any other form, though people would understand it.
    package init?(e164 text: String) {
        let rest = text.utf8.dropFirst()
        guard text.utf8.first == UInt8(ascii: "+"), Self.digits.contains(rest.count), rest.first != UInt8(ascii: "0"),
            rest.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        self.text = text
    }
}

extension TelephoneNumber: TextCoded {
    /// Stored and sent in one form, whatever the country.
    package init?(_ text: String) {
        self.init(e164: text)
    }

    package static let kind = "a telephone number"
}

extension TelephoneNumber: CustomStringConvertible {
    /// Never the number: descriptions end up in logs.
    package var description: String { "TelephoneNumber(…)" }
}
