// What the people of tests fill in at consent, and organisations at the gateway.

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

/// Every field is right.
/// - Parameters:
///   - email: the corporate address; the representative has one beside it.
///   - terms: the version of the conditions that it accepts.
package func organisationForm(
    name: String, email: String, sector: String, description: String, password: String, terms: String
) -> [String: any Sendable] {
    let address = ["street": "Via Festa del Perdono 7", "city": "Milano", "postalCode": "20122"]
    let host = email.split(separator: "@").last ?? ""
    let representative = [
        "name": "Mario", "surname": "Rossi", "officeAddress": "Via Festa del Perdono 7, Milano", "phone": "+39 02 50311",
        "email": "mario.rossi@\(host)", "fiscalCode": "RSSMRA80A01H501U",
    ]
    return [
        "businessName": name, "vatNumber": "IT00743110157", "legalAddress": address, "billingAddress": address, "email": email,
        "emailAgain": email, "sector": sector, "description": description, "representative": representative,
        "paymentMethod": "bank-transfer", "password": password, "passwordAgain": password, "acceptedTerms": terms,
        "acceptedPrivacy": terms, "acceptedResponsibility": terms, "acceptedJurisdiction": terms,
    ]
}
