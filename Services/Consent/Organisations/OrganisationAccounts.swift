// What the gateway asks about an organisation as a whole: its first log-in, another address, its end.

import Bus
import Contracts
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

struct OrganisationAccounts: Sendable {
    /// Requests of one transaction.
    private static let batch = 100

    /// What it stands on, made by its dependencies.
    struct Dependencies: Sendable {
        var store: Store
        var lookups: AccountLookups
        var vault: ProfileVault
        var hasher: PasswordHasher
        var credentials: CredentialStore
        var ending: SessionEndingStore
        var answers: StoredAnswers
        var repository: SharingRepository
    }

    let dependencies: Dependencies
    let passwordSource: PasswordSource
    let passwordRule: PasswordRule
    let temporaryLife: Duration
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let accounts = AccountStore()
    private let requests = SharingStore()

    init(
        on dependencies: Dependencies, passwordSource: PasswordSource, passwordRule: PasswordRule, temporaryLife: Duration, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.dependencies, self.passwordSource, self.passwordRule) = (dependencies, passwordSource, passwordRule)
        (self.temporaryLife, self.logger, self.now) = (temporaryLife, logger, now)
    }

    /// As the assembly has its dependencies.
    init(
        _ settings: ConsentSettings, _ opened: OpenedStore, repository: AccountRepository, logIns: LogInModule, sharing: SharingModule,
        logger: Logger
    ) {
        self.init(
            on: Dependencies(
                store: opened.store, lookups: repository.lookups, vault: repository.vault, hasher: logIns.hasher,
                credentials: logIns.credentials,
                ending: logIns.ending, answers: opened.answers, repository: sharing.service.repository),
            passwordSource: settings.accounts.passwordSource, passwordRule: logIns.passwordRule,
            temporaryLife: settings.logIns.temporaryLife, logger: logger)
    }

    func register(in methods: inout Methods) {
        methods.on(MakeFirstMember.self) { try await makeFirstMember($0, $1) }
        methods.on(ChangeMemberAddress.self) { try await changeAddress($0, $1) }
        methods.on(CloseOrganisation.self) { try await close($0, $1) }
    }

    // MARK: The first log-in

    func makeFirstMember(_ asked: MakeFirstMember, _ context: RequestContext) async throws -> MakeFirstMember.Reply {
        let email = try Self.address(asked.email)
        let mailed = passwordSource == .mailed ? TemporaryPassword.make(from: Random.bytes(TemporaryPassword.randomBytes)) : nil
        let hash = try await hashed(mailed ?? chosen(asked.password, email))
        let time = now()
        let contact = AccountContact(name: "", surname: "", email: email, language: asked.language)
        let reply = try await dependencies.store.write { [self] db -> MakeFirstMember.Reply in
            let number: AccountNumber
            let member: MemberID
            if let known = try accounts.members(db, of: asked.organisation).first, case .member(let found, _) = known.subject {
                (number, member) = (known.number, found)
            } else {
                member = .random()
                let subject = AccountSubject.member(member, asked.organisation)
                number = try accounts.add(
                    db, subject, keys: .unclaimed, profile: dependencies.vault.seal(contact, of: subject), state: .active, at: time)
            }
            try dependencies.credentials.set(
                db, account: number, hash: hash, temporaryUntil: mailed == nil ? nil : time + temporaryLife, at: time)
            let reply = MakeFirstMember.Reply(member: member, temporaryPassword: mailed)
            try dependencies.answers.remember(reply, to: context, in: db)
            try dependencies.ending.endAll(db, of: number, at: time)
            return reply
        }
        logger.notice("an organisation's first member was made", metadata: ["member": "\(reply.member)", "trace": "\(context.trace)"])
        return reply
    }

    private func chosen(_ password: String?, _ email: EmailAddress) throws(Failure) -> String {
        guard let password else { throw Failure(.invalid, FieldFault.required.english) }
        if let fault = passwordRule.fault(of: password, personal: [email.text]) { throw Failure(.invalid, fault.fieldFault.english) }
        return password
    }

    private func hashed(_ password: String) async throws -> String {
        do {
            return try await dependencies.hasher.hash(password)
        } catch is Refusal {
            throw Failure(.unavailable, "too many passwords are being hashed; ask again soon")
        }
    }

    // MARK: Another address

    func changeAddress(_ asked: ChangeMemberAddress, _ context: RequestContext) async throws -> Nothing {
        let email = try Self.address(asked.email)
        let time = now()
        try await dependencies.store.write { [self] db in
            guard let account = try accounts.find(db, member: asked.member) else { throw Failure(.notFound, "there is no such member") }
            do {
                try accounts.setEmail(db, account.number, lookup: dependencies.lookups.email(email), confirmedAt: time)
            } catch is AccountConflict {
                throw Self.inUse
            }
            var contact = try dependencies.vault.contact(account)
            contact.email = email
            try accounts.setProfile(db, account.number, dependencies.vault.seal(contact, of: account.subject))
            try MailLinkStore().forget(db, account: account.number, purpose: .recover)
            try dependencies.answers.remember(Nothing(), to: context, in: db)
        }
        return Nothing()
    }

    // MARK: The end

    func close(_ asked: CloseOrganisation, _ context: RequestContext) async throws -> CloseOrganisation.Reply {
        var (closed, notified) = (0, Set<PersonID>())
        while true {
            let (count, people) = try await closeRequests(of: asked.organisation, notified: notified, trace: context.trace)
            closed += count
            notified.formUnion(people)
            guard count == Self.batch else { break }
        }
        let time = now()
        let reply = try await dependencies.store.write { [self, closed] db -> CloseOrganisation.Reply in
            let members = try accounts.members(db, of: asked.organisation)
            for member in members {
                try dependencies.ending.endAll(db, of: member.number, at: time)
                try accounts.delete(db, member.number)
            }
            let reply = CloseOrganisation.Reply(members: members.count, requests: closed)
            try dependencies.answers.remember(reply, to: context, in: db)
            return reply
        }
        logger.notice(
            "an organisation was closed",
            metadata: ["organisation": "\(asked.organisation)", "requests": "\(reply.requests)", "trace": "\(context.trace)"])
        return reply
    }

    /// One transaction's worth; each person is told once.
    private func closeRequests(
        of organisation: OrganisationID, notified: Set<PersonID>, trace: String
    ) async throws -> (count: Int, people: Set<PersonID>) {
        let moment = SharingRepository.Moment(now: now(), trace: trace)
        return try await dependencies.store.write { [self] db -> (count: Int, people: Set<PersonID>) in
            var people = notified
            let rows = try requests.open(db, by: organisation, limit: Self.batch)
            for var row in rows {
                if row.request.status == .approved {
                    try row.request.ended(at: moment.now)
                } else {
                    try row.request.abandoned(at: moment.now)
                }
                let isNew = people.insert(row.request.person).inserted
                try dependencies.repository.changed(db, row, by: .organisation, notice: isNew ? .organisationLeft : nil, moment)
            }
            return (rows.count, people)
        }
    }

    private static func address(_ typed: String) throws(Failure) -> EmailAddress {
        guard let email = EmailAddress(typed) else { throw Failure(.invalid, "email is not an address") }
        return email
    }

    /// ACC-04: an address serves one account only, of whatever kind.
    private static let inUse = Failure(.conflict, "the e-mail address is in use already")
}
