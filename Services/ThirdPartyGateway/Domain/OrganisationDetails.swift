// What an organisation says of itself (ORG-02 to ORG-05).

import Contracts

struct PostalAddress: Codable, Hashable, Sendable {
    var street: String
    var city: String
    var postalCode: String
    /// ISO 3166-1, two letters.
    var country: String
}

/// Who signs for the organisation (ORG-03). Personal.
struct LegalRepresentative: Codable, Hashable, Sendable {
    var name: String
    var surname: String
    var officeAddress: String
    /// E.164: `+39…`.
    var phone: String
    var email: EmailAddress
    /// The identifier of a person in the country that the installation was in when it was given; in capitals and without spaces.
    var fiscalCode: String
}

/// Which conditions were accepted and when (ORG-05): terms, privacy, responsibility for disclosure, jurisdiction, all of one version.
struct AcceptedConditions: Codable, Hashable, Sendable {
    var version: String
    var at: Timestamp
}

/// Everything of the form but the password. Personal in part; sealed at rest under the service's own key.
struct OrganisationDetails: Codable, Hashable, Sendable {
    /// Fixed after registration (ORG-13), as is the VAT number.
    var businessName: String
    /// With its country's two letters: `IT00743110157`.
    var vatNumber: String
    var legalAddress: PostalAddress
    var billingAddress: PostalAddress
    /// Where the organisation is written to; the first member logs in by it.
    var email: EmailAddress
    var sector: String
    var description: String
    var website: String?
    var researchInterests: String?
    /// Nil once the organisation is closed.
    var representative: LegalRepresentative?
    /// How it prefers to pay (ORG-04). What payment itself needs is the handler's affair: no card or account numbers here (PAY-08).
    var paymentMethod: PaymentMethod
    /// In which it is written to.
    var language: Language
    var accepted: AcceptedConditions
}

/// To whom an invoice is made out (PAY-06).
struct BillingAddress: Codable, Hashable, Sendable {
    var name: String
    var vatNumber: String
    var address: PostalAddress
    var email: String
    var language: Language
}

extension OrganisationDetails {
    var billing: BillingAddress {
        BillingAddress(name: businessName, vatNumber: vatNumber, address: billingAddress, email: email.text, language: language)
    }
}

/// What two business names must differ in (ORG-06): more than case and white space.
enum BusinessName {
    static let longest = 200

    static func folded(_ name: String) -> String {
        name.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
