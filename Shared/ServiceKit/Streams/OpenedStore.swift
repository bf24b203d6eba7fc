// A service's store as every service opens it: with its people's keys, its memory of answers and its voice on the bus.

import Bus
package import Contracts
import Foundation
package import GRDB
import Logging
package import ServiceLifecycle
package import Storage

/// Opened once, first of all parts. The store's schema must hold StreamLog, Confirmations and AnswerTable.
package struct OpenedStore: Sendable {
    /// Closed by `parts`, as `keys` are, after everything that uses it.
    package let store: Store
    package let keys: PersonKeys
    package let answers: StoredAnswers
    /// Of all its streams: made with the store, another one after a restore.
    package let epoch: String
    private let heads: [String: Int64]
    /// Nil where the schema does not hold it.
    private let life: StoreLife?
    private let runtime: Runtime

    /// A store whose schema holds `StoreLife` notices that it was restored from a copy, and begins a new epoch then.
    /// - Parameter restored: what else it has to begin anew, in the transaction of the new epoch.
    /// - Throws: where the store, its keys or a migration cannot be opened; the service must not start then.
    package init(
        on runtime: Runtime, applicationID: Int32, migrations: [Migration],
        restored: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws {
        (store, keys) = try runtime.openWhole(applicationID: applicationID, migrations: migrations)
        (life, _) = try await runtime.beginLife(of: store, restored: restored)
        answers = try runtime.answers(in: store)
        (epoch, heads) = try await store.read { db in (try StreamLog().epoch(db), try StreamLog().heads(db)) }
        self.runtime = runtime
    }

    /// The way of a family's committed facts to the wire; its publisher is open when this returns.
    package func relay(of family: StreamFamily) async throws -> EventRelay {
        let own = Dictionary(uniqueKeysWithValues: family.streams.map { ($0, heads[$0] ?? 0) })
        return EventRelay(publisher: try await runtime.publisher(of: family, epoch: epoch, heads: own), heads: own)
    }

    /// What closes last and what forgets: goes before all other parts.
    package func parts(publishing families: [StreamFamily]) -> [any Service] {
        [
            ClosedLast { [store, keys] in
                await store.close()
                await keys.close()
            },
            Background(LogRetention(families: families, store: store, retention: runtime.settings.logRetention).run),
            Background(answers.expire),
            Background(keys.keepBackups),
        ] + (life.map { [store] life in [Background { try await life.run(store) }] } ?? [])
    }
}

extension Runtime {
    /// For those who open their store themselves: as `OpenedStore`. Before anything reads the epoch; then run what it gives.
    /// - Returns: nil where the schema does not hold `StoreLife`; and whether the store was restored.
    package func beginLife(
        of store: Store, restored: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws -> (life: StoreLife?, isRestored: Bool) {
        guard try await store.read({ db in try StoreLife.isKept(in: db) }) else { return (nil, false) }
        let life = StoreLife(beside: storeFile)
        let isRestored = try await life.begin(store) { db in
            try StreamLog().renewEpoch(db)
            try restored(db)
        }
        if isRestored { logger.warning("the store was restored from a copy, or its log (-wal) was removed: it begins a new epoch") }
        return (life, isRestored)
    }
}
