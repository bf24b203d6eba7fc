// Logging in: the same work and the same answer for whoever has an account and whoever has none.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// A log-in as it was asked for.
struct LogInAttempt: Sendable {
    var login: String
    var password: String
    /// Where only one kind of account is meant (ACC-14).
    var kind: AccountKind?
    /// What the device calls itself; shown in the list of sessions.
    var device: String
    var address: String
    /// Of the second factor; nil where none was shown.
    var code: String?
    /// What the browser kept of an earlier log-in; nil where it shows nothing.
    var browser: String?
}

/// What a log-in comes to.
struct LoggedIn: Sendable {
    let tokens: IssuedTokens
    /// What the browser is to keep.
    let browser: String
}

struct LogIns: Sendable {
    static let longestDevice = 64

    let settings: LogInSettings
    let store: Store
    let table: LogInStore
    let browsers: KnownBrowsers
    let factors: SecondFactorStore
    let vault: ProfileVault
    let hasher: PasswordHasher
    let issuer: TokenIssuer
    let ending: SessionEndingStore
    let outbox: MessageOutbox
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let sessions = SessionStore()
    private let perAddress: RateLimiter<String>
    private let inAll: RateLimiter<Bool>

    init(
        settings: LogInSettings, store: Store, table: LogInStore, browsers: KnownBrowsers, factors: SecondFactorStore, vault: ProfileVault,
        hasher: PasswordHasher, issuer: TokenIssuer, ending: SessionEndingStore, outbox: MessageOutbox, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.settings, self.store, self.table, self.browsers, self.vault, self.hasher) = (settings, store, table, browsers, vault, hasher)
        (self.issuer, self.ending, self.outbox, self.logger, self.now) = (issuer, ending, outbox, logger, now)
        self.factors = factors
        perAddress = Self.limiter(perMinute: settings.logInsPerMinute)
        inAll = Self.limiter(perMinute: settings.logInsInAllPerMinute)
    }

    private static func limiter<Key>(perMinute: Int) -> RateLimiter<Key> {
        RateLimiter(rate: Double(perMinute) / 60, burst: Double(perMinute))
    }

    /// - Throws: `credentials-not-valid` whatever was wrong (ACC-11); what else stands in the way only to whoever has the password;
    ///   429 with `Retry-After` for whoever tries too often; a browser that is known under this name is held up by its own failures
    ///   alone.
    func logIn(_ attempt: LogInAttempt) async throws -> LoggedIn {
        let browser = browsers.find(attempt.browser, login: attempt.login)
        if browser == nil {
            try perAddress.admit(attempt.address)
            try inAll.admit(true)
        }
        let begun: LogInTry
        switch try await store.write({ [table, now] db in
            try table.begin(db, typed: attempt.login, address: attempt.address, browser: browser, at: now())
        }) {
        case .wait(let wait): throw Refusal(.tooManyRequests, retryAfter: wait)
        case .go(let turn): begun = turn
        }
        let finding: PasswordFinding
        do {
            finding = try await hasher.check(attempt.password, against: begun.credential?.hash)
        } catch {
            try? await store.write { [table] db in try table.tookBack(db, begun) }
            throw error
        }
        guard case .right(let rehashed) = finding, let account = begun.account, let credential = begun.credential,
            account.state != .closing, attempt.kind == nil || attempt.kind == account.subject.kind
        else {
            // After the answer, so that its time does not tell whether there is an owner to be told.
            Task { await notifyOwner(begun) }
            throw refusal(begun, finding)
        }
        let tokens = try await open(attempt, begun, account, credential, rehashed)
        return LoggedIn(tokens: tokens, browser: browsers.keep(attempt.browser, login: attempt.login))
    }

    // MARK: Right

    private func open(
        _ attempt: LogInAttempt, _ begun: LogInTry, _ account: AccountRow, _ credential: Credential, _ rehashed: String?
    ) async throws -> IssuedTokens {
        let time = now()
        if let obstacle = obstacle(account, credential, at: time) {
            try await store.write { [table] db in try table.succeeded(db, begun) }
            throw obstacle
        }
        let methods = try await showSecondFactor(attempt, begun, account, at: time)
        let session = SessionID.random()
        let mustChange = credential.temporaryUntil != nil && settings.temporaryMustChange
        let token = RefreshToken.random()
        let endsAt = settings.life(of: account.subject.kind).end(created: time, lastUsed: time)
        let label = try vault.seal(
            Array(attempt.device.prefix(Self.longestDevice).utf8), at: Sessions.labelPlace(session), of: account.subject)
        let address = table.names.digest(ofAddress: attempt.address)
        let issued = try await store.write { [table, sessions, ending, factors, issuer] db in
            try table.succeeded(db, begun)
            if let rehashed { try table.credentials.rehash(db, account: account.number, from: credential.hash, to: rehashed) }
            try sessions.add(
                db, session, account: account.number, label: label, address: address,
                limits: (mustChange, try factors.mustEnrol(db, account)), authentication: Authentication(at: time, methods: methods),
                token: token, endsAt: endsAt)
            guard let row = try sessions.find(db, session) else { throw Problem.internal }
            let issued = try issuer.tokens(
                for: account.subject, row, refresh: token, until: endsAt, at: time)
            // Not the new one, though the others may lie ahead of it where the clock was put back.
            let others = try sessions.all(db, of: account.number).filter { $0.session != session }
            for row in others.dropFirst(SessionStore.perAccount - 1) {
                try ending.end(db, row, at: time, because: .displaced)
            }
            return issued
        }
        logger.info("logged in", metadata: ["session": "\(session)", "kind": "\(account.subject.kind.rawValue)"])
        return issued
    }

    /// The password was right: where a factor is enrolled, its code must be as well. A wrong one counts as a wrong log-in, none at all
    /// does not.
    private func showSecondFactor(
        _ attempt: LogInAttempt, _ begun: LogInTry, _ account: AccountRow, at time: Timestamp
    ) async throws -> Set<Authentication.Method> {
        let finding = try await store.write { [factors, table] db in
            let finding = try factors.check(db, account, attempt.code, at: time)
            if finding == .missing { try table.tookBack(db, begun) }
            return finding
        }
        switch finding {
        case .notEnrolled: return [.password]
        case .right: return [.password, .oneTimePassword]
        case .missing: throw Problem.secondFactorNeeded
        case .wrong:
            Task { await notifyOwner(begun) }
            throw Problem.secondFactorNotRight
        }
    }

    /// What keeps the owner of the right password out.
    private func obstacle(_ account: AccountRow, _ credential: Credential, at now: Timestamp) -> Problem? {
        if let until = credential.temporaryUntil, until <= now { return .temporaryPasswordExpired }
        return switch account.state {
        case .unconfirmed: .addressNotConfirmed
        case .awaitingGuardian: .guardianAwaited
        case .active, .closing: nil
        }
    }

    // MARK: Wrong

    private func refusal(_ begun: LogInTry, _ finding: PasswordFinding) -> Problem {
        guard settings.detailedErrors else { return .credentialsNotValid }
        return begun.account == nil ? .unknownIdentifier : .wrongPassword
    }

    /// ACC-12: one mail when the third failure in a row has come, and no other until somebody gets in.
    private func notifyOwner(_ begun: LogInTry) async {
        logger.info("a log-in was refused")
        guard let account = begun.account, begun.credential != nil, account.state != .closing else { return }
        do {
            let contact = try vault.contact(account)
            let time = now()
            try await store.write { [table, outbox, settings] db in
                guard try table.isOwnerToBeNotified(db, begun, from: settings.failNoticeAfter) else { return }
                try outbox.enqueue(
                    db,
                    SendMessage(
                        message: .random(), recipient: Recipient(person: account.subject.person, mail: contact.email.text),
                        channels: [.mail], template: .failedLogIns, language: contact.language,
                        values: ["name": contact.greeted, "count": String(settings.failNoticeAfter), "time": time.rfc3339]))
            }
        } catch {
            logger.error("an owner could not be notified", metadata: ["error": "\(String(reflecting: type(of: error)))"])
        }
    }
}
