// The number by which tax offices know an organisation: the form that each country of VIES gives it, and the check
// digits of Italy and Germany.

/// In capitals, with the two letters of its country as VIES writes them (`EL` for Greece, `XI` for Northern Ireland), without spaces.
package struct VATNumber: Hashable, Sendable {
    package enum Fault: Error, Hashable, Sendable {
        /// It begins with no country of VIES, and is no number of the installation's own.
        case country
        /// Not as that country writes its numbers.
        case form(country: String)
        /// Its last digit does not fit the others.
        case checkDigit
    }

    /// Longest that anybody needs to look at.
    static let longest = 32

    package let text: String

    /// Spaces, full stops, hyphens and case do not count; what fits `home` without a country in front is a number of `home`.
    package init(checking typed: String, in home: Country) throws(Fault) {
        let characters = typed.uppercased().filter { !$0.isWhitespace && $0 != "." && $0 != "-" }
        let isNational = Self.forms[home.vatPrefix]?.contains { Self.fits(Array(characters.utf8), $0) } == true
        let spelt = isNational ? home.vatPrefix + characters : characters
        let (country, number) = (String(spelt.prefix(2)), Array(spelt.utf8.dropFirst(2)))
        guard spelt.utf8.count <= Self.longest, let forms = Self.forms[country] else { throw .country }
        guard forms.contains(where: { Self.fits(number, $0) }) else { throw .form(country: country) }
        guard Self.checkFits(number, of: country) else { throw .checkDigit }
        text = spelt
    }

    /// Nil where it is not valid.
    package init?(_ typed: String, in home: Country) {
        do {
            try self.init(checking: typed, in: home)
        } catch {
            return nil
        }
    }

    /// How each country writes its numbers: `9` stands for a digit, `a` for a letter, `x` for either, `*` for either or one of `+*`; every
    /// other character for itself.
    private static let forms: [String: [String]] = [
        "AT": ["U99999999"], "BE": ["0999999999", "1999999999"], "BG": ["999999999", "9999999999"], "CY": ["99999999a"],
        "CZ": ["99999999", "999999999", "9999999999"], "DE": ["999999999"], "DK": ["99999999"], "EE": ["999999999"], "EL": ["999999999"],
        "ES": ["a9999999x", "99999999a"], "FI": ["99999999"], "FR": ["xx999999999"], "HR": ["99999999999"], "HU": ["99999999"],
        "IE": ["9999999a", "9999999aa", "9*99999a"], "IT": ["99999999999"], "LT": ["999999999", "999999999999"], "LU": ["99999999"],
        "LV": ["99999999999"], "MT": ["99999999"], "NL": ["999999999B99"], "PL": ["9999999999"], "PT": ["999999999"],
        "RO": (2...10).map { String(repeating: "9", count: $0) }, "SE": ["999999999901"], "SI": ["99999999"], "SK": ["9999999999"],
        "XI": ["999999999", "999999999999", "GD999", "HA999"],
    ]

    /// All countries whose numbers are taken.
    static var countries: [String] { forms.keys.sorted() }

    private static func fits(_ number: [UInt8], _ form: String) -> Bool {
        let places = Array(form.utf8)
        return number.count == places.count
            && zip(number, places).allSatisfy { character, place in
                switch place {
                case UInt8(ascii: "9"): isDigit(character)
                case UInt8(ascii: "a"): isLetter(character)
                case UInt8(ascii: "x"): isDigit(character) || isLetter(character)
                case UInt8(ascii: "*"): isDigit(character) || isLetter(character) || "+*".utf8.contains(character)
                default: character == place
                }
            }
    }

    /// Of the countries that the suite knows by more than the form of this number.
    private static func checkFits(_ number: [UInt8], of country: String) -> Bool {
        switch country {
        case "IT": italianCheckFits(number)
        case "DE": CheckDigit.fitsMod11And10(number)
        default: true
        }
    }

    /// Every second digit is doubled, less 9 above 9; with the last one all of them make a multiple of ten. Zeros alone are nobody's.
    private static func italianCheckFits(_ number: [UInt8]) -> Bool {
        let digits = number.map { Int($0 - UInt8(ascii: "0")) }
        let sum = digits.enumerated().reduce(0) { sum, item in
            guard !item.offset.isMultiple(of: 2) else { return sum + item.element }
            let doubled = 2 * item.element
            return sum + (doubled > 9 ? doubled - 9 : doubled)
        }
        return sum.isMultiple(of: 10) && digits.contains { $0 != 0 }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    private static func isLetter(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") }
}

extension VATNumber: CustomStringConvertible {
    /// Never the number: a sole trader's is personal, and descriptions end up in logs.
    package var description: String { "VATNumber(…)" }
}
