// What consent says over HTTP of places, conditions, registrations and addresses.

import Contracts
import Foundation
import HTTPKit

// MARK: Places

struct PlaceItem: Codable, Hashable, Sendable {
    var code: String
    var name: String
    /// Two letters in Italy; `EE` abroad.
    var province: String
    /// Absent abroad.
    var region: String?
    var country: String
    /// The day on which the name came into force.
    var from: String
    /// The last day; absent while it is so.
    var until: String?

    init(_ place: Place) {
        (code, name, province, country, from) = (place.code, place.name, place.province, place.country, place.from)
        region = place.region.isEmpty ? nil : place.region
        until = place.until.isEmpty ? nil : place.until
    }
}

extension PlaceItem: Documented {
    static let schema = JSONSchema.object(
        .required("code", AccountSchemas.place, "Send this one."), .required("name", .string()),
        .required("province", .string(length: 1...3), "`EE` abroad."), .optional("region", .string(), "Absent abroad."),
        .required("country", .string()), .required("from", .string()), .optional("until", .string(), "Of a place that is no more.")
    ).named("Place")
}

// MARK: Conditions

struct ConditionItem: Codable, Sendable {
    var kind: Conditions.Kind
    var language: Language
    var title: String
    var text: String
}

struct ConditionsItem: Codable, Sendable {
    /// To be sent with the registration.
    var version: String
    var documents: [ConditionItem]

    init(_ languages: [Language]) {
        version = Conditions.version
        documents = languages.flatMap { language in
            Conditions.Kind.allCases.map { kind in
                ConditionItem(
                    kind: kind, language: language, title: Conditions.title(kind, language), text: Conditions.text(kind, language))
            }
        }
    }
}

extension ConditionsItem: Documented {
    static let schema = JSONSchema.object(
        .required("version", .string(), "Send it as `acceptedTerms` and `acceptedPrivacy`."),
        .required(
            "documents",
            .array(
                of: .object(
                    .required("kind", .oneOf(Conditions.Kind.allCases.map(\.rawValue))), .required("language", AccountSchemas.language),
                    .required("title", .string()), .required("text", .string()))))
    ).named("Conditions")
}

// MARK: Registrations

/// How mail to the address fares.
struct AddressItem: Codable, Sendable {
    var confirmedAt: String?
    /// When mail last came back: the address is to be corrected.
    var failedAt: String?

    init(_ row: AccountRow) {
        (confirmedAt, failedAt) = (row.addressConfirmedAt?.rfc3339, row.addressFailedAt?.rfc3339)
    }
}

extension AddressItem: Documented {
    static let schema = JSONSchema.object(
        .optional("confirmedAt", .time, "Absent until somebody has followed the mailed link."),
        .optional("failedAt", .time, "Mail came back then: correct the address, or have it sent again.")
    ).named("Address")
}

struct AutomatedSOSItem: Codable, Sendable {
    var status: AutomatedSOSPreference.Status
    var reason: String?

    init(_ preference: AutomatedSOSPreference) {
        (status, reason) = (preference.status, preference.reason)
    }
}

extension AutomatedSOSItem: Documented {
    static let schema = JSONSchema.object(
        .required("status", .oneOf(AutomatedSOSPreference.Status.allCases.map(\.rawValue))),
        .optional("reason", .string(), "Why it is not active.")
    ).named("AutomatedSOSPreference")
}

struct RegistrationItem: Codable, Sendable {
    var person: PersonID
    var state: AccountState
    var automatedSOS: AutomatedSOSItem
    var address: AddressItem
    var correctionToken: String

    init?(_ outcome: RegistrationOutcome) {
        guard let person = outcome.row.subject.person else { return nil }
        (self.person, state, correctionToken) = (person, outcome.row.state, outcome.correctionToken)
        automatedSOS = AutomatedSOSItem(outcome.profile.automatedSOS)
        address = AddressItem(outcome.row)
    }
}

extension RegistrationItem: Documented {
    static let schema = JSONSchema.object(
        .required("person", .identifier(Person.self)),
        .required(
            "state", .oneOf(AccountState.allCases.map(\.rawValue)),
            "`active`: log in. `unconfirmed`: first follow the mailed link. `awaiting-guardian`: first an adult must consent."),
        .required("automatedSOS", AutomatedSOSItem.schema), .required("address", AddressItem.schema),
        .required(
            "correctionToken", AccountSchemas.token, "For a day: corrects the address or sends the mail again, without logging in.")
    ).named("Registration")
}

struct FirstMailItem: Codable, Sendable {
    var state: AccountState
    var address: AddressItem

    init(_ row: AccountRow) {
        (state, address) = (row.state, AddressItem(row))
    }
}

extension FirstMailItem: Documented {
    static let schema = JSONSchema.object(
        .required("state", .oneOf(AccountState.allCases.map(\.rawValue))), .required("address", AddressItem.schema)
    ).named("FirstMail")
}

/// What sends the first mail again.
struct FirstMailBody: Codable, Sendable {
    var correctionToken: String
    var email: String?
}

struct NewAddressBody: Codable, Sendable {
    var email: String
}

// MARK: Shapes for the OpenAPI document

enum AccountSchemas {
    static let place = JSONSchema.string(pattern: "^[0-9A-Z]{1,16}$")
    static let language = JSONSchema.oneOf(Language.allCases.map(\.rawValue))
    static let token = JSONSchema.string(length: MailLinkStore.tokenCharacters...MailLinkStore.tokenCharacters)
    static let text = JSONSchema.string(length: 1...FormReader.longestText)
    static let email = JSONSchema.string(length: 3...EmailAddress.longest, format: "email")
    static let metric = JSONSchema.oneOf(Metric.all.map(\.code))

    private static func choice<Value: RawRepresentable & CaseIterable>(_: Value.Type) -> JSONSchema where Value.RawValue == String {
        .oneOf(Value.allCases.map(\.rawValue))
    }

    /// Bodies of forms are checked by the domain, which names every wrong field; these say what is expected.
    static let registration = JSONSchema.object(
        .required("name", text), .required("surname", text), .required("email", email),
        .optional("password", .string(), "Required unless passwords are mailed."), .optional("passwordAgain", .string()),
        .required(
            "fiscalCode", .string(),
            "The identifier of a person in the installation's country: in Italy the fiscal code, in Germany the tax identification number. Spaces and case do not count."
        ),
        .required("birthDate", .string(format: "date")), .required("cityOfBirth", place), .required("cityOfResidence", place),
        .required("address", text), .required("occupation", choice(Occupation.self)),
        .required("weight", .number(in: Plausible.weight), "kg"),
        .required("height", .number(in: Plausible.height), "cm"), .optional("gender", choice(Gender.self).nullable()),
        .optional("userName", .string().nullable()), .optional("phone", .string().nullable()),
        .optional("socialStatus", choice(SocialStatus.self).nullable()),
        .optional("workHoursPerDay", .number(in: Plausible.workHours).nullable()),
        .optional("sportHoursPerWeek", .number(in: Plausible.sportHours).nullable()), .optional("language", language),
        .required("acceptedTerms", .string(), "The version that was read."), .required("acceptedPrivacy", .string()),
        .optional("anonymousTypes", .array(of: metric), "Types that may be shared anonymously; none unless chosen."),
        .optional("joinsAutomatedSOS", .boolean), .optional("acceptedSOSClauses", .boolean, "Required to join."),
        .optional("guardianEmail", email, "Required for a child.")
    ).named("RegistrationForm")

    static let registrationExample: JSONValue = [
        "name": "Anna", "surname": "Esposito", "email": "anna@example.org", "password": "corretto cavallo batteria",
        "passwordAgain": "corretto cavallo batteria", "fiscalCode": "SPSNNA40E41H501W", "birthDate": "1940-05-01", "cityOfBirth": "H501",
        "cityOfResidence": "F205", "address": "Via Roma 1", "occupation": "unemployed", "weight": 61.5, "height": 162,
        "acceptedTerms": .string(Conditions.version), "acceptedPrivacy": .string(Conditions.version), "anonymousTypes": ["heart-rate"],
    ]

    static let profileChange = JSONSchema.object(
        .optional("cityOfResidence", place), .optional("address", text), .optional("occupation", choice(Occupation.self)),
        .optional("weight", .number(in: Plausible.weight), "kg"), .optional("height", .number(in: Plausible.height), "cm"),
        .optional("language", language), .optional("gender", choice(Gender.self).nullable(), "Null takes it away, as the others below."),
        .optional("userName", .string().nullable()), .optional("phone", .string().nullable()),
        .optional("socialStatus", choice(SocialStatus.self).nullable()),
        .optional("workHoursPerDay", .number(in: Plausible.workHours).nullable()),
        .optional("sportHoursPerWeek", .number(in: Plausible.sportHours).nullable())
    ).named("ProfileChange")
}

extension FirstMailBody: Documented {
    static let schema = JSONSchema.object(
        .required("correctionToken", AccountSchemas.token, "Of the answer to the registration."),
        .optional("email", AccountSchemas.email, "Another address; absent: the same once more.")
    ).named("FirstMailOrder")
}

extension NewAddressBody: Documented {
    static let schema = JSONSchema.object(.required("email", AccountSchemas.email)).named("NewAddress")
}
