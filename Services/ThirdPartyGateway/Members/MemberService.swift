// Who works for an organisation, and as what (ORG-23): invited through consent, which has the log-ins.

import Contracts
import HTTPKit
import Logging
import ServiceKit
import Storage

struct MemberService: Sendable {
    /// Members of one organisation.
    static let most = 1000

    let store: Store
    let table: MemberStore
    let organisations: OrganisationStore
    let repository: OrganisationRepository
    let directory: OrganisationRegister
    let consent: ConsentClient
    let jobs: OrganisationJobStore
    let logger: Logger
    /// Invitations go to whatever address is named: not many to one, whoever asks, and not many of one organisation.
    private let ofAddress = RateLimiter<String>(rate: 1.0 / 600, burst: 3)
    private let ofOrganisation = RateLimiter<OrganisationID>(rate: 100.0 / 3600, burst: 100)

    func page(of organisation: OrganisationID, after: Int64, limit: Int) async throws -> (rows: [MemberRow], next: Int64?) {
        let found = try await store.read { [table] db in try table.page(db, of: organisation, after: after, limit: limit + 1) }
        let page = found.prefix(limit)
        return (page.map { $0.row }, found.count > limit ? page.last?.number : nil)
    }

    /// Consent makes the log-in and mails the invitation. Inviting somebody again who has not followed it sends another mail.
    /// - Throws: 429 where it is too often; `rights-beyond-own`, `too-many-members`.
    func invite(
        _ contact: MemberContact, as role: Role, by standing: Standing, trace: String, at: Timestamp
    ) async throws -> MemberRow {
        try Self.require(standing, mayGive: role)
        let count = try await store.read { [table] db in try table.count(db, of: standing.id) }
        guard count < Self.most else {
            throw Problem.tooManyMembers.saying(
                "An organisation has at most \(Self.most) members. Remove some first.",
                italian: "Un'organizzazione ha al massimo \(Self.most) membri. Prima ne tolga qualcuno.")
        }
        try ofOrganisation.admit(standing.id)
        try ofAddress.admit(contact.email.folded)
        let member: MemberID
        do {
            member = try await consent.invite(
                InviteMember(
                    organisation: standing.id, organisationName: standing.name, email: contact.email.text, language: contact.language),
                trace: trace)
        } catch  where error.code == .conflict {
            throw OrganisationConflict.email
        } catch {
            throw error.refusal
        }
        let row = MemberRow(id: member, organisation: standing.id, role: role, contact: contact, since: at)
        let isStill = try await store.write { [organisations, repository, table] db -> Bool in
            guard let state = try organisations.state(db, standing.id), state.mayAct else { return false }
            if let known = try table.find(db, member, of: standing.id) { try Self.require(standing, mayGive: known.role) }
            try table.add(db, row)
            try repository.tell(db, standing.id, .memberInvited, at: at)
            return true
        }
        guard isStill else {
            _ = try? await consent.remove(member)
            throw Problem.notForThisAccount
        }
        directory.changed(standing.id)
        logger.notice("a member was invited", metadata: ["member": "\(member)", "by": "\(standing.actor)", "trace": "\(trace)"])
        return row
    }

    /// - Throws: `member-stays` for the first member, who is always an owner; `not-found`.
    func change(_ member: MemberID, to role: Role, by standing: Standing, at: Timestamp) async throws -> MemberRow {
        let row = try await store.write { [self] db -> MemberRow in
            guard let row = try table.find(db, member, of: standing.id) else { throw Problem.notFound }
            try Self.require(standing, mayGive: row.role)
            try Self.require(standing, mayGive: role)
            guard row.role != role else { return row }
            guard try organisations.find(db, standing.id)?.founder != member else { throw Self.founderStays }
            try table.setRole(db, member, role)
            try repository.tell(db, standing.id, .roleChanged, at: at)
            return MemberRow(id: row.id, organisation: row.organisation, role: role, contact: row.contact, since: row.since)
        }
        directory.changed(standing.id)
        logger.notice(
            "a member's role was changed", metadata: ["member": "\(member)", "role": "\(role.rawValue)", "by": "\(standing.actor)"])
        return row
    }

    /// From its commit on the member may nothing here; consent ends the log-in and frees the address.
    func remove(_ member: MemberID, by standing: Standing, at: Timestamp) async throws {
        try await store.write { [self] db in
            guard let row = try table.find(db, member, of: standing.id) else { throw Problem.notFound }
            try Self.require(standing, mayGive: row.role)
            guard try organisations.find(db, standing.id)?.founder != member else { throw Self.founderStays }
            try table.delete(db, member)
            try jobs.remove(db, member)
            try repository.tell(db, standing.id, .memberRemoved, at: at)
        }
        directory.changed(standing.id)
        logger.notice("a member was removed", metadata: ["member": "\(member)", "by": "\(standing.actor)"])
    }

    /// API clients make no owners, and no member who may do more than they.
    private static func require(_ standing: Standing, mayGive role: Role) throws(Problem) {
        guard (standing.role ?? .administrator).mayGive(role) else {
            throw Problem.rightsBeyondOwn.saying(
                "Only an owner can make, change or remove an owner.",
                italian: "Solo un proprietario può nominare, cambiare o togliere un proprietario.")
        }
        let missing = role.rights.subtracting(standing.rights)
        guard missing.isEmpty else {
            throw Problem.rightsBeyondOwn.saying(
                "The role `\(role.rawValue)` has rights that you have not yourself: \(Right.written(missing)).",
                italian: "Il ruolo `\(role.rawValue)` ha diritti che lei stesso non ha: \(Right.written(missing)).")
        }
    }

    private static let founderStays = Problem.memberStays.saying(
        "This member logs in with the corporate address and is always an owner. Change the corporate address, or delete the organisation.",
        italian:
            "Questo membro accede con l'indirizzo aziendale ed è sempre proprietario. Cambi l'indirizzo aziendale, o elimini l'organizzazione."
    )
}
