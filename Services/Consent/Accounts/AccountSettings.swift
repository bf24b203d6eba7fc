// What an operator can set about registration and profiles; names and bounds as in the requirements, section 5.

import Contracts
import Foundation
import ServiceKit

/// Where a new account's password comes from (CON-03).
enum PasswordSource: String, CaseIterable, Sendable {
    /// The person chooses it in the form.
    case chosen
    /// The suite mails a temporary one.
    case mailed
}

struct AccountSettings: Sendable {
    let country: Country
    /// A list in place of the shipped one; nil: the country's own.
    let placeList: URL?
    let passwordSource: PasswordSource
    /// Whether the address must be confirmed before the first log-in (CON-04).
    let isConfirmationRequired: Bool
    /// Below this age in years an adult must consent (ACC-36).
    let guardianAge: Int64
    let fiscalCodeMatch: FiscalCodeMatch
    /// Open fields of table ACC-F that this installation asks for (CON-05).
    let alsoMandatory: Set<ProfileFields.Open>
    /// How long a link for confirming or changing an address holds.
    let confirmTime: Duration
    /// How long an adult has to consent; then the child's registration is forgotten.
    let guardianTime: Duration
    /// Tries to register within an hour, of one e-mail address and of one remote address.
    let registrationsPerHour: Int
    /// How long a mailed temporary password holds.
    let temporaryPasswordTime: Duration

    init(_ reader: inout SettingsReader, temporaryPasswordTime: Duration) {
        let home = CountrySettings(&reader)
        (country, placeList) = (home.country, home.places)
        if placeList == nil, PlaceList.shipped[country.code] == nil {
            reader.refuse("country.places", "must name a list of places: none is shipped for \(country.code.rawValue)")
        }
        passwordSource = reader.read(
            .choice("acc.password_source", default: .chosen, "Where a new account's password comes from: the person or a mail."))
        isConfirmationRequired = reader.read(
            .flag(
                "acc.confirm_required", default: true,
                "Whether a person must confirm the address before the first log-in; without it a registration tells who is registered."))
        guardianAge = Int64(
            reader.read(.integer("acc.guardian_age", default: 14, in: 0...18, "Below this age an adult must consent.")))
        fiscalCodeMatch = reader.read(
            .choice("acc.fiscal_code_match", default: .birth, "With what a fiscal code must agree: itself, the birth, or everything."))
        alsoMandatory = reader.read(
            Setting(
                "acc.also_mandatory", default: [], allowed: Self.openFields + ", separated by commas",
                "Optional fields of the registration form that must be filled in here.", written: Self.written, parse: Self.parsed))
        confirmTime = reader.read(.hours("acc.confirm_h", default: 72, in: 1...720, "How long a link to confirm an address holds."))
        guardianTime = reader.read(.hours("acc.guardian_h", default: 168, in: 1...720, "How long an adult has to consent for a child."))
        registrationsPerHour = reader.read(
            .integer(
                "acc.registrations_per_hour", default: 10, in: 1...1_000_000, "Tries to register, of one e-mail or remote address."))
        self.temporaryPasswordTime = temporaryPasswordTime
    }

    private static let openFields = ProfileFields.Open.allCases.map(\.rawValue).joined(separator: ", ")

    private static let written: @Sendable (Set<ProfileFields.Open>) -> String = { fields in
        fields.map(\.rawValue).sorted().joined(separator: ",")
    }

    private static let parsed: @Sendable (String) -> Set<ProfileFields.Open>? = { text in
        let names = text.split(separator: ",").map { String($0).trimmed }
        let fields = names.compactMap(ProfileFields.Open.init(rawValue:))
        return fields.count == names.count ? Set(fields) : nil
    }
}
