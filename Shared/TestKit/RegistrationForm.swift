// What the people of tests fill in at consent.

import Contracts

/// Every mandatory field is right: of a woman born in Rome on 1 May 1940.
/// - Parameter terms: the version of the conditions that she accepts.
package func registrationForm(
    name: String, surname: String, email: String, password: String, terms: String
) -> [String: any Sendable] {
    let code = FiscalCode.computed(surname: surname, name: name, year: 1940, month: 5, day: 1, sex: .female, place: "H501")
    return [
        "name": name, "surname": surname, "email": email, "password": password, "passwordAgain": password, "fiscalCode": code,
        "birthDate": "1940-05-01", "cityOfBirth": "H501", "cityOfResidence": "F205", "address": "Via Roma 1", "occupation": "student",
        "weight": 61.5, "height": 162, "language": "it", "acceptedTerms": terms, "acceptedPrivacy": terms,
    ]
}
