// What consent says over HTTP of a person's own profile.

import Contracts
import HTTPKit

/// Everything that the person has told, and how the account is.
struct ProfileItem: Codable, Sendable {
    var person: PersonID
    var state: AccountState
    var registeredAt: String
    var name: String
    var surname: String
    var email: String
    var addressState: AddressItem
    var language: Language
    var fiscalCode: String
    var birthDate: String
    var cityOfBirth: PlaceItem?
    var cityOfResidence: PlaceItem?
    var address: String
    var occupation: Occupation
    var weight: Double
    var height: Double
    var gender: Gender?
    var userName: String?
    var phone: String?
    var socialStatus: SocialStatus?
    var workHoursPerDay: Double?
    var sportHoursPerWeek: Double?
    var automatedSOS: AutomatedSOSItem
    var acceptedTerms: String?
    /// Where the areas of the profile are (ACC-18).
    var areas: [String: String]

    init?(_ known: ProfileService.Known, _ places: PlaceList) {
        let (row, profile) = (known.row, known.profile)
        guard let person = row.subject.person else { return nil }
        (self.person, state, registeredAt) = (person, row.state, row.createdAt.rfc3339)
        (name, surname, email, language) = (profile.name, profile.surname, profile.email.text, profile.language)
        (fiscalCode, birthDate) = (profile.fiscalCode, profile.birthDate.text)
        cityOfBirth = places.place(profile.cityOfBirth).map(PlaceItem.init)
        cityOfResidence = places.place(profile.cityOfResidence).map(PlaceItem.init)
        (address, occupation, weight, height) = (profile.address, profile.occupation, profile.weight, profile.height)
        (gender, userName, phone) = (profile.gender, profile.userName?.text, profile.phone?.text)
        (socialStatus, workHoursPerDay, sportHoursPerWeek) = (
            profile.socialStatus, profile.workHoursPerDay, profile.sportHoursPerWeek
        )
        addressState = AddressItem(row)
        automatedSOS = AutomatedSOSItem(profile.automatedSOS)
        acceptedTerms = row.termsVersion
        areas = Self.areas
    }

    private static let areas = [
        "editProfile": "/consent/v1/profile", "acquiredData": "/ingest/v1/entries",
        "pendingRequests": "/consent/v1/requests?pending=true", "pastRequests": "/consent/v1/requests?pending=false",
        "policy": "/consent/v1/policy", "consents": "/consent/v1/profile/consents",
    ]
}

extension ProfileItem: Documented {
    static let schema = JSONSchema.object(
        .required("person", .identifier(Person.self)), .required("state", .oneOf(AccountState.allCases.map(\.rawValue))),
        .required("registeredAt", .time), .required("name", .string()), .required("surname", .string()), .required("email", .string()),
        .required("addressState", AddressItem.schema), .required("language", AccountSchemas.language),
        .required("fiscalCode", .string(), "Fixed after registration, as are birth date and city of birth."),
        .required("birthDate", .string(format: "date")), .optional("cityOfBirth", PlaceItem.schema),
        .optional("cityOfResidence", PlaceItem.schema), .required("address", .string()),
        .required("occupation", .oneOf(Occupation.allCases.map(\.rawValue))),
        .required("weight", .number(in: Plausible.weight), "kg"), .required("height", .number(in: Plausible.height), "cm"),
        .optional("gender", .oneOf(Gender.allCases.map(\.rawValue))), .optional("userName", .string()), .optional("phone", .string()),
        .optional("socialStatus", .oneOf(SocialStatus.allCases.map(\.rawValue))), .optional("workHoursPerDay", .number()),
        .optional("sportHoursPerWeek", .number()),
        .required("automatedSOS", AutomatedSOSItem.schema), .optional("acceptedTerms", .string(), "The version that was accepted."),
        .required("areas", .map(of: .string()), "Paths of the profile's areas.")
    ).named("Profile")
}

/// One consent, given or withdrawn.
struct ConsentRecordItem: Codable, Sendable {
    var at: String
    var what: ConsentRecord.What
    var given: Bool
    var version: String
    var types: [Metric]?
    var by: ConsentRecord.Giver
    var guardian: String?

    init(_ entry: ConsentRecordStore.Entry) {
        let record = entry.record
        (at, what, given, version) = (entry.at.rfc3339, record.what, record.given, record.version)
        (types, by, guardian) = (record.types, record.by, record.guardian)
    }
}

extension ConsentRecordItem: Documented {
    static let schema = JSONSchema.object(
        .required("at", .time), .required("what", .oneOf(ConsentRecord.What.allCases.map(\.rawValue))), .required("given", .boolean),
        .required("version", .string(), "Of the text that was shown."), .optional("types", .array(of: AccountSchemas.metric)),
        .required("by", .oneOf(["person", "guardian"])), .optional("guardian", .string(), "Who consented for a child.")
    ).named("ConsentRecord")
}
