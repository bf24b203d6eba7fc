// What is done here when a person is erased: requests stay without the person, files go (ACC-31).

import Contracts
import GRDB
import ServiceKit

struct RequestErasureStore: Sendable {
    let table: RequestStore
    let files: DataFileStore
    let sealer: RequestSealer
    let keeper: RequestFileKeeper
    let memory: RequestMemory

    var steps: ErasureSteps {
        ErasureSteps(
            shut: { [sealer] order in
                // Where the account stays, its requests stay, and outlive the key that is about to go.
                if order.scope == .data { try await sealer.giveBack(order.person) }
            },
            delete: { [table, files] db, order in
                let removed = try files.delete(db, of: order.person)
                return try order.scope == .account ? removed + table.forget(db, order.person) : removed
            },
            finish: { [sealer, keeper, memory] order in
                memory.forget()
                try await keeper.sweep()
                sealer.takeAgain(order.person)
            },
            kept: "requests, without anything that tells whom they were about")
    }
}

/// Removes files that no row names any more.
struct RequestFileKeeper: Sendable {
    let sealedFiles: SealedFiles
    let known: @Sendable () async throws -> Set<JobID>

    func sweep() async throws {
        sealedFiles.sweep(keeping: try await known())
    }
}
