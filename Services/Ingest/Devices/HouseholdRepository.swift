// Changing what a person's devices may do: one transaction, then memory, then the stream.

import Bus
import Contracts
import GRDB
import Logging
import ServiceKit
import Storage

/// The one way in which devices, tracking and pauses change.
struct HouseholdRepository: Sendable {
    let store: Store
    let registry: DeviceRegistry
    let relay: EventRelay
    private let table = DeviceStore()

    init(store: Store, registry: DeviceRegistry, relay: EventRelay) {
        (self.store, self.registry, self.relay) = (store, registry, relay)
    }

    /// Runs `body` in a transaction with the person as the store has them, then takes over what it made of them. `body` may append
    /// facts to the stream of devices; what it throws undoes everything.
    /// - Parameter locate: gives the person's number; it may add them.
    func change<Value: Sendable>(
        _ locate: @escaping @Sendable (Database) throws -> Int64,
        _ body: @escaping @Sendable (Database, Household, inout [EventRelay.Committed]) throws -> Value
    ) async throws -> Value {
        let changed: (value: Value, household: Household, order: Int64, facts: [EventRelay.Committed])
        do {
            changed = try await store.write { [table, registry] db in
                let number = try locate(db)
                guard let before = try table.household(db, of: number) else { throw KeyDestroyed() }
                var facts: [EventRelay.Committed] = []
                let value = try body(db, before, &facts)
                guard let after = try table.household(db, of: number) else { throw KeyDestroyed() }
                return (value, after, registry.nextOrder(), facts)
            }
        } catch let error as StoreError {
            await refresh(locate)
            throw error
        }
        registry.takeOver(changed.household, order: changed.order)
        for fact in changed.facts { relay.committed(fact) }
        return changed.value
    }

    func change<Value: Sendable>(
        _ number: Int64, _ body: @escaping @Sendable (Database, Household, inout [EventRelay.Committed]) throws -> Value
    ) async throws -> Value {
        try await change({ _ in number }, body)
    }

    /// After a commit that failed: memory may have been told of an end that did not come about.
    private func refresh(_ locate: @escaping @Sendable (Database) throws -> Int64) async {
        let found = try? await store.write { [table, registry] db in (try table.household(db, of: locate(db)), registry.nextOrder()) }
        if let found, let household = found.0 { registry.takeOver(household, order: found.1) }
    }

    /// Stores what a plan made of the devices' tracking.
    static func keep(_ db: Database, _ plan: TrackingPlan, of household: Household) throws {
        let table = DeviceStore()
        for source in plan.sources {
            guard let row = household.device(source.device), row.tracking != source.tracking else { continue }
            try table.setTracking(db, source.device, source.tracking)
        }
    }
}
