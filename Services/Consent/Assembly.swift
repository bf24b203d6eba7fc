// Consent put together, in the order in which its parts rest on one another.

import Bus
import Contracts
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct ConsentAssembly: Assembly {
    static let peer = Peer.consent
    static let purpose = "Knows who has an account, who is logged in, and what each person allows whom."
    static let prefixes: Set<String> = ["acc", "shr", CountrySettings.prefix]
    static let httpPort = 8103

    static func settings(_ reader: inout SettingsReader) -> ConsentSettings {
        ConsentSettings(&reader)
    }

    static func build(_ settings: ConsentSettings, on runtime: Runtime) async throws -> [any Service] {
        try await ConsentModule(settings, on: runtime).services
    }
}

/// What is opened first and closed last.
private struct ConsentStores {
    let opened: OpenedStore
    /// Of `AccessStore`.
    let accesses: Store
    let revoked: RevocationList

    init(_ settings: ConsentSettings, on runtime: Runtime) async throws {
        let restored = RestoredSessionStore(on: runtime)
        opened = try await OpenedStore(
            on: runtime, applicationID: ConsentSchema.applicationID, migrations: ConsentSchema.migrations,
            restored: { db in try restored.apply(db) })
        try await restored.begin(in: opened.store, life: settings.logIns.longestLife)
        accesses = try await AccessMoveStore.open(on: runtime, beside: opened.store)
        revoked = restored.list
    }

    func parts(publishing families: [StreamFamily]) -> [any Service] {
        opened.parts(publishing: families) + [ClosedLast { [accesses] in await accesses.close() }]
    }
}

/// The parts by name, so that tests can talk to them.
struct ConsentModule: Sendable {
    static let families: [StreamFamily] = [.accounts, .people, .grants, .requests, .emergencyCards, .cohortProfiles]

    let opened: OpenedStore
    let accounts: AccountModule
    let logIns: LogInModule
    let sharing: SharingModule
    let erasure: ErasureModule
    let cards: EmergencyCardStore
    let cohorts: CohortProfileStore
    let server: HTTPServer
    let services: [any Service]

    /// Streams and questions are open when this returns; HTTP opens when `services` run.
    init(_ settings: ConsentSettings, on runtime: Runtime) async throws {
        // The longest part of a start that waits for nothing: read while the stores are opened.
        async let places = AccountModule.places(settings.accounts)
        let stores = try await ConsentStores(settings, on: runtime)
        let opened = stores.opened
        let outbox = try await MessageOutbox(in: opened.store, on: runtime)
        let people = try await opened.relay(of: .people)
        let accountFacts = try await opened.relay(of: .accounts)
        let relays = SharingRelays(grants: try await opened.relay(of: .grants), requests: try await opened.relay(of: .requests))

        let profilesWakeUp = WakeUpSignal()
        let lookups = try AccountLookups { try runtime.lookupKey(for: $0) }
        let accountsKey = try runtime.key("accounts")
        logIns = try await LogInModule(
            settings.logIns,
            .init(
                store: opened.store, epoch: opened.epoch, answers: opened.answers, relay: accountFacts, people: people,
                vault: ProfileVault(keys: opened.keys, serviceKey: accountsKey), lookups: lookups, outbox: outbox,
                revoked: stores.revoked),
            on: runtime)
        accounts = try AccountModule(
            on: .init(
                store: opened.store, keys: opened.keys, epoch: opened.epoch, outbox: outbox, hasher: logIns.hasher,
                passwordRule: logIns.passwordRule, credentials: logIns.credentials, lookups: lookups,
                serviceKey: accountsKey, answersKey: runtime.key("answers"), publicOrigin: runtime.settings.publicOrigin,
                logger: runtime.logger, ending: logIns.ending, profilesWakeUp: profilesWakeUp, people: people),
            settings: settings.accounts, places: try await places, dependencies: try await AccountDependencies(on: runtime))
        sharing = try SharingModule(
            on: .init(
                store: opened.store, keys: opened.keys, answers: opened.answers, epoch: opened.epoch, outbox: outbox, relays: relays,
                accesses: stores.accesses),
            settings: settings.sharing, people: accounts.sharingPeople, runtime: runtime)

        let organisations = OrganisationAccounts(
            settings, opened, repository: accounts.repository, logIns: logIns, sharing: sharing, logger: runtime.logger)
        cards = EmergencyCardStore(
            store: opened.store, repository: accounts.repository, places: accounts.places, epoch: opened.epoch,
            relay: try await opened.relay(of: .emergencyCards), wakeUp: profilesWakeUp, logger: runtime.logger)
        cohorts = CohortProfileStore(
            store: opened.store, repository: accounts.repository, epoch: opened.epoch,
            relay: try await opened.relay(of: .cohortProfiles), logger: runtime.logger)
        erasure = try ErasureModule(
            settings.erasure, on: opened, relay: accountFacts,
            dependencies: .init(
                vault: accounts.repository.vault, repository: accounts.repository, logIns: logIns.changes.table, hasher: logIns.hasher,
                ending: logIns.ending, checker: logIns.checker, sharing: sharing.closing, outbox: outbox),
            further: [sharing.accesses.erasure], runtime: runtime)

        let facts = ConsentStreams(accounts: accounts, logIns: logIns, sharing: sharing, erasure: erasure, cards: cards, cohorts: cohorts)
        let streams = StreamSource(
            families: Self.families, store: opened.store, render: { _, row in try facts.render(row) },
            snapshot: { try await facts.snapshot($0) })
        let questions = ConsentBusRoutes(
            logIns: logIns, sharing: sharing, erasure: erasure, organisations: organisations, cards: cards,
            streams: streams, jobs: JobRoutes(opened.store, accounts.jobs.all + [outbox.jobs]), answers: opened.answers)
        try await runtime.answer(questions.methods)

        server = runtime.server(
            .init(
                title: "TrackMe consent", version: "1.0.0", summary: "Accounts, log-ins, and what each person allows whom.",
                prefix: "consent"),
            routes: ConsentRoutes(accounts: accounts, logIns: logIns, sharing: sharing, erasure: erasure).all, store: opened.store,
            tokens: logIns.checker, authenticate: logIns.authenticate)
        let deliveries = AccountDeliveryStore(mail: accounts.repository.mail).follower(on: runtime, store: opened.store)
        services =
            stores.parts(publishing: Self.families) + [Background(outbox.run), Background(deliveries.run)]
            + logIns.services + accounts.services + sharing.services + erasure.services
            + [Background(cards.follower(on: runtime).run), Background(cards.run), Background(cohorts.run), server]
        self.opened = opened
    }
}
