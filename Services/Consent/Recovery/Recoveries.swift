// Forgotten passwords (ACC-16) and invitations: a mailed link is the one credential, and what it opens is a new password.

import Contracts
import Foundation
import HTTPKit
import Logging
import ServiceKit
import Storage

struct Recoveries: Sendable {
    /// Links that one account is mailed in an hour; further requests are skipped without an answer.
    static let linksPerHour = 3
    private static let atOnce = 20
    private static let pollInterval = Duration.seconds(10)
    /// Milliseconds from a request until it is handled, at random: what is done then for somebody's account and not for nobody's would be felt
    /// by the answer, and by the next request, if it were done at the same time.
    static let pause = 500...2000

    let settings: LogInSettings
    let rule: PasswordRule
    /// Begins every link.
    let publicOrigin: String
    let store: Store
    let lookups: AccountLookups
    let vault: ProfileVault
    let hasher: PasswordHasher
    let logIns: LogInStore
    let factors: SecondFactorStore
    let ending: SessionEndingStore
    let outbox: MessageOutbox
    let people: PeopleEventStore
    let requests: RecoveryRequests
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let accounts = AccountStore()
    private let links = MailLinkStore()
    private let wakeUp = WakeUpSignal()
    private let limiter: RateLimiter<String>

    init(
        settings: LogInSettings, rule: PasswordRule, publicOrigin: String, store: Store, lookups: AccountLookups, vault: ProfileVault,
        hasher: PasswordHasher, logIns: LogInStore, factors: SecondFactorStore, ending: SessionEndingStore, outbox: MessageOutbox,
        people: PeopleEventStore, requests: RecoveryRequests, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.settings, self.publicOrigin, self.store, self.lookups, self.vault) = (settings, publicOrigin, store, lookups, vault)
        (self.hasher, self.logIns, self.factors, self.ending, self.outbox) = (hasher, logIns, factors, ending, outbox)
        (self.people, self.rule, self.requests, self.logger, self.now) = (people, rule, requests, logger, now)
        limiter = RateLimiter(rate: Double(settings.recoveriesPerHour) / 3600, burst: Double(settings.recoveriesPerHour))
    }

    // MARK: Asking

    /// Keeps the request and returns: whether somebody has an account there is checked afterwards, so that neither the answer nor its
    /// time tells (CON-08).
    /// - Throws: `invalid-body` where no mail can be sent to the address; 429 for whoever asks too often.
    func ask(email typed: String, language: Language, address: String) async throws {
        guard let email = EmailAddress(typed) else {
            throw Problem.invalidBody([.init(pointer: "/email", .notAnEmail)])
        }
        try limiter.admit(address)
        let time = now()
        try await store.write { [requests] db in try requests.add(db, email, language, at: time) }
        wakeUp.notify()
    }

    // MARK: Mailing

    /// Answers the requests that wait; runs until it is cancelled.
    func run() async throws {
        var last = try await lastRequest()
        while true {
            while try await answerRequests(upTo: last) {}
            try Task.checkCancellation()
            await wakeUp.wait(atMost: Self.pollInterval)
            // Those that come during the pause wait for the next one.
            last = try await lastRequest()
            try await Task.sleep(for: .milliseconds(Int.random(in: Self.pause)))
        }
    }

    private func lastRequest() async throws -> Int64 {
        try await store.read { [requests] db in try requests.last(db) }
    }

    /// Returns whether there may be more.
    private func answerRequests(upTo last: Int64) async throws -> Bool {
        let waiting = try await store.read { [requests] db in try requests.waiting(db, upTo: last, limit: Self.atOnce) }
        for request in waiting { try await answer(request) }
        return waiting.count == Self.atOnce
    }

    private func answer(_ request: RecoveryRequests.Request) async throws {
        let time = now()
        try await store.write { [self] db in
            try requests.remove(db, request.number)
            guard let account = try accounts.find(db, email: lookups.email(request.email)), account.state != .closing,
                try links.countLately(db, account: account.number, purpose: .recover, at: time) < Self.linksPerHour
            else { return }
            let contact: AccountContact
            do {
                contact = try vault.contact(account)
            } catch  where error is KeyDestroyed || error is DamagedKey {
                // Nobody can be written to; the others' requests go on.
                return
            }
            let token = try links.make(db, purpose: .recover, account: account.number, at: time, lasting: settings.recoveryLife)
            try outbox.enqueue(
                db,
                SendMessage(
                    message: .random(), recipient: Recipient(person: account.subject.person, mail: contact.email.text), channels: [.mail],
                    template: .recoverPassword, language: contact.language,
                    values: [
                        "name": contact.greeted, "link": publicOrigin + RecoveryRoutes.path(.recover, token),
                        "hours": settings.recoveryLife.inHours,
                    ], notAfter: time + settings.recoveryLife))
        }
    }

    // MARK: Choosing a new password

    /// Whether the link still opens something.
    func isOpen(_ token: String, _ purpose: MailLinkPurpose) async throws -> Bool {
        let time = now()
        guard MailLinkStore.isToken(token) else { return false }
        return try await store.readBriefly { [links] db in try links.find(db, token, purpose: purpose, at: time) != nil }
    }

    /// Sets the password, uses up the link and ends every session; with a link for a forgotten password also what may be a stranger's.
    /// - Parameter keepsDevices: what was paired before reads on. Delivering goes on in any case: a rescue may depend on it.
    /// - Throws: `link-not-valid`; `new-password-refused`, after which the link still holds.
    func choose(
        _ new: NewPassword, by token: String, _ purpose: MailLinkPurpose, keepsDevices: Bool, at pointers: NewPassword.Pointers
    ) async throws {
        try MailLinkStore.requireToken(token)
        let looked = now()
        let account = try await store.readBriefly { [self] db -> AccountRow? in
            try links.find(db, token, purpose: purpose, at: looked).flatMap { try accounts.find(db, number: $0.account) }
        }
        guard let account, account.state != .closing else { throw Problem.linkNotValid }
        let contact = try vault.contact(account)
        let faults = new.faults(rule.asked(of: account.subject.kind), of: contact, at: pointers)
        guard faults.isEmpty else { throw Problem.newPasswordRefused(faults) }
        let hash = try await hasher.hash(new.typed)
        let time = now()
        try await store.write { [self] db in
            guard try links.use(db, token, purpose: purpose, at: time)?.account == account.number else { throw Problem.linkNotValid }
            try links.forget(db, account: account.number, purpose: purpose)
            try logIns.credentials.set(db, account: account.number, hash: hash, temporaryUntil: nil, at: time)
            try logIns.forgetFailures(db, of: account.number)
            // What was enrolled before anybody had shown that they read the address may be a stranger's.
            if account.addressConfirmedAt == nil { try factors.forget(db, account.number) }
            // Whoever followed the link reads what is sent there.
            try accounts.confirmAddress(db, account.number, at: time)
            if purpose == .recover { try outbox.enqueue(db, .passwordChanged(of: account, contact, at: time)) }
            if purpose == .recover, account.subject.person != nil, !keepsDevices {
                try accounts.endReading(db, account.number, at: time)
                if let row = try accounts.find(db, number: account.number) { try people.publish(db, row, at: time, trace: "") }
            }
            try ending.endAll(db, of: account.number, at: time)
        }
        logger.info("a password was chosen by a mailed link", metadata: ["purpose": "\(purpose.rawValue)"])
    }
}

extension Duration {
    /// Whole hours, at least one, for a text.
    var inHours: String {
        String(max(1, Int((self / .seconds(3600)).rounded(.down))))
    }
}
