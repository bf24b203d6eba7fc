// Accounts that somebody else makes: operators, and those who work for an organisation (ACC-08, ACC-14).

import Bus
import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit
import Storage

struct Invitations: Sendable {
    static let longestOrganisationName = 200

    let settings: LogInSettings
    let publicOrigin: String
    let store: Store
    let lookups: AccountLookups
    let vault: ProfileVault
    let hasher: PasswordHasher
    let credentials: CredentialStore
    let factors: SecondFactorStore
    let ending: SessionEndingStore
    let outbox: MessageOutbox
    let answers: StoredAnswers
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let accounts = AccountStore()
    private let links = MailLinkStore()

    init(
        settings: LogInSettings, publicOrigin: String, store: Store, lookups: AccountLookups, vault: ProfileVault, hasher: PasswordHasher,
        credentials: CredentialStore, factors: SecondFactorStore, ending: SessionEndingStore, outbox: MessageOutbox, answers: StoredAnswers,
        logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.settings, self.publicOrigin, self.store, self.lookups, self.vault) = (settings, publicOrigin, store, lookups, vault)
        (self.hasher, self.credentials, self.factors, self.ending, self.outbox) = (hasher, credentials, factors, ending, outbox)
        (self.answers, self.logger, self.now) = (answers, logger, now)
    }

    func register(in methods: inout Methods) {
        methods.on(MakeOperator.self) { try await makeOperator($0, $1) }
        methods.on(InviteMember.self) { try await inviteMember($0, $1) }
        methods.on(RemoveMember.self) { try await removeMember($0, $1) }
    }

    // MARK: Operators

    /// Makes the log-in, or gives the one at that address a new temporary password and lets it enrol another second factor.
    func makeOperator(_ request: MakeOperator, _ asked: RequestContext) async throws -> MakeOperator.Reply {
        let email = try Self.address(request.email)
        let password = TemporaryPassword.make(from: Random.bytes(TemporaryPassword.randomBytes))
        let hash = try await hasher.hash(password)
        let time = now()
        let contact = AccountContact(name: "", surname: "", email: email, language: request.language)
        let reply = try await store.write { [self] db -> MakeOperator.Reply in
            let number: AccountNumber
            let id: OperatorID
            if let known = try accounts.find(db, email: lookups.email(email)) {
                guard case .operator(let found) = known.subject else { throw Self.inUse }
                (number, id) = (known.number, found)
                // Whoever has lost the authenticator and the codes is made anew by another operator.
                try factors.forget(db, number)
            } else {
                id = .random()
                number = try accounts.add(
                    db, .operator(id), keys: .init(email: lookups.email(email)), profile: vault.seal(contact, of: .operator(id)),
                    state: .active, at: time)
            }
            try credentials.set(db, account: number, hash: hash, temporaryUntil: time + settings.temporaryLife, at: time)
            try outbox.enqueue(
                db,
                SendMessage(
                    message: .random(), recipient: Recipient(person: nil, mail: email.text), channels: [.mail],
                    template: .temporaryPassword, language: request.language,
                    values: ["name": contact.greeted, "password": password, "hours": settings.temporaryLife.inHours],
                    notAfter: time + settings.temporaryLife))
            let reply = MakeOperator.Reply(operator: id, temporaryPassword: password)
            try answers.remember(reply, to: asked, in: db)
            try ending.endAll(db, of: number, at: time)
            return reply
        }
        logger.notice("an operator was made", metadata: ["operator": "\(reply.operator)", "trace": "\(asked.trace)"])
        return reply
    }

    // MARK: Members of organisations

    /// Makes the log-in, without a password until the invitation is followed. Inviting somebody again who has not followed it, for
    /// the same organisation, sends another mail.
    func inviteMember(_ request: InviteMember, _ asked: RequestContext) async throws -> InviteMember.Reply {
        let email = try Self.address(request.email)
        guard (1...Self.longestOrganisationName).contains(request.organisationName.count) else {
            throw Failure(.invalid, "organisationName has 1 to \(Self.longestOrganisationName) characters")
        }
        let time = now()
        let contact = AccountContact(name: "", surname: "", email: email, language: request.language)
        let reply = try await store.write { [self] db -> InviteMember.Reply in
            let number: AccountNumber
            let id: MemberID
            if let known = try accounts.find(db, email: lookups.email(email)) {
                guard case .member(let found, request.organisation) = known.subject,
                    try credentials.find(db, account: known.number) == nil
                else { throw Self.inUse }
                (number, id) = (known.number, found)
            } else {
                id = .random()
                let subject = AccountSubject.member(id, request.organisation)
                number = try accounts.add(
                    db, subject, keys: .init(email: lookups.email(email)), profile: vault.seal(contact, of: subject), state: .active,
                    at: time)
            }
            try links.forget(db, account: number, purpose: .invitation)
            let token = try links.make(db, purpose: .invitation, account: number, at: time, lasting: settings.invitationLife)
            try outbox.enqueue(
                db,
                SendMessage(
                    message: .random(), recipient: Recipient(person: nil, mail: email.text), channels: [.mail], template: .memberInvited,
                    language: request.language,
                    values: [
                        "organisation": request.organisationName, "link": publicOrigin + RecoveryRoutes.path(.invitation, token),
                        "hours": settings.invitationLife.inHours,
                    ], notAfter: time + settings.invitationLife))
            let reply = InviteMember.Reply(member: id)
            try answers.remember(reply, to: asked, in: db)
            return reply
        }
        logger.notice("a member was invited", metadata: ["member": "\(reply.member)", "trace": "\(asked.trace)"])
        return reply
    }

    /// Removing again is the same as once.
    func removeMember(_ request: RemoveMember, _ asked: RequestContext) async throws -> Nothing {
        let time = now()
        try await store.write { [self] db in
            if let account = try accounts.find(db, member: request.member) {
                try ending.endAll(db, of: account.number, at: time)
                try accounts.delete(db, account.number)
            }
            try answers.remember(Nothing(), to: asked, in: db)
        }
        logger.notice("a member was removed", metadata: ["member": "\(request.member)", "trace": "\(asked.trace)"])
        return Nothing()
    }

    // MARK: What was asked

    private static func address(_ typed: String) throws(Failure) -> EmailAddress {
        guard let email = EmailAddress(typed) else { throw Failure(.invalid, "email is not an address") }
        return email
    }

    /// ACC-04: an address serves one account only, of whatever kind.
    private static let inUse = Failure(.conflict, "the e-mail address is in use already")
}
