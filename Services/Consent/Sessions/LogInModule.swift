// Log-ins put together: what other subjects of this service need of them, and what the assembly runs.

import Bus
import Contracts
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

/// The parts of log-in, sessions, passwords, recovery, invitations and signing keys.
struct LogInModule: Sendable {
    let hasher: PasswordHasher
    /// Of people and members; `asked(of:)` has those of operators.
    let passwordRule: PasswordRule
    let credentials: CredentialStore
    let ending: SessionEndingStore
    /// What the door of this service checks tokens with.
    let checker: TokenChecker
    let keys: SigningKeys
    let sessions: Sessions
    let logIns: LogIns
    let recoveries: Recoveries
    let invitations: Invitations
    let changes: PasswordChanges
    let factors: SecondFactors
    let reauthentications: Reauthentications
    let orders: SessionOrders
    private let store: Store
    private let now: @Sendable () -> Timestamp

    /// What they stand on.
    struct Dependencies: Sendable {
        var store: Store
        var epoch: String
        var answers: StoredAnswers
        /// Of the family `.accounts`.
        var relay: EventRelay
        /// Of the family `.people`.
        var people: EventRelay
        var vault: ProfileVault
        var lookups: AccountLookups
        var outbox: MessageOutbox
        /// Begun.
        var revoked: RevocationList?
        var now: @Sendable () -> Timestamp = { .now }
        var cost = PasswordHasher.cost
    }

    /// There is a key to sign with when this returns.
    init(_ settings: LogInSettings, _ dependencies: Dependencies, on runtime: Runtime) async throws {
        let (store, now, origin, logger) = (dependencies.store, dependencies.now, runtime.settings.publicOrigin, runtime.logger)
        let checker = try TokenChecker(store: store, issuer: origin)
        let keys = SigningKeys(
            store: store, sealedUnder: try runtime.key("signing"),
            facts: FactStream(stream: StreamFamily.signingKeysStream, epoch: dependencies.epoch, relay: dependencies.relay),
            checker: checker,
            period: settings.keyPeriod, logger: logger, now: now)
        let ending = SessionEndingStore(
            facts: FactStream(stream: StreamFamily.sessionsStream, epoch: dependencies.epoch, relay: dependencies.relay), checker: checker,
            revoked: dependencies.revoked)
        let hasher = try PasswordHasher(cost: dependencies.cost)
        let common = try PublishedPasswords.shipped()
        passwordRule = PasswordRule(least: settings.leastPasswordLength, isCommon: common.contain)
        let credentials = CredentialStore(key: try runtime.key("credentials"))
        let names = LogInNames(
            identifiers: settings.identifiers, lookups: dependencies.lookups, runKey: try runtime.lookupKey(for: "log-in-runs"))
        let table = LogInStore(names: names, credentials: credentials)
        let issuer = TokenIssuer(keys: keys, issuer: origin)
        orders = SessionOrders(
            store: store, lookups: dependencies.lookups, ending: ending, answers: dependencies.answers, logger: logger, now: now)
        let factors = SecondFactorStore(
            required: settings.secondFactorKinds, table: SecondFactorTable(codeKey: try runtime.lookupKey(for: "recovery-codes")),
            vault: dependencies.vault, outbox: dependencies.outbox)
        self.factors = SecondFactors(store: store, factors: factors, issuer: issuer, ending: ending, logger: logger, now: now)
        reauthentications = Reauthentications(
            store: store, table: table, hasher: hasher, factors: factors, issuer: issuer, logger: logger, now: now)
        logIns = LogIns(
            settings: settings, store: store, table: table, browsers: KnownBrowsers(key: try runtime.lookupKey(for: "known-browsers")),
            factors: factors, vault: dependencies.vault, hasher: hasher, issuer: issuer, ending: ending, outbox: dependencies.outbox,
            logger: logger,
            now: now)
        sessions = Sessions(
            settings: settings, store: store, vault: dependencies.vault, logIns: table, issuer: issuer, ending: ending,
            rotation: try runtime.key("refresh"), logger: logger, now: now)
        changes = PasswordChanges(
            rule: passwordRule, store: store, table: table, vault: dependencies.vault, hasher: hasher, issuer: issuer, ending: ending,
            outbox: dependencies.outbox, logger: logger, now: now)
        recoveries = Recoveries(
            settings: settings, rule: passwordRule, publicOrigin: origin, store: store, lookups: dependencies.lookups,
            vault: dependencies.vault,
            hasher: hasher, logIns: table,
            factors: factors, ending: ending, outbox: dependencies.outbox,
            people: PeopleEventStore(epoch: dependencies.epoch, vault: dependencies.vault, relay: dependencies.people),
            requests: RecoveryRequests(key: try runtime.key("recovery")), logger: logger, now: now)
        invitations = Invitations(
            settings: settings, publicOrigin: origin, store: store, lookups: dependencies.lookups, vault: dependencies.vault,
            hasher: hasher,
            credentials: credentials, factors: factors, ending: ending, outbox: dependencies.outbox, answers: dependencies.answers,
            logger: logger,
            now: now)
        (self.hasher, self.credentials, self.ending, self.checker, self.keys) = (hasher, credentials, ending, checker, keys)
        (self.store, self.now) = (store, now)
        try await keys.rotate()
        try await ending.load(from: store, at: now())
    }

    var routes: [Route] {
        SessionRoutes(logIns: logIns, sessions: sessions, reauthentications: reauthentications).all
            + SecondFactorRoutes(factors: factors).all
            + PasswordRoutes(changes: changes).all
            + RecoveryRoutes(recoveries: recoveries).all + KeyRoutes(keys: keys).all
    }

    func register(in methods: inout Methods) {
        invitations.register(in: &methods)
        orders.register(in: &methods)
    }

    /// Proves accounts at the door of this service; nobody else has tokens here.
    var authenticate: Authenticate {
        { [checker, now] credentials, access in try checker.caller(for: credentials, access: access, now: now()) }
    }

    /// The current facts of `consent.signing-keys` and `consent.sessions`; nil for another stream.
    func snapshot(_ request: SnapshotStream) async throws -> SnapshotStream.Reply? {
        switch request.stream {
        case StreamFamily.signingKeysStream: try await keys.snapshot()
        case StreamFamily.sessionsStream: try await ending.snapshot(request, in: store, at: now())
        default: nil
        }
    }

    var services: [any Service] {
        [Background(keys.run), Background(sessions.run), Background(recoveries.run)]
    }
}
