// Subscriptions put together: what other subjects need of them, and what the assembly runs.

import Bus
import Contracts
import HTTPKit
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct SubscriptionModule: Sendable {
    /// How long one batch of ingest is waited for.
    private static let requestTimeout = Duration.seconds(2)

    let repository: SubscriptionRepository
    let subscriptions: SubscriptionService
    let endpoints: EndpointService
    let reading: FeedReading
    let upkeep: FeedUpkeep
    /// Whether what consent says is known now, for whatever else hands data out.
    let gate: FeedGate
    let erasure: ErasureSteps
    let services: [any Service]
    private let publicKey: VerifyingKey
    private let admit: Admit
    private let admitAnew: Admit

    /// - Parameter admitAnew: for what outlives the session in which it is done.
    init(
        _ settings: SubscriptionSettings, on stores: GatewayStores, runtime: Runtime, admit: @escaping Admit, admitAnew: @escaping Admit
    ) async throws {
        let (store, keys, logger) = (stores.opened.store, stores.opened.keys, runtime.logger)
        let (hub, repository, clock) = (stores.hub, stores.subscriptions, stores.clock)
        let queue = repository.queue
        let grants = Self.grants(repository, keys, on: runtime, store)
        let arrivals = Self.arrivals(repository, hub, on: runtime, store)
        let gate = FeedGate { grants.silentFor }
        self.gate = gate

        let (ingest, consent) = (try await runtime.client(of: .ingest), try await runtime.client(of: .consent))
        reading = FeedReading(
            store: store, keys: keys, hub: hub, table: FeedReadingStore(keys: keys, bills: stores.bills), clock: clock,
            logger: logger
        ) { question in
            try await ingest.ask(question, deadline: Self.requestTimeout, attempts: 1)
        }
        subscriptions = SubscriptionService(store: store, keys: keys, gate: gate, hub: hub, clock: clock) { question, trace in
            _ = try await consent.ask(question, trace: trace, deadline: .seconds(1))
        }
        upkeep = FeedUpkeep(store: store, keep: settings.keepItems, clock: clock, logger: logger)
        erasure = SubscriptionErasureStore(repository: repository).steps

        let signingKey = try SigningKey(seed: runtime.secret("webhooks.seed"))
        let sender = WebhookSender(signingKey: signingKey, allowsPrivate: settings.allowsPrivate, clock: clock, logger: logger)
        let table = EndpointStore(key: try runtime.key("endpoints"))
        let workers = WebhookDeliveryWorkers(
            WebhookDeliveryWorker.Dependencies(
                store: store,
                table: WebhookDeliveryStore(
                    queue: queue, endpoints: table, rendering: WebhookRenderingStore(keys: keys, clock: clock), gate: gate,
                    organisations: stores.organisations, schedule: WebhookSchedule(retryFor: settings.retryFor)),
                hub: hub, transport: { await sender.send($0) }, clock: clock, jitter: { Double.random(in: 0...1) }, logger: logger),
            endpoints: table)
        endpoints = EndpointService(
            store: store, table: table, queue: queue, organisations: stores.organisations, workers: workers,
            guardian: EndpointGuard(allowsPrivate: settings.allowsPrivate), handshake: { await sender.sendForAnswer($0) },
            firstAnswers: FirstAnswers(secret: try runtime.key("answers")), clock: clock, logger: logger)
        (self.repository, self.admit, self.admitAnew, publicKey) = (repository, admit, admitAnew, signingKey.publicKey)
        services = [
            Background(grants.run), Background(arrivals.run), Background(reading.run), Background(workers.run), Background(upkeep.run),
        ]
    }

    var routes: [Route] {
        SubscriptionRoutes(service: subscriptions, admit: admit).all
            + EndpointRoutes(service: endpoints, publicKey: publicKey, admit: admit, admitAnew: admitAnew).all
    }

    // MARK: What others say

    private static func grants(_ repository: SubscriptionRepository, _ keys: PersonKeys, on runtime: Runtime, _ store: Store) -> Follower {
        Follower(
            family: .grants, on: runtime, store: store,
            apply: { db, event in
                if let state = try GrantProjection.fact(of: event, keys: keys) { try repository.receive(db, state) }
            },
            snapshot: SnapshotRules { db, event in
                guard let state = try GrantProjection.fact(of: event, keys: keys) else { return nil }
                try repository.receive(db, state)
                return state.grant.bytes
            } known: { db, _, after, limit in
                try repository.known(db, after: after, limit: limit).map(\.bytes)
            } forget: { db, key in
                if let grant = GrantID(bytes: key) { try repository.ended(db, grant) }
                return nil
            })
    }

    private static func arrivals(_ repository: SubscriptionRepository, _ hub: FeedHub, on runtime: Runtime, _ store: Store) -> Follower {
        Follower(family: .arrivals, on: runtime, store: store) { db, event in
            guard let person = PersonID(event.header.subject), let fact = try event.fact(DataArrived.self, type: DataArrived.type) else {
                return
            }
            try repository.arrived(db, person, fact)
        } passedOver: { db, _ in
            try repository.lostTrack(db)
        } after: { _ in
            hub.somethingToRead()
        }
    }
}
