// Sharing put together: requests, grants, policy, receipts and the record of accesses.

import Bus
import Contracts
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

/// For consent's assembly and for tests.
struct SharingModule: Sendable {
    /// What the service has opened before.
    struct Dependencies: Sendable {
        let store: Store
        let keys: PersonKeys
        let answers: StoredAnswers
        let epoch: String
        let outbox: MessageOutbox
        let relays: SharingRelays
        /// Of `AccessMoveStore.open`.
        let accesses: Store
    }

    let service: SharingService
    let policy: PolicyService
    let closing: SharingClosingStore
    let expiry: SharingExpiry
    let receipts: ReceiptRoutes
    let accesses: AccessService
    let accessFollower: Follower
    private let events: SharingEventStore

    init(
        on dependencies: Dependencies, settings: SharingSettings, people: SharingPersonStore, runtime: Runtime,
        clock: @escaping @Sendable () -> Timestamp = { .now }
    ) throws {
        let receiptService = ReceiptService(try SigningKey(seed: runtime.secret("receipts.seed")))
        let events = SharingEventStore(epoch: dependencies.epoch, keys: dependencies.keys, relays: dependencies.relays)
        let repository = SharingRepository(
            events: events, receipts: receiptService, people: people, keys: dependencies.keys, outbox: dependencies.outbox)
        service = SharingService(
            store: dependencies.store, settings: settings, repository: repository, answers: dependencies.answers,
            unknownCodes: try runtime.lookupKey(for: "unknown-fiscal-code"), logger: runtime.logger, clock: clock)
        policy = PolicyService(store: dependencies.store, sharing: service)
        closing = SharingClosingStore(repository: repository)
        expiry = SharingExpiry(service: service)
        receipts = ReceiptRoutes(store: dependencies.store, service: receiptService, people: people, keys: dependencies.keys)
        accesses = AccessService(
            store: dependencies.accesses, consent: dependencies.store, sharing: repository, retention: settings.accessTime, clock: clock)
        accessFollower = accesses.follower(on: runtime)
        self.events = events
    }

    var routes: [Route] {
        SharingRoutes(service: service, policy: policy).all + receipts.all + AccessRoutes(service: accesses).all
    }

    func register(in methods: inout Methods) {
        SharingBusRoutes(service: service).register(in: &methods)
    }

    /// What runs in the background: the clock of requests, and what the holders of data say was read.
    var services: [any Service] {
        [Background(expiry.run), Background(accessFollower.run), Background(accesses.run)]
    }

    // MARK: For the service's one StreamSource

    static let families: [StreamFamily] = [.grants, .requests]

    /// A row of either family's stream as it was published; nil where the person's key is gone.
    func render(_ row: StreamRow) throws -> [UInt8]? {
        try events.render(row)
    }

    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        try await service.store.read { [events] db in try events.snapshot(db, asked) }
    }
}
