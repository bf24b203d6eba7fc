// Everything about people and their devices put together, for the service's assembly.

import Bus
import Contracts
import HTTPKit
import Logging
import ServiceKit
import ServiceLifecycle
import Storage

struct DeviceModule: Sendable {
    let registry: DeviceRegistry
    let people: People
    let devices: Devices
    let service: DeviceService
    let pairings: Pairings
    let trackings: Trackings
    let monitoring: Monitoring
    let outbox: MessageOutbox
    let tokens: TokenChecker
    let erasures: ErasureFollower
    /// Who shares anonymously, as `peopleFollower` hears it.
    let sharing: CohortPeopleStore
    let peopleFollower: Follower
    /// What has to run: following consent, handing over messages.
    let services: [any Service]

    init(
        _ settings: IngestSettings, store: Store, vault: ChunkVault, relay: EventRelay, epoch: String, answers: StoredAnswers,
        on runtime: Runtime
    ) async throws {
        let logger = runtime.logger
        let (households, accounts) = try await store.read { db in
            (try DeviceStore().households(db), try KnownAccountStore().all(db))
        }
        let registry = DeviceRegistry(
            households, accounts: accounts, lookupKey: try runtime.lookupKey(for: "device-token"), startedAt: .now)
        let changes = HouseholdRepository(store: store, registry: registry)
        let people = People(store: store, vault: vault, registry: registry, households: changes)
        let events = DeviceEventStore(epoch: epoch, relay: relay)
        let outbox = try await MessageOutbox(in: store, on: runtime)
        let ending = DeviceEndingStore(registry: registry, events: events, outbox: outbox)
        let tokens = try TokenChecker(store: store, issuer: runtime.settings.publicOrigin)
        let service = DeviceService(
            store: store, vault: vault, registry: registry, households: changes, people: people, ending: ending, settings: settings,
            logger: logger)
        devices = Devices(
            store: store, vault: vault, registry: registry, households: changes, answers: answers, events: events, ending: ending,
            logger: logger)
        pairings = Pairings(
            store: store, vault: vault, registry: registry, households: changes, people: people,
            pairingStore: PairingRepository(
                offers: PairingSeals(key: try runtime.key("pairings")), vault: vault, events: events, ending: ending, outbox: outbox),
            logger: logger)
        trackings = Trackings(registry: registry, households: changes, people: people, outbox: outbox)
        monitoring = Monitoring(
            registry: registry, households: changes, people: people, service: service, events: events, outbox: outbox,
            supervision: Monitoring.asking(try await runtime.client(of: .sosDispatcher)), logger: logger)
        let erasure = IngestErasure(
            store: store, vault: vault, registry: registry,
            tables: PersonErasureStore(
                vault: vault, outbox: outbox, files: SealedFiles(in: runtime.settings.storeFolder, named: "transfers")))
        erasures = try await ErasureFollower(on: runtime, store: store, keys: vault.keys, steps: erasure.steps)
        let accountFollower = Follower.accounts(on: runtime, store: store, tokens: tokens, erasures: erasures)
        sharing = CohortPeopleStore(sealedUnder: try runtime.key("cohort"))
        peopleFollower = people.follower(on: runtime, sharing: sharing)
        services = [
            Background(peopleFollower.run), Background(accountFollower.run), Background(outbox.run), Background(erasures.run),
        ]
        (self.registry, self.people, self.service, self.outbox, self.tokens) = (registry, people, service, outbox, tokens)
    }

    /// The routes of pairing, tracking and monitoring.
    func routes(_ settings: IngestSettings, limiter: RateLimiter<Int64>) -> [Route] {
        PairingRoutes(pairings: pairings, settings: settings).all + TrackingRoutes(service: service, trackings: trackings).all
            + MonitoringRoutes(monitoring: monitoring, limiter: limiter).all
    }

    /// A device by its token, a person by an access token; waits for nothing.
    var authenticate: @Sendable (Credentials, Access) throws -> Caller {
        { [registry, tokens] credentials, access in
            switch access {
            case .device, .owner:
                if let known = registry.device(withToken: credentials.bearer) {
                    known.pulse.beat(at: .now)
                    // What devices share with their owners is reading, and handing in what no rescue depends on.
                    guard access == .device || known.mayRead else { throw Problem.ofOldDevice }
                    return .device(known.device, known.person, context: known)
                }
                guard access == .owner else { throw Problem.unauthorised }
                return try tokens.caller(for: credentials, access: access)
            case .person, .member, .operator, .account, .passwordChange, .personAnew, .accountAnew, .enrolment:
                return try tokens.caller(for: credentials, access: access)
            case .anyone, .integrator, .organisation: throw Problem.forbidden
            }
        }
    }
}
