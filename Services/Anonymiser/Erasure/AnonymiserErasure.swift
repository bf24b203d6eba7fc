// The anonymiser's part in an erasure: what stands in columns over many people is overwritten before it is confirmed.

import Contracts
import ServiceKit
import Storage

/// Nothing here is sealed under a key of one person, so that nothing is gone with a key.
struct AnonymiserErasure: Sendable {
    /// Chunks that are looked at between two transactions.
    private static let looked = 64
    /// Chunks that one transaction overwrites.
    private static let overwritten = 8

    let store: Store
    let stores: Population.Stores
    let profiles: ProfileRepository
    /// Clears a row in what is kept of groups that were asked about.
    let clearGroups: @Sendable (_ row: Int) async throws -> Void

    var steps: ErasureSteps {
        ErasureSteps(
            shut: { order in
                let row = try await store.write { [profiles] db in try profiles.shut(db, order) }
                // Before the row is forgotten, so that a crash in between begins it again.
                if let row {
                    try await overwrite(row)
                    try await clearGroups(row.row)
                }
            },
            destroysKey: { _ in false },
            delete: { [profiles] db, order in try profiles.erase(db, order) }, keptKey: nil)
    }

    /// What all chunks hold of the row from before it is erased.
    func overwrite(_ row: CohortRow) async throws {
        let (chunk, number) = row.row.quotientAndRemainder(dividingBy: BitmapChunk.rows)
        var last: ChunkPlace?
        while true {
            try Task.checkCancellation()
            let (page, holding) = try await store.read { [chunks = stores.chunks, last] db in
                let page = try chunks.places(db, chunk: chunk, after: last, limit: Self.looked)
                let holding = try page.filter { place in
                    guard place.isErased(until: row.erasedUntil), let bytes = try chunks.read(db, place) else { return false }
                    return try ChunkStore.removing(number, place.kind, from: bytes) != .absent
                }
                return (page, holding)
            }
            guard let end = page.last else { return }
            for start in stride(from: 0, to: holding.count, by: Self.overwritten) {
                let places = Array(holding[start..<min(start + Self.overwritten, holding.count)])
                try await store.write { [profiles] db in
                    for place in places { try profiles.overwrite(db, number, at: place) }
                }
            }
            last = end
        }
    }
}
