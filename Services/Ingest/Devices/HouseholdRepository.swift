// Changing what a person's devices may do: one transaction, and what follows its commit: the stream, then memory.

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
    private let table = DeviceStore()

    init(store: Store, registry: DeviceRegistry) {
        (self.store, self.registry) = (store, registry)
    }

    /// Runs `body` in a transaction with the person as the store has them; what it made of them is in memory when this returns. What it
    /// throws undoes everything.
    /// - Parameter locate: gives the person's number; it may add them.
    func change<Value: Sendable>(
        _ locate: @escaping @Sendable (Database) throws -> Int64,
        _ body: @escaping @Sendable (Database, Household) throws -> Value
    ) async throws -> Value {
        do {
            return try await store.write { [table, registry] db in
                let number = try locate(db)
                guard let before = try table.household(db, of: number) else { throw KeyDestroyed() }
                let value = try body(db, before)
                guard let after = try table.household(db, of: number) else { throw KeyDestroyed() }
                db.afterCommit { registry.takeOver(after) }
                return value
            }
        } catch let error as StoreError {
            await refresh(locate)
            throw error
        }
    }

    func change<Value: Sendable>(
        _ number: Int64, _ body: @escaping @Sendable (Database, Household) throws -> Value
    ) async throws -> Value {
        try await change({ _ in number }, body)
    }

    /// After a commit that failed: memory may hold an end that was rolled back.
    private func refresh(_ locate: @escaping @Sendable (Database) throws -> Int64) async {
        try? await store.write { [table, registry] db in
            if let household = try table.household(db, of: locate(db)) { db.afterCommit { registry.takeOver(household) } }
        }
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
