// The mails that hold a link, made in the transaction that makes the link.

import Contracts
import GRDB

struct OrganisationMailStore: Sendable {
    let repository: OrganisationRepository
    let publicOrigin: String
    /// How long a link holds.
    let lasting: Duration
    private let links = OrganisationLinkStore()

    init(repository: OrganisationRepository, publicOrigin: String, lasting: Duration) {
        (self.repository, self.publicOrigin, self.lasting) = (repository, publicOrigin, lasting)
    }

    /// The link that completes a registration (ORG-08), with the temporary password where there is one.
    func confirmation(
        _ db: Database, _ id: OrganisationID, _ details: OrganisationDetails, password: String?, at: Timestamp
    ) throws {
        var values = values(.confirm, try links.make(db, .confirm, of: id, at: at, lasting: lasting))
        values["password"] = password
        try repository.mail(
            db, to: details.email, details, password == nil ? .organisationConfirm : .organisationConfirmWithPassword, values,
            notAfter: at + lasting)
    }

    /// To the new address: whoever reads it there can say yes.
    func changeOfAddress(
        _ db: Database, _ id: OrganisationID, _ details: OrganisationDetails, to email: EmailAddress, at: Timestamp
    ) throws {
        let token = try links.make(db, .changeAddress, of: id, payload: Array(email.text.utf8), at: at, lasting: lasting)
        try repository.mail(db, to: email, details, .organisationAddressChange, values(.changeAddress, token), notAfter: at + lasting)
    }

    private func values(_ purpose: OrganisationLinkPurpose, _ token: String) -> [String: String] {
        let hours = max(1, Int((lasting / .seconds(3600)).rounded(.down)))
        return ["link": publicOrigin + RegistrationRoutes.path(purpose, token), "hours": String(hours)]
    }
}
