// Whom the demo registers: invented people whose fiscal codes are well formed.

import Contracts
import Foundation

/// Berta Demo, born in Rome on one of several days, so that a demo that was broken off does not stand in the next one's way.
struct DemoPerson: Sendable {
    let email: String
    let password: String
    let birthDate: String
    let fiscalCode: String

    static func random() -> DemoPerson {
        let (birthDate, fiscalCode) = births.randomElement() ?? births[0]
        let mark = UInt64.random(in: 0 ... .max)
        return DemoPerson(
            email: "berta.\(mark)@example.org", password: "corretto cavallo \(mark)", birthDate: birthDate, fiscalCode: fiscalCode)
    }

    /// The registration form.
    /// - Parameter terms: the version of the conditions that were shown.
    func form(acceptedTerms terms: String) -> [String: Any] {
        [
            "name": "Berta", "surname": "Demo", "email": email, "password": password, "passwordAgain": password, "fiscalCode": fiscalCode,
            "birthDate": birthDate, "cityOfBirth": "H501", "cityOfResidence": "F205", "address": "Via Roma 1", "occupation": "employed",
            "weight": 61.5, "height": 162, "acceptedTerms": terms, "acceptedPrivacy": terms,
        ]
    }

    private static let births: [(String, String)] = [
        ("1950-01-01", "DMEBRT50A41H501Q"),
        ("1950-02-06", "DMEBRT50B46H501E"),
        ("1950-03-11", "DMEBRT50C51H501V"),
        ("1950-04-16", "DMEBRT50D56H501M"),
        ("1950-05-21", "DMEBRT50E61H501A"),
        ("1950-06-26", "DMEBRT50H66H501X"),
        ("1950-07-03", "DMEBRT50L43H501A"),
        ("1950-08-08", "DMEBRT50M48H501A"),
        ("1950-09-13", "DMEBRT50P53H501A"),
        ("1950-10-18", "DMEBRT50R58H501R"),
        ("1950-11-23", "DMEBRT50S63H501K"),
        ("1950-12-28", "DMEBRT50T68H501Y"),
        ("1950-01-05", "DMEBRT50A45H501D"),
        ("1950-02-10", "DMEBRT50B50H501R"),
        ("1950-03-15", "DMEBRT50C55H501I"),
        ("1950-04-20", "DMEBRT50D60H501Z"),
    ]
}
