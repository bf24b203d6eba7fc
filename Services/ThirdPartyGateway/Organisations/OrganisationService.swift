// Registering an organisation, confirming it, changing its profile and deleting it (ORG-01 to ORG-16).

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// Where a call came from.
struct CallOrigin: Sendable {
    let request: RepeatableRequest
    /// The remote address; empty where it is not known.
    let remote: String
    let trace: String
    let at: Timestamp
}

/// What an organisation is told of its registration; kept for a repeated request.
struct RegistrationReceipt: Codable, Hashable, Sendable {
    var organisation: OrganisationID
    var state: OrganisationState
    /// Whether the mail holds a temporary password.
    var isPasswordMailed: Bool
}

struct OrganisationService: Sendable {
    /// Between two mails with the same link.
    private static let mailPause = Duration.seconds(60)
    /// Registrations of one address whose links are mailed again at once.
    private static let mostWaiting = 5
    private static let mailsPerHour = 10.0

    let settings: OrganisationSettings
    let store: Store
    let table: OrganisationStore
    let members: MemberStore
    let repository: OrganisationRepository
    let closingStore: OrganisationClosingStore
    let mail: OrganisationMailStore
    let directory: OrganisationRegister
    let consent: ConsentClient
    let jobs: OrganisationJobs
    let firstAnswers: FirstAnswers<RegistrationReceipt>
    let logger: Logger
    private let links = OrganisationLinkStore()
    private let limiter: RateLimiter<String>
    /// Further mails to one address, whoever asks: nobody's mailbox is filled by strangers. Counted whether or not anything is sent.
    private let addresses: RateLimiter<[UInt8]>

    init(
        settings: OrganisationSettings, publicOrigin: String, store: Store, table: OrganisationStore, members: MemberStore,
        repository: OrganisationRepository, closing: OrganisationClosingStore, directory: OrganisationRegister, consent: ConsentClient,
        jobs: OrganisationJobs, answersKey: SymmetricKey, logger: Logger
    ) {
        (self.settings, self.store, self.table) = (settings, store, table)
        mail = OrganisationMailStore(repository: repository, publicOrigin: publicOrigin, lasting: settings.confirmTime)
        (self.members, self.repository, self.directory, self.consent) = (members, repository, directory, consent)
        (closingStore, self.jobs, self.logger) = (closing, jobs, logger)
        firstAnswers = FirstAnswers(secret: answersKey)
        let perHour = Double(settings.registrationsPerHour)
        limiter = RateLimiter(rate: perHour / 3600, burst: perHour)
        addresses = RateLimiter(rate: Self.mailsPerHour / 3600, burst: Self.mailsPerHour)
    }

    /// One registration, mail or confirmation of this remote address.
    /// - Throws: 429 where there were too many.
    func admit(remote: String) throws(Refusal) {
        // Of whoever sits at this machine: behind it may be everybody, where there is no edge.
        guard !["", "127.0.0.1", "::1"].contains(remote) else { return }
        try limiter.admit(remote)
    }

    // MARK: Registering

    /// Either everything is there, the mail included, or nothing is. The log-in is made by consent between two transactions: what a crash
    /// leaves in between is taken back by `OrganisationJobs`.
    /// - Throws: `OrganisationFormFault`, `OrganisationConflict`, `Problem`, `Refusal`.
    func register(_ form: JSONTree, _ origin: CallOrigin) async throws -> (receipt: RegistrationReceipt, isRepeated: Bool) {
        if let first = try await firstAnswers.find(in: store, origin.request) { return (first, true) }
        try admit(remote: origin.remote)
        let form = try OrganisationForm.check(form, version: OrganisationConditions.version, in: settings.country, at: origin.at)
        let id = OrganisationID.random()
        let (first, unfinished) = try await store.write { [table, firstAnswers] db -> (RegistrationReceipt?, OrganisationID?) in
            // Looked for once more: what the same request, sent twice at once, has stored meanwhile must not look like another's.
            if let first = try firstAnswers.find(db, origin.request) { return (first, nil) }
            let unfinished = try table.requireFree(db, form.details)
            if unfinished == nil { try table.add(db, id, form.details, at: origin.at) }
            return (nil, unfinished)
        }
        if let first { return (first, true) }
        guard unfinished == nil else {
            // The same values are being registered at this moment, or were when the process ended; either is settled soon.
            jobs.wake()
            throw Refusal(.unavailable, retryAfter: OrganisationJobs.unfinished)
        }
        let made: MakeFirstMember.Reply
        do {
            made = try await consent.makeFirstMember(
                MakeFirstMember(
                    organisation: id, email: form.details.email.text, language: form.details.language, password: form.password),
                trace: origin.trace)
        } catch {
            throw try await takenBack(id, error)
        }
        let receipt = RegistrationReceipt(
            organisation: id, state: .unconfirmed, isPasswordMailed: made.temporaryPassword != nil)
        try await finish(id, form.details, made, receipt, origin)
        logger.notice("an organisation was registered", metadata: ["organisation": "\(id)", "trace": "\(origin.trace)"])
        return (receipt, false)
    }

    /// What consent refused is as if it had not been begun; where its answer is not known, the jobs find out.
    private func takenBack(_ id: OrganisationID, _ failure: Failure) async throws -> any Error {
        switch failure.code {
        case .invalid:
            try await store.write { [table] db in try table.deleteUnfinished(db, id) }
            return OrganisationFormFault.fields([.init(pointer: "/password", .password(refusedAs: failure.reason))])
        default:
            jobs.wake()
            return failure.refusal
        }
    }

    private func finish(
        _ id: OrganisationID, _ details: OrganisationDetails, _ made: MakeFirstMember.Reply, _ receipt: RegistrationReceipt,
        _ origin: CallOrigin
    ) async throws {
        try await store.write { [self] db in
            guard let row = try table.find(db, id), row.state == .registering else { throw Refusal(.unavailable, retryAfter: .seconds(5)) }
            var life = OrganisationLife(row.state)
            try life.registered()
            try table.setState(db, id, life.state, founder: made.member, at: origin.at)
            try members.add(
                db,
                MemberRow(
                    id: made.member, organisation: id, role: .owner,
                    contact: MemberContact(email: details.email, language: details.language), since: origin.at))
            try mail.confirmation(db, id, details, password: made.temporaryPassword, at: origin.at)
            try firstAnswers.remember(db, receipt, of: origin.request, status: 201, at: origin.at)
        }
        directory.changed(id)
    }

    // MARK: Confirming

    /// Who is confirmed by the link, for its page.
    /// - Throws: `link-not-valid`.
    func shown(_ token: String, _ purpose: OrganisationLinkPurpose, at: Timestamp) async throws -> (name: String, address: String) {
        guard OrganisationLinkStore.isToken(token) else { throw Self.staleLink }
        return try await store.readBriefly { [table, links] db in
            guard let link = try links.find(db, token, purpose, at: at), let row = try table.find(db, link.organisation) else {
                throw Self.staleLink
            }
            let address = link.payload.isEmpty ? row.details.email.text : String(decoding: link.payload, as: UTF8.self)
            return (row.details.businessName, address)
        }
    }

    /// Completes the registration (ORG-08); the link can be followed once. Only whoever follows it, and so reads the address, is told where
    /// that is somebody's already; the registration, which can then never be confirmed, is taken back.
    /// - Throws: `link-not-valid`; `OrganisationConflict.email`.
    func confirm(_ token: String, trace: String, at: Timestamp) async throws -> OrganisationState {
        guard OrganisationLinkStore.isToken(token) else { throw Self.staleLink }
        let waiting = try await store.readBriefly { [table, links] db in
            try links.find(db, token, .confirm, at: at).flatMap { try table.find(db, $0.organisation) }
        }
        guard let waiting, let founder = waiting.founder else { throw Self.staleLink }
        do {
            if waiting.state == .unconfirmed { try await claim(waiting.details.email, for: founder, trace: trace) }
        } catch OrganisationConflict.email {
            try await takeBack(waiting.id)
            throw OrganisationConflict.email
        }
        let (id, state) = try await store.write { [self] db -> (OrganisationID, OrganisationState) in
            guard let link = try links.find(db, token, .confirm, at: at), let row = try table.find(db, link.organisation) else {
                throw Self.staleLink
            }
            var life = OrganisationLife(row.state)
            try life.confirmed(needsApproval: settings.isApprovalRequired)
            if row.state == .unconfirmed { try table.claim(db, row.details.email, for: row.id) }
            try table.setState(db, row.id, life.state, at: at)
            try links.forget(db, .confirm, of: row.id)
            try repository.mail(db, to: row.id, life.state == .active ? .organisationActive : .organisationAwaitsApproval)
            return (row.id, life.state)
        }
        directory.changed(id)
        logger.notice("an organisation was confirmed", metadata: ["organisation": "\(id)", "state": "\(state.rawValue)"])
        return state
    }

    /// Consent alone knows whether an address is free of all accounts (CON-06).
    private func claim(_ email: EmailAddress, for founder: MemberID, trace: String) async throws {
        do {
            try await consent.changeAddress(of: founder, to: email, trace: trace)
        } catch  where error.code == .conflict {
            throw OrganisationConflict.email
        } catch {
            throw error.refusal
        }
    }

    /// As if it had not been registered: name and VAT number are free again.
    private func takeBack(_ id: OrganisationID) async throws {
        try await store.write { [table, queues = jobs.queues] db in
            guard try table.state(db, id) == .unconfirmed else { return }
            try table.deleteUnconfirmed(db, id)
            try queues.close(db, id)
        }
        directory.changed(id)
        logger.notice("a registration was revoked: its address is in use", metadata: ["organisation": "\(id)"])
    }

    /// Mails another link where an organisation at this address waits for one; nothing tells whether it does.
    func mailAgain(to email: EmailAddress, remote: String, at: Timestamp) async throws {
        try admit(remote: remote)
        try addresses.admit(table.addressLookup(email))
        try await store.write { [self] db in
            // What is about to go is not kept for ever by asking for mails.
            for row in try table.unconfirmed(db, from: email, after: at - settings.unconfirmedTime, limit: Self.mostWaiting) {
                if let newest = try links.newest(db, .confirm, of: row.id), at < newest + Self.mailPause { continue }
                try mail.confirmation(db, row.id, row.details, password: nil, at: at)
            }
        }
    }

    // MARK: The profile

    func find(_ id: OrganisationID) async throws -> OrganisationRow {
        guard let row = try await store.readBriefly({ [table] db in try table.find(db, id) }) else { throw Problem.notFound }
        return row
    }

    /// ORG-13, ORG-14. Payments that are under way keep their method: they were made with it.
    /// - Throws: `OrganisationFormFault`; nothing is changed then.
    func change(_ id: OrganisationID, _ form: JSONTree, at: Timestamp) async throws -> OrganisationRow {
        // A wrong form is refused before a write begins; what it changes is decided there.
        let before = try await find(id)
        guard before.state != .closed else { throw Problem.notFound }
        _ = try before.details.changed(form, in: settings.country)
        return try await store.write { [table, settings] db in
            guard var row = try table.find(db, id), row.state != .closed else { throw Problem.notFound }
            row.details = try row.details.changed(form, in: settings.country)
            try table.setDetails(db, id, row.details, at: at)
            return row
        }
    }

    /// Asks the new address; until somebody there says yes, the old one stays (ORG-13).
    func changeAddress(_ id: OrganisationID, to email: EmailAddress, at: Timestamp) async throws {
        try await store.write { [self] db in
            guard let row = try table.find(db, id) else { throw Problem.notFound }
            guard try !table.isTaken(db, email, except: id) else { throw OrganisationConflict.email }
            if let newest = try links.newest(db, .changeAddress, of: id), at < newest + Self.mailPause {
                throw Refusal(.tooManyRequests, retryAfter: newest + Self.mailPause - at)
            }
            try mail.changeOfAddress(db, id, row.details, to: email, at: at)
        }
    }

    /// Somebody at the new address said yes: the founder logs in by it and the organisation is written to there; the old one is told.
    /// Whether it is free of all accounts (CON-06) consent alone knows.
    func confirmAddress(_ token: String, trace: String, at: Timestamp) async throws {
        guard OrganisationLinkStore.isToken(token) else { throw Self.staleLink }
        let found = try await store.readBriefly { [self] db -> (OrganisationLink, OrganisationRow)? in
            guard let link = try links.find(db, token, .changeAddress, at: at), let row = try table.find(db, link.organisation),
                row.state != .closed
            else { return nil }
            return (link, row)
        }
        guard let (link, row) = found, let founder = row.founder,
            let email = EmailAddress(String(decoding: link.payload, as: UTF8.self))
        else { throw Self.staleLink }
        try await claim(email, for: founder, trace: trace)
        try await store.write { [self] db in
            guard try links.find(db, token, .changeAddress, at: at) != nil, var row = try table.find(db, link.organisation) else {
                throw Self.staleLink
            }
            let old = row.details.email
            row.details.email = email
            try table.claim(db, email, for: row.id)
            try table.setDetails(db, row.id, row.details, at: at)
            try members.setContact(db, founder, MemberContact(email: email, language: row.details.language))
            try links.forget(db, .changeAddress, of: row.id)
            try repository.mail(db, to: old, row.details, .organisationAddressChanged, ["time": at.rfc3339])
        }
        directory.changed(row.id)
    }

    // MARK: The end

    /// What the dialogue shows before anything is confirmed (ORG-16).
    func closing(_ id: OrganisationID) async throws -> ClosingPreview {
        try await store.read { [self] db in
            guard let row = try table.find(db, id) else { throw Problem.notFound }
            return try closingStore.preview(db, row)
        }
    }

    /// From its commit on nobody acts for the organisation and nothing is delivered to it; consent then ends its requests and tells the
    /// people (CON-13). What is unpaid stays due.
    /// - Parameter confirmation: the business name, as it is typed to confirm.
    func close(_ id: OrganisationID, confirmation: String, at: Timestamp) async throws -> ClosingPreview {
        let preview = try await store.write { [self] db -> ClosingPreview in
            guard let row = try table.find(db, id) else { throw Problem.notFound }
            guard BusinessName.folded(confirmation) == BusinessName.folded(row.details.businessName) else {
                throw Problem.notConfirmed.saying(
                    "Nothing was deleted. To confirm, send the business name of the organisation.",
                    italian: "Nulla è stato eliminato. Per confermare, invii la ragione sociale dell'organizzazione.",
                    errors: [.init(pointer: "/confirmation", .notTheBusinessName)])
            }
            var life = OrganisationLife(row.state)
            try life.closed()
            let preview = try closingStore.preview(db, row)
            try repository.mail(db, to: id, .organisationClosed, ["debts": preview.debtsInWords])
            try closingStore.end(db, id)
            for purpose in OrganisationLinkPurpose.allCases { try links.forget(db, purpose, of: id) }
            try table.close(db, row, at: at)
            try jobs.queues.close(db, id)
            return preview
        }
        directory.changed(id)
        logger.notice("an organisation was deleted", metadata: ["organisation": "\(id)"])
        return preview
    }

    static let staleLink = Problem.linkNotValid.saying(
        "It was used already, is too old, or did not come from us. Ask for a new one.",
        italian: "È già stato usato, è scaduto o non viene da noi. Ne chieda uno nuovo.")
}

/// What goes, and what stays due (ORG-16).
struct ClosingPreview: Hashable, Sendable {
    let businessName: String
    let pendingRequests: Int
    let approvedRequests: Int
    let members: Int
    let debts: [Amount]

    /// For a mail.
    var debtsInWords: String {
        debts.isEmpty ? "0" : debts.map(\.text).joined(separator: ", ")
    }
}
