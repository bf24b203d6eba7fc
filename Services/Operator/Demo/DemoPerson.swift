// Whom the demo registers: invented people whose fiscal codes are well formed.

import Contracts
import Foundation

/// Berta Demo, born in one of four cities on one of some 13,000 days, so that neither a demo that was broken off nor a second person of one
/// story has her fiscal code already: an account that has it does not tell the next registration so (X17).
struct DemoPerson: Sendable {
    let email: String
    let password: String
    let birthDate: String
    let birthPlace: String
    let fiscalCode: String

    static func random() -> DemoPerson {
        let (year, month, day) = (Int.random(in: 1940...1979), Int.random(in: 1...12), Int.random(in: 1...28))
        let place = birthPlaces.randomElement() ?? birthPlaces[0]
        let mark = UInt64.random(in: 0 ... .max)
        return DemoPerson(
            email: "berta.\(mark)@example.org", password: "corretto cavallo \(mark)",
            birthDate: String(format: "%04d-%02d-%02d", year, month, day), birthPlace: place,
            fiscalCode: FiscalCode.computed(
                surname: surname, name: name, year: year, month: month, day: day, sex: .female, place: place))
    }

    /// The registration form.
    /// - Parameter terms: the version of the conditions that were shown.
    func form(acceptedTerms terms: String) -> [String: Any] {
        [
            "name": Self.name, "surname": Self.surname, "email": email, "password": password, "passwordAgain": password,
            "fiscalCode": fiscalCode, "birthDate": birthDate, "cityOfBirth": birthPlace, "cityOfResidence": "F205", "address": "Via Roma 1",
            "occupation": "employed", "weight": 61.5, "height": 162, "acceptedTerms": terms, "acceptedPrivacy": terms,
        ]
    }

    private static let (name, surname) = ("Berta", "Demo")
    /// Rome, Milan, Naples, Turin.
    private static let birthPlaces = ["H501", "F205", "F839", "L219"]
}
