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
    let organisations: OrganisationRepository
    private let bills: BillStore
    private let key: SymmetricKey
    let world: World
    let endpoints: EndpointStore

    /// What outlives the harness.
    final class World: Sendable {
        let clock = SetClock()
        let ingest: SmallIngest
        let requests = Mutex<[RequestID: FeedScope]>([:])
        let silence = Mutex(Duration.zero)
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
        let logger = Running.quiet
        store = try Store.open(
            folder.appendingPathComponent("gateway.db"), applicationID: 7,
            migrations: GatewaySchema.migrations, logger: logger)
        keys = try PersonKeys(
            folder.appendingPathComponent("gateway-keys.db"), wrappedBy: KeyEncryptionKey(bytes: [UInt8](repeating: 7, count: 32)),
            settings: StoreSettings(), logger: logger)
        let (hub, clock) = (hub, world.clock)
        key = try SymmetricKey(bytes: [UInt8](repeating: 9, count: 32))
        (queue, bills) = (WebhookQueueStore(hub: hub), BillStore(key: key))
        organisations = OrganisationRepository(
            table: OrganisationStore(
                key: key, names: LookupKey(key, purpose: "names"), vatNumbers: LookupKey(key, purpose: "numbers"),
                addresses: LookupKey(key, purpose: "addresses")),
            outbox: MessageOutbox(in: store, sealedUnder: key, logger: logger) { _ in })
        repository = SubscriptionRepository(bills: bills, queue: queue, keep: .seconds(7 * 86_400), clock: { clock.now })
        let gate = FeedGate { world.silence.withLock { $0 } }
        reading = FeedReading(
            store: store, keys: keys, hub: hub,
            table: FeedReadingStore(keys: keys, bills: bills), clock: { clock.now }, logger: logger
        ) { try await world.ingest.answer($0, world.grants) }
        service = SubscriptionService(store: store, keys: keys, gate: gate, hub: hub, clock: { clock.now }) { question, _ in
            world.stopped.withLock { $0.append(question.request) }
        }
        upkeep = FeedUpkeep(store: store, keep: .seconds(7 * 86_400), clock: { clock.now }, logger: logger)
        endpoints = EndpointStore(key: key)
        courierStore = WebhookDeliveryStore(
            queue: queue, endpoints: endpoints, rendering: WebhookRenderingStore(keys: keys) { clock.now }, gate: gate,
            organisations: organisations, schedule: WebhookSchedule())
        self.world = world
    }

    func close() async {
        await store.close()
        await keys.close()
    }

    static func run<Value>(_ body: (FeedHarness) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in try await run(in: folder, World(), body) }
    }

    static func runWithFeed<Value>(_ body: (FeedHarness, Feed) async throws -> Value) async throws -> Value {
        try await run { harness in try await body(harness, harness.subscribe()) }
    }

    static func run<Value>(in folder: URL, _ world: World, _ body: (FeedHarness) async throws -> Value) async throws -> Value {
        try await withHarness(FeedHarness(folder, world), body) { await $0.close() }
    }

    // MARK: What happens

    /// A granted request, and a paid one unless told otherwise; its subscription runs.
    func subscribe(
        _ organisation: OrganisationID = .random(), types: [Metric] = [.heartRate], _ granularity: GrantGranularity = .seconds,
        past: Duration = .seconds(3600), ahead: Duration = .seconds(30 * 86_400), isPaid: Bool = true
    ) async throws -> Feed {
        let now = world.clock.now
        let scope = FeedScope(
            request: .random(), organisation: organisation, person: .random(), grant: .random(), types: types, from: now - past,
            to: now + ahead, granularity: granularity, isSubscription: ahead > .zero)
        world.requests.withLock { $0[scope.request] = scope }
        try await store.write { [repository, organisations, bills] db in
            try organisations.put(db, organisation)
            try RequestStore().add(db, MadeRequest(approved: scope, at: now))
            try bills.put(db, of: scope.request, organisation, Amount(minor: isPaid ? 0 : 500, currency: "EUR"))
            try repository.begin(db, scope.request)
        }
        return try await feed(scope.request)
    }

    func isDelivered(_ feed: Feed) async throws -> Bool? {
        try await store.read { [bills] db in try bills.isDelivered(db, feed.request) }
    }

    /// To owners of endpoints.
    func mails() async throws -> [MessageTemplate] {
        let mails = try await store.read { [key] db in try OrganisationRepository.waitingMails(db, sealedUnder: key) }
        for mail in mails { precondition(Set(mail.values.keys) == mail.template.values) }
        return mails.map(\.template)
    }

    func set(_ organisation: OrganisationID, _ state: OrganisationState) async throws {
        try await store.write { [organisations] db in try organisations.table.setState(db, organisation, state, at: .now) }
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
        try await store.write { [repository] db in try repository.receive(db, state) }
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
        try await store.write { [endpoints, organisations] db in
            try organisations.put(db, organisation)
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
        _ endpoint: Endpoint, permits: DeliveryPermits = DeliveryPermits(), transport: @escaping WebhookDeliveryWorker.Transport
    ) -> WebhookDeliveryWorker {
        WebhookDeliveryWorker(
            endpoint.id, of: endpoint.organisation,
            on: WebhookDeliveryWorker.Dependencies(
                store: store, table: courierStore, hub: hub, transport: transport, permits: permits,
                clock: { [clock = world.clock] in clock.now },
                jitter: { 0 }, logger: Running.quiet))
    }

    /// Turns until there is nothing to do at this time.
    func drain(_ worker: WebhookDeliveryWorker, _ channel: WebhookChannel = .items) async throws {
        for _ in 0..<1000 {
            guard case .again = try await worker.turn(channel) else { return }
        }
    }
}
