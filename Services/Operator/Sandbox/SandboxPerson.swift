// Whom the sandbox registers: a person and a firm that exist nowhere, by the same rules as everybody's numbers.

import Contracts

/// Prova Sintetica: whoever sees the name, or a fiscal code that begins with SNTPRV, sees that it is nobody's.
struct SandboxPerson: Hashable, Sendable {
    static let surname = "Sintetica"
    static let name = "Prova"
    /// Rome, by its Belfiore code.
    private static let placeOfBirth = "H501"

    /// A day like 1961-04-09.
    let birthDate: String
    let fiscalCode: String
    let email: String
    let password: String

    /// - Parameter mark: different for everybody who shall be somebody else.
    init(mark: UInt64) {
        // Adults of every age; days that every month has.
        let (year, month, day) = (1930 + Int(mark % 70), Int(mark / 70 % 12) + 1, Int(mark / 840 % 28) + 1)
        birthDate = "\(year)-\(Self.twoDigits(month))-\(Self.twoDigits(day))"
        fiscalCode = FiscalCode.computed(
            surname: Self.surname, name: Self.name, year: year, month: month, day: day, sex: .female, place: Self.placeOfBirth)
        email = "sandbox.person.\(mark)@example.org"
        password = "sabbia e secchiello \(mark)"
    }

    /// The registration form.
    /// - Parameter terms: the version of the conditions that were shown.
    func form(acceptedTerms terms: String) -> [String: Any] {
        [
            "name": Self.name, "surname": Self.surname, "email": email, "password": password, "passwordAgain": password,
            "fiscalCode": fiscalCode, "birthDate": birthDate, "cityOfBirth": Self.placeOfBirth, "cityOfResidence": "F205",
            "address": "Via della Sabbia 1 (synthetic person)", "occupation": "employed", "weight": 64.0, "height": 168,
            "acceptedTerms": terms, "acceptedPrivacy": terms,
        ]
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : String(number)
    }
}

/// A firm that plays with the interface.
struct SandboxOrganisation: Hashable, Sendable {
    let name: String
    let vatNumber: String
    let email: String
    let password: String
    private let representativeCode: String

    /// - Parameter mark: different for every firm.
    init(mark: UInt64) {
        name = "Sandbox \(mark)"
        vatNumber = "IT" + Self.italianNumber(mark)
        email = "sandbox.firm.\(mark)@example.org"
        password = "paletta e formine \(mark)"
        representativeCode = SandboxPerson(mark: mark).fiscalCode
    }

    /// The registration form.
    /// - Parameter conditions: the version that was shown.
    func form(acceptedConditions conditions: String) -> [String: Any] {
        let address = ["street": "Via della Sabbia 2", "city": "Milano", "postalCode": "20122"]
        return [
            "businessName": name, "vatNumber": vatNumber, "legalAddress": address, "billingAddress": address, "email": email,
            "emailAgain": email, "sector": "software", "description": "Tries out the interface with synthetic data.",
            "representative": [
                "name": SandboxPerson.name, "surname": SandboxPerson.surname, "officeAddress": "Via della Sabbia 2, Milano",
                "phone": "+390200000000", "email": email, "fiscalCode": representativeCode,
            ],
            "paymentMethod": "card", "language": "en", "password": password, "passwordAgain": password, "acceptedTerms": conditions,
            "acceptedPrivacy": conditions, "acceptedResponsibility": conditions, "acceptedJurisdiction": conditions,
        ]
    }

    /// Ten digits and the one that checks them: every second is doubled, less 9 above 9; all eleven add up to a multiple of ten.
    private static func italianNumber(_ mark: UInt64) -> String {
        let text = String(mark % 10_000_000_000)
        let digits = (String(repeating: "0", count: 10 - text.count) + text).compactMap(\.wholeNumberValue)
        let sum = digits.enumerated().reduce(0) { sum, item in
            let counted = item.offset.isMultiple(of: 2) ? item.element : 2 * item.element
            return sum + (counted > 9 ? counted - 9 : counted)
        }
        return digits.map(String.init).joined() + String((10 - sum % 10) % 10)
    }
}
