// Whom these benchmarks register: people and firms that exist nowhere, by the same rules as everybody's numbers.

import Contracts

/// One of many; different for every number below 23,000.
struct MadeUpPerson: Hashable, Sendable {
    private static let (surname, name, placeOfBirth) = ("Sintetica", "Misura", "H501")

    let birthDate: String
    let fiscalCode: String
    let email: String
    let password: String

    init(_ number: Int) {
        // Adults, on days that every month has.
        let (year, month, day) = (1930 + number % 70, number / 70 % 12 + 1, number / 840 % 28 + 1)
        birthDate = "\(year)-\(Self.two(month))-\(Self.two(day))"
        fiscalCode = FiscalCode.computed(
            surname: Self.surname, name: Self.name, year: year, month: month, day: day, sex: .female, place: Self.placeOfBirth)
        email = "bench.person.\(number)@example.org"
        password = "cronometro e metro \(number)"
    }

    /// The registration form.
    func form(acceptedTerms terms: String) -> [String: Any] {
        [
            "name": Self.name, "surname": Self.surname, "email": email, "password": password, "passwordAgain": password,
            "fiscalCode": fiscalCode, "birthDate": birthDate, "cityOfBirth": Self.placeOfBirth, "cityOfResidence": "F205",
            "address": "Via del Banco 1 (synthetic person)", "occupation": "employed", "weight": 64.0, "height": 168,
            "acceptedTerms": terms, "acceptedPrivacy": terms,
        ]
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
}

struct MadeUpFirm: Hashable, Sendable {
    let name: String
    let email: String
    let password: String
    private let vatNumber: String
    private let representative: String

    init(_ number: Int) {
        name = "Bench \(number)"
        email = "bench.firm.\(number)@example.org"
        password = "bilancia e compasso \(number)"
        vatNumber = "IT" + Self.italianNumber(1_000_000 + number)
        representative = MadeUpPerson(number).fiscalCode
    }

    /// The registration form.
    func form(acceptedConditions conditions: String) -> [String: Any] {
        let address = ["street": "Via del Banco 2", "city": "Milano", "postalCode": "20122", "country": "IT"]
        return [
            "businessName": name, "vatNumber": vatNumber, "legalAddress": address, "billingAddress": address, "email": email,
            "emailAgain": email, "sector": "software", "description": "Measures the interface with synthetic data.",
            "representative": [
                "name": "Misura", "surname": "Sintetica", "officeAddress": "Via del Banco 2, Milano", "phone": "+390200000000",
                "email": email, "fiscalCode": representative,
            ],
            "paymentMethod": "card", "language": "en", "password": password, "passwordAgain": password, "acceptedTerms": conditions,
            "acceptedPrivacy": conditions, "acceptedResponsibility": conditions, "acceptedJurisdiction": conditions,
        ]
    }

    /// Ten digits and the one that checks them: every second is doubled, less 9 above 9; all eleven add up to a multiple of ten.
    private static func italianNumber(_ number: Int) -> String {
        let text = String(number)
        let digits = (String(repeating: "0", count: 10 - text.count) + text).compactMap(\.wholeNumberValue)
        let sum = digits.enumerated().reduce(0) { sum, item in
            let counted = item.offset.isMultiple(of: 2) ? item.element : 2 * item.element
            return sum + (counted > 9 ? counted - 9 : counted)
        }
        return digits.map(String.init).joined() + String((10 - sum % 10) % 10)
    }
}
