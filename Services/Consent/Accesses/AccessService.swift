// Records what the holders of data say was read, for the person's eyes, in a store of its own: it may be two thousand reads a second, and
// log-ins wait for none of them.

import Bus
import Contracts
import ServiceKit
import Storage

/// Follows `ingest.accesses`, counts each fact once, and lists what was read beside the request that allowed it.
struct AccessService: Sendable {
    /// Reads are gathered so long while they are few. Where they are many, a batch is full and the next one is taken at once.
    private static let gathering = Duration.milliseconds(100)
    private static let many = BusLimits.batch / 2
    /// From one round of folding and pruning to the next.
    private static let pollInterval = Duration.seconds(30)

    let store: Store
    private let consent: Store
    private let sharing: SharingRepository
    private let move: AccessMoveStore
    private let retention: Duration
    private let clock: @Sendable () -> Timestamp
    private let table: AccessStore
    private let requests = SharingStore()

    /// - Parameters:
    ///   - store: of `AccessStore.migrations`.
    ///   - consent: where accounts and requests are.
    ///   - retention: of the counts by the hour.
    init(
        store: Store, consent: Store, sharing: SharingRepository, retention: Duration, clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.store, self.consent, self.sharing, self.retention, self.clock) = (store, consent, sharing, retention, clock)
        table = AccessStore(beside: consent)
        move = AccessMoveStore(from: consent, to: store)
    }

    // MARK: Recording

    /// Follows from where the store stands; the position is in the same store as the rows. `AccessMoveStore.begin` goes before.
    func follower(on runtime: Runtime) -> Follower {
        Follower(family: .accesses, on: runtime, store: store) { [table] db, event in
            try table.apply(db, event)
        } after: { events in
            guard events.count < Self.many else { return }
            // The interval of gathering: what is not recorded yet is in the log of who said it.
            try? await Task.sleep(for: Self.gathering)
        }
    }

    // MARK: Keeping

    /// Moves what earlier versions kept in consent.db, folds single reads of more than a day ago into hours, and prunes; until it is
    /// cancelled.
    func run() async throws {
        try await eraseStrangers()
        while true {
            while try await move.step() { try await fold() }
            try await fold()
            try await prune()
            // The poll interval: what is folded or pruned half a minute later is missed by nobody.
            try await Task.sleep(for: Self.pollInterval)
        }
    }

    /// What was erased once is not kept because a copy of this file alone was restored.
    func eraseStrangers() async throws {
        var last: Int64? = 0
        while let after = last {
            let found = try await store.read { [table] db in try table.strangers(db, after: after) }
            for person in found.people { while try await store.write({ [table] db in try table.erase(db, person) }) > 0 {} }
            last = found.last
        }
    }

    func fold() async throws {
        let now = clock()
        while try await store.write({ [table] db in try table.fold(db, at: now) }) > 0 {}
    }

    func prune() async throws {
        let oldest = clock() - retention
        while try await store.write({ [table] db in try table.prune(db, before: oldest) }) > 0 {}
    }

    /// For the erasure of a person: what was read of them goes with their account.
    var erasure: FurtherStore {
        FurtherStore(name: "consent-accesses.db", store: store) { [table] db, order in
            try order.scope == .account ? table.erase(db, order.person) : 0
        } kept: { order in
            order.scope == .account ? nil : "who read which data: it belongs to the account"
        }
    }

    // MARK: Listing

    /// Newest first, each with the name of who read it as far as it is known.
    func page(
        of person: PersonID, after place: AccessPlace?, limit: Int
    ) async throws -> (items: [(RecordedAccess, RequestDetails?)], next: AccessPlace?) {
        let found = try await store.read { [table] db in try table.page(db, of: person, after: place, limit: limit + 1) }
        let listed = found.prefix(limit)
        let details = try await consent.read { [self] db in
            var known: [GrantID: RequestDetails] = [:]
            for grant in Set(listed.map(\.read.grant)) {
                guard let row = try requests.find(db, grant: grant), row.request.person == person else { continue }
                known[grant] = try sharing.details(of: row)
            }
            return known
        }
        return (listed.map { ($0, details[$0.read.grant]) }, found.count > limit ? listed.last?.place : nil)
    }
}
