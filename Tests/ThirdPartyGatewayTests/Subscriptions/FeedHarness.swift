// Subscriptions on real files with a clock that is set, a small ingest, and receivers that are played.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit

@testable import ThirdPartyGateway

/// One life of the gateway's part; another one in the same folder is a restart.
final class FeedHarness: Sendable {
    let store: Store
    let keys: PersonKeys
    let hub = FeedHub()
    let queue: WebhookQueueStore
    let repository: SubscriptionRepository
    let reading: FeedReading
    let service: SubscriptionService
    let upkeep: FeedUpkeep
    let courierStore: WebhookDeliveryStore
    let world: World
    let endpoints: EndpointStore

    /// What outlives the house.
    final class World: Sendable {
        let clock = SetClock()
        let ingest: SmallIngest
        let requests = Mutex<[RequestID: FeedScope]>([:])
        let silence = Mutex(Duration.zero)
        let mails = Mutex<[(OrganisationID, MessageTemplate)]>([])
        let mayAct = Mutex(true)
        /// What is not paid (any more).
        let due = Mutex<Set<RequestID>>([])
        let delivered = Mutex<[RequestID]>([])
        let stopped = Mutex<[RequestID]>([])

        init() {
            ingest = SmallIngest { [clock] in clock.now }
        }

        var grants: [GrantID: (window: Range<Int64>, granularity: GrantGranularity)] {
            requests.withLock { requests in
                requests.values.reduce(into: [:]) { $0[$1.grant] = ($1.from.milliseconds..<$1.to.milliseconds, $1.granularity) }
            }
        }
    }

    init(_ folder: URL, _ world: World) throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        store = try Store.open(
            folder.appendingPathComponent("gateway.db"), applicationID: 7,
            migrations: [
                Migration(1, "the service's own") { db in
                    try IdempotencyKeys.create(in: db)
                    try ConsumerPositions.create(in: db)
                },
                Migration(2, "subscriptions") { db in try SubscriptionMigration.create(in: db) },
                Migration(3, "epochs") { db in try SubscriptionMigration.addEpochs(to: db) },
                Migration(4, "grants") { db in
                    try GrantProjection.create(in: db)
                    try GrantProjection.addMissing(to: db)
                },
            ], logger: logger)
        keys = try PersonKeys(
            folder.appendingPathComponent("gateway-keys.db"), wrappedBy: KeyEncryptionKey(bytes: [UInt8](repeating: 7, count: 32)),
            settings: StoreSettings(), logger: logger)
        let (hub, clock) = (hub, world.clock)
        queue = WebhookQueueStore(hub: hub)
        repository = SubscriptionRepository(
            queue: queue, hub: hub, keep: .seconds(7 * 86_400), clock: { clock.now },
            isReleased: { _, request in world.due.withLock { !$0.contains(request) } }
        ) { _, request in
            world.requests.withLock { $0[request] }
        }
        let gate = FeedGate { world.silence.withLock { $0 } }
        reading = FeedReading(
            store: store, keys: keys, hub: hub,
            table: FeedReadingStore(keys: keys) { _, request in world.delivered.withLock { $0.append(request) } }, clock: { clock.now },
            logger: logger
        ) { try await world.ingest.answer($0, world.grants) }
        service = SubscriptionService(store: store, keys: keys, gate: gate, hub: hub, clock: { clock.now }) { question, _ in
            world.stopped.withLock { $0.append(question.request) }
        }
        upkeep = FeedUpkeep(store: store, keep: .seconds(7 * 86_400), clock: { clock.now }, logger: logger)
        endpoints = EndpointStore(key: try SymmetricKey(bytes: [UInt8](repeating: 9, count: 32)))
        courierStore = WebhookDeliveryStore(
            queue: queue, endpoints: endpoints, rendering: WebhookRenderingStore(keys: keys) { clock.now }, gate: gate,
            mayAct: { _, _ in world.mayAct.withLock { $0 } },
            mail: { _, organisation, template, values in
                precondition(Set(values.keys).union(["organisation"]) == template.values)
                world.mails.withLock { $0.append((organisation, template)) }
            }, schedule: WebhookSchedule())
        self.world = world
    }

    func close() async {
        await store.close()
        await keys.close()
    }

    static func run<Value>(_ body: (FeedHarness) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in try await run(in: folder, World(), body) }
    }

    static func run<Value>(in folder: URL, _ world: World, _ body: (FeedHarness) async throws -> Value) async throws -> Value {
        try await withHarness(FeedHarness(folder, world), body) { await $0.close() }
    }

    // MARK: What happens

    /// A granted and paid request; its subscription runs.
    func subscribe(
        _ organisation: OrganisationID = .random(), types: [Metric] = [.heartRate], _ granularity: GrantGranularity = .seconds,
        past: Duration = .seconds(3600), ahead: Duration = .seconds(30 * 86_400)
    ) async throws -> Feed {
        let now = world.clock.now
        let scope = FeedScope(
            request: .random(), organisation: organisation, person: .random(), grant: .random(), types: types, from: now - past,
            to: now + ahead, granularity: granularity, isSubscription: ahead > .zero)
        world.requests.withLock { $0[scope.request] = scope }
        try await store.write { [repository] db in try repository.begin(db, scope.request) }
        return try await feed(scope.request)
    }

    struct Absent: Error {}

    func feed(_ request: RequestID) async throws -> Feed {
        guard let feed = try await store.read({ db in try FeedStore().find(db, request) }) else { throw Absent() }
        return feed
    }

    /// Entries reach ingest, and its word reaches the gateway.
    func upload(_ feed: Feed, _ entries: [(Int64, Double)]) async throws {
        try await upload(feed, .heartRate, entries)
    }

    func upload(_ feed: Feed, _ metric: Metric, _ entries: [(Int64, Double)]) async throws {
        guard let person = feed.person, let first = entries.map(\.0).min(), let last = entries.map(\.0).max() else { return }
        for entry in entries { world.ingest.keep(feed.grant, metric, entry.0, entry.1) }
        let fact = DataArrived(metric: metric, from: Timestamp(milliseconds: first), to: Timestamp(milliseconds: last + 1))
        try await store.write { [repository] db in try repository.arrived(db, person, fact) }
    }

    /// Reads until nothing more is due.
    func readAll() async throws {
        for _ in 0..<100 {
            let due = try await store.read { [clock = world.clock] db in try FeedEventStore().due(db, at: clock.now, limit: 1) }
            if due.isEmpty { return }
            try await reading.turn()
        }
    }

    func say(_ feed: Feed, types: [Metric]? = nil, active: Bool, version: Int64 = 2) async throws {
        guard let person = feed.person else { return }
        let state = GrantState(
            grant: feed.grant, request: feed.request, person: person, organisation: feed.organisation, types: types ?? feed.types,
            from: Timestamp(milliseconds: feed.window.lowerBound), to: Timestamp(milliseconds: feed.window.upperBound),
            granularity: feed.granularity, active: active, version: version)
        try await store.write { [repository] db in try repository.heard(db, state) }
    }

    func end(_ feed: Feed, _ why: SubscriptionEnding) async throws {
        try await store.write { [repository] db in try repository.end(db, feed.request, why) }
    }

    func items(_ feed: Feed, after: Int64 = 0, limit: Int = 1000) async throws -> [FeedItem] {
        try await service.items(of: feed.number, after: after, limit: limit).items
    }

    // MARK: Receivers

    func addEndpoint(
        _ organisation: OrganisationID, state: EndpointState = .active, url: String = "https://example.org/hook"
    ) async throws -> Endpoint {
        let endpoint = Endpoint(
            id: .random(), organisation: organisation, state: state,
            details: .init(url: url, description: "", secrets: [.init(text: WebhookSecret.random().text)]),
            health: EndpointHealth(), createdAt: world.clock.now)
        try await store.write { [endpoints] db in
            try endpoints.insert(db, endpoint)
            try endpoints.join(db, endpoint.id, of: organisation)
        }
        return endpoint
    }

    func endpoint(_ id: WebhookEndpointID) async throws -> Endpoint {
        guard let found = try await store.read({ [endpoints] db in try endpoints.find(db, id) }) else { throw Absent() }
        return found
    }

    func worker(
        _ endpoint: Endpoint, places: DeliveryPermits = DeliveryPermits(), hand: @escaping WebhookDeliveryWorker.Hand
    ) -> WebhookDeliveryWorker {
        WebhookDeliveryWorker(
            endpoint.id, of: endpoint.organisation,
            on: WebhookDeliveryWorker.Dependencies(
                store: store, table: courierStore, hub: hub, hand: hand, places: places, clock: { [clock = world.clock] in clock.now },
                jitter: { 0 },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    }

    /// Turns until there is nothing to do at this time.
    func drain(_ worker: WebhookDeliveryWorker, _ lane: WebhookLane = .items) async throws {
        for _ in 0..<1000 {
            guard case .again = try await worker.turn(lane) else { return }
        }
    }
}
