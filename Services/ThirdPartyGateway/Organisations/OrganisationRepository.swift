// What the other subjects of the gateway need of an organisation, inside their own transactions.

import Contracts
import GRDB
import ServiceKit

struct OrganisationRepository: Sendable {
    let table: OrganisationStore
    let outbox: MessageOutbox
    /// Of organisations of which the operator has not decided.
    var usualTier = OrganisationTier.goodStanding
    var untrustedRecords = false

    /// There is no such organisation.
    struct Unknown: Error {}

    /// To whom invoices go; also after the organisation was closed, while something is due.
    func billing(_ db: Database, _ id: OrganisationID) throws -> BillingAddress {
        try details(db, id).billing
    }

    func preferredMethod(_ db: Database, _ id: OrganisationID) throws -> PaymentMethod {
        try details(db, id).paymentMethod
    }

    /// Whether data may go to it now: ask before each delivery that it did not come for by itself.
    func mayAct(_ db: Database, _ id: OrganisationID) throws -> Bool {
        guard try !GatewayRestoreStore().isHeld(db) else { return false }
        return try table.state(db, id)?.mayAct ?? false
    }

    /// What it may receive of groups now.
    func groupProducts(_ db: Database, _ id: OrganisationID) throws -> GroupProducts {
        GroupProducts(try table.tier(db, id) ?? usualTier, untrustedRecords: untrustedRecords)
    }

    /// Writes to the corporate address, in the caller's transaction. A closed organisation gets no more mail.
    /// - Parameters:
    ///   - values: without `organisation`, which is filled in where the template has it.
    ///   - message: the same one again is not sent twice.
    func mail(
        _ db: Database, to id: OrganisationID, _ template: MessageTemplate, _ values: [String: String] = [:],
        message: MessageID = .random(), notAfter: Timestamp? = nil
    ) throws {
        guard let row = try table.find(db, id), row.state != .closed else { return }
        try mail(db, to: row.details.email, row.details, template, values, message: message, notAfter: notAfter)
    }

    func mail(
        _ db: Database, to address: EmailAddress, _ details: OrganisationDetails, _ template: MessageTemplate, _ values: [String: String],
        message: MessageID = .random(), notAfter: Timestamp? = nil
    ) throws {
        var values = values
        if template.values.contains("organisation") { values["organisation"] = values["organisation"] ?? details.businessName }
        try outbox.enqueue(
            db,
            SendMessage(
                message: message, recipient: Recipient(person: nil, mail: address.text), channels: [.mail], template: template,
                language: details.language, values: values, notAfter: notAfter))
    }

    /// Tells the corporate address, which is an owner's, of what stays good after every log-out, in the caller's transaction: whoever did it
    /// may hold a stolen token.
    func tell(_ db: Database, _ id: OrganisationID, _ change: KeyChange, at: Timestamp) throws {
        guard let row = try table.find(db, id), row.state != .closed else { return }
        try mail(
            db, to: row.details.email, row.details, .organisationKeysChanged,
            ["time": at.rfc3339, "change": change.words(row.details.language)])
    }

    private func details(_ db: Database, _ id: OrganisationID) throws -> OrganisationDetails {
        guard let row = try table.find(db, id) else { throw Unknown() }
        return row.details
    }
}
