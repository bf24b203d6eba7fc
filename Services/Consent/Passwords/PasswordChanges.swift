// Changing the password by showing the old one (ACC-17), also where that was a temporary one (ACC-08).

import Contracts
import HTTPKit
import Logging
import ServiceKit
import Storage

struct PasswordChanges: Sendable {
    let rule: PasswordRule
    let store: Store
    let table: LogInStore
    let vault: ProfileVault
    let hasher: PasswordHasher
    let issuer: TokenIssuer
    let ending: SessionEndingStore
    let outbox: MessageOutbox
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let sessions = SessionStore()

    init(
        rule: PasswordRule, store: Store, table: LogInStore, vault: ProfileVault, hasher: PasswordHasher, issuer: TokenIssuer,
        ending: SessionEndingStore, outbox: MessageOutbox, logger: Logger, now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.rule, self.store, self.table, self.vault, self.hasher) = (rule, store, table, vault, hasher)
        (self.issuer, self.ending, self.outbox, self.logger, self.now) = (issuer, ending, outbox, logger, now)
    }

    struct Change: Sendable {
        var old: String
        var new: NewPassword
        /// Whoever else is logged in must log in again.
        var endsOtherSessions: Bool
    }

    /// What went on between the two reads of the store: the password is no longer the one that was shown.
    private struct ChangedMeanwhile: Error {}

    /// - Returns: an access token of the same session that is good for everything but what a second factor must be enrolled for.
    /// - Throws: `new-password-refused` before the old password is looked at; `wrong-old-password`, which counts as a failed log-in.
    func change(_ change: Change, in session: SessionID) async throws -> String {
        guard let account = try await store.readBriefly({ [sessions] db in try sessions.owner(db, session) }) else {
            throw Problem.unauthorised
        }
        let contact = try vault.contact(account)
        let faults = change.new.faults(
            rule.asked(of: account.subject.kind), of: contact, old: change.old, at: .init(first: "/new", second: "/newAgain"))
        guard faults.isEmpty else { throw Problem.newPasswordRefused(faults) }
        let begun: LogInTry
        switch try await store.write({ [table, now] db in try table.begin(db, account: account, at: now()) }) {
        case .wait(let wait): throw Refusal(.tooManyRequests, retryAfter: wait)
        case .go(let turn): begun = turn
        }
        let hash: String
        do {
            guard case .right = try await hasher.check(change.old, against: begun.credential?.hash) else { throw Problem.wrongOldPassword }
            hash = try await hasher.hash(change.new.typed)
        } catch let refusal as Refusal {
            try? await store.write { [table] db in try table.tookBack(db, begun) }
            throw refusal
        }
        return try await store(hash, change, session, begun, account, contact)
    }

    private func store(
        _ hash: String, _ change: Change, _ session: SessionID, _ begun: LogInTry, _ account: AccountRow, _ contact: AccountContact
    ) async throws -> String {
        let time = now()
        let token: String
        do {
            token = try await store.write { [self] db in
                guard try table.credentials.find(db, account: account.number)?.hash == begun.credential?.hash else {
                    throw ChangedMeanwhile()
                }
                try table.credentials.set(db, account: account.number, hash: hash, temporaryUntil: nil, at: time)
                try table.succeeded(db, begun)
                try sessions.passwordChosen(db, session)
                try sessions.authenticated(db, session, Authentication(at: time, methods: [.password]))
                try MailLinkStore().forget(db, account: account.number, purpose: .recover)
                try outbox.enqueue(db, .passwordChanged(of: account, contact, at: time))
                guard let row = try sessions.find(db, session) else { throw Problem.unauthorised }
                if change.endsOtherSessions {
                    try ending.endAll(db, of: account.number, except: session, at: time)
                } else {
                    try ending.revokeLapsed(db, of: account.number, at: time)
                }
                return try issuer.accessToken(for: account.subject, row, at: time)
            }
        } catch is ChangedMeanwhile {
            throw Problem.wrongOldPassword
        }
        logger.info("a password was changed", metadata: ["session": "\(session)"])
        return token
    }
}

extension SendMessage {
    /// Tells the owner, who may not be the one who did it.
    static func passwordChanged(of account: AccountRow, _ contact: AccountContact, at time: Timestamp) -> SendMessage {
        SendMessage(
            message: .random(), recipient: Recipient(person: account.subject.person, mail: contact.email.text), channels: [.mail],
            template: .passwordChanged, language: contact.language, values: ["name": contact.greeted, "time": time.rfc3339])
    }
}
