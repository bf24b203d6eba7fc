// What an operator can set about organisations.

import Contracts
import ServiceKit

struct OrganisationSettings: Sendable {
    /// In which forms are read.
    let country: Country
    /// Whether an operator looks at each organisation before it may act.
    let isApprovalRequired: Bool
    /// Of organisations of which the operator has not decided.
    let tier: OrganisationTier
    /// Whether untrusted organisations receive records of groups all the same.
    let untrustedRecords: Bool
    /// How long a mailed link holds (ORG-08).
    let confirmTime: Duration
    /// How long a registration waits for its confirmation; then it goes, and its values are free again.
    let unconfirmedTime: Duration
    /// Tries to register within an hour, of one remote address.
    let registrationsPerHour: Int
    /// Calls of one organisation, members and programs together.
    let callsPerMinute: Int
    let callsPerDay: Int
    /// How long the secret before a new one is still good.
    let secretOverlap: Duration
    let clientsMost: Int
    /// Where organisations get help (ORG-22); empty where the operator has not said.
    let supportMail: String
    let supportPhone: String
    let supportPage: String
    let supportHours: String

    init(_ reader: inout SettingsReader) {
        country = CountrySettings(&reader).country
        isApprovalRequired = reader.read(
            .flag("org.approval_required", default: false, "Whether an operator approves each organisation before it may act."))
        tier = reader.read(
            .choice(
                "org.tier", default: OrganisationTier.goodStanding,
                "Whether organisations are in good standing until `trackme org tier` says otherwise; untrusted ones get statistics alone."))
        untrustedRecords = reader.read(
            .flag(
                "org.untrusted_records", default: false,
                "Whether untrusted organisations get records all the same, while no combination of their groups isolates few people."))
        confirmTime = reader.read(.hours("org.confirm_h", default: 72, in: 1...720, "How long a mailed confirmation link holds."))
        unconfirmedTime = reader.read(
            .hours("org.unconfirmed_h", default: 168, in: 24...8784, "How long a registration that nobody confirms is kept."))
        registrationsPerHour = reader.read(
            .integer("org.registrations_per_hour", default: 20, in: 1...1_000_000, "Tries to register, of one remote address."))
        callsPerMinute = reader.read(
            .integer("org.calls_per_minute", default: 6000, in: 1...100_000_000, "Calls that one organisation may make in a minute."))
        callsPerDay = reader.read(
            .integer("org.calls_per_day", default: 1_000_000, in: 1...1_000_000_000, "Calls that one organisation may make in a day (UTC).")
        )
        secretOverlap = reader.read(
            .hours("org.secret_overlap_h", default: 24, in: 0...720, "How long a client's secret before a new one is still good."))
        clientsMost = reader.read(.integer("org.clients_most", default: 50, in: 1...1000, "API clients that one organisation may have."))
        supportMail = reader.read(.text("org.support_mail", default: "", "Where organisations write for help."))
        supportPhone = reader.read(.text("org.support_phone", default: "", "Where organisations call for help."))
        supportPage = reader.read(.text("org.support_page", default: "", "Where organisations read for help."))
        supportHours = reader.read(.text("org.support_hours", default: "", "When the support answers, in words."))
    }
}
