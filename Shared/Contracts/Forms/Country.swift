// What differs from country to country, as one value that the settings choose (NFR-21, CON-55).

/// Where an installation is at home: it decides how what is typed from now on is read, and whom pages tell people to call. What was
/// stored under another country stays as it is and stays readable. Pure facts; another country is one more case and one more value here.
package struct Country: Hashable, Sendable {
    /// ISO 3166-1 alpha-2, of the countries whose rules are known.
    package enum Code: String, Codable, CaseIterable, Sendable {
        case italy = "IT"
        case germany = "DE"
    }

    /// Also what an address without a country is taken for.
    package let code: Code
    /// As its own people call it; each of its places is shown with it.
    package let name: String
    /// By E.164, without the plus: put before a number that is typed without a country.
    package let callingCode: String
    /// What a national number is dialled with inside the country and left out after the calling code; nil where the whole number is
    /// dialled from anywhere, as in Italy.
    package let trunkPrefix: String?
    /// A national number as people there write it, for hints at forms.
    package let exampleNumber: String
    /// Whom to call in need: at least one, the first before the others. An operator may name others (`country.emergency_numbers`).
    package var emergencyNumbers: [String]
    /// The number by which it tells its people apart.
    package let identifier: PersonIdentifier.Kind
    /// Before a tax number of its organisations, as VIES writes it; often but not always the ISO code.
    package let vatPrefix: String

    package init(_ code: Code) {
        self.code = code
        switch code {
        case .italy:
            (name, callingCode, trunkPrefix, exampleNumber) = ("Italia", "39", nil, "333 1234567")
            (emergencyNumbers, identifier, vatPrefix) = (["112"], .fiscalCode, "IT")
        case .germany:
            (name, callingCode, trunkPrefix, exampleNumber) = ("Deutschland", "49", "0", "030 1234567")
            (emergencyNumbers, identifier, vatPrefix) = (["112"], .taxIdentificationNumber, "DE")
        }
    }

    /// The first, and where everything began.
    package static let italy = Country(.italy)
}

// MARK: Emergency numbers

extension Country {
    /// As many as a page can name to somebody in need.
    package static let mostEmergencyNumbers = 3
    /// Digits of one.
    private static let emergencyDigits = 2...8

    /// From `112` or `144,112`; nil where one is no number that can be dialled, or where they are none or too many.
    package static func emergencyNumbers(_ text: String) -> [String]? {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0).trimmed }
        let areRight = numbers.allSatisfy { number in
            emergencyDigits.contains(number.utf8.count) && number.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        return areRight && numbers.count <= mostEmergencyNumbers ? numbers : nil
    }
}
