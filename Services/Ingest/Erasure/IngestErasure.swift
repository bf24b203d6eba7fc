// Ingest's part in erasing a person: everything that was measured, and with the account the person and the devices too.

import Contracts
import Sealing
import ServiceKit
import Storage

struct IngestErasure: Sendable {
    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry
    let tables: PersonErasureStore

    init(store: Store, vault: ChunkVault, registry: DeviceRegistry, tables: PersonErasureStore) {
        (self.store, self.vault, self.registry, self.tables) = (store, vault, registry, tables)
    }

    var steps: ErasureSteps {
        ErasureSteps(
            shut: { order in
                // Of data alone the destroyed key is the gate: uploads wait until there is a new one.
                if order.scope == .account { registry.forget(order.person) }
            },
            delete: { [tables] db, order in try tables.erase(db, order.person, scope: order.scope) },
            streams: { order in
                let collected =
                    [StreamFamily.samplesStream(of: order.person)] + StreamFamily.accesses.streams + StreamFamily.arrivals.streams
                    + StreamFamily.cohortHours.streams
                return order.scope == .account ? collected + StreamFamily.devices.streams : collected
            },
            finish: { try await finish($0) }, kept: "first answers to repeated questions, sealed, gone within 24 hours")
    }

    private func finish(_ order: PersonErased) async throws {
        guard order.scope == .data else { return registry.forget(order.person) }
        guard registry.number(of: order.person) != nil else { return }
        let key = try vault.key(of: order.person)
        try await store.write { [tables, vault] db in
            try tables.rename(db, order.person) { text, place in
                try vault.seal(text: Array(text.utf8), at: place, of: order.person, key: key)
            }
        }
    }
}
