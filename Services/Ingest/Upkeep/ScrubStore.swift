// Sentences for the scrub: chunks in the order of their ids, opened for nothing but to see whether they do.

import Contracts
import GRDB
import ServiceKit
import Storage

struct ScrubStore: Sendable {
    let vault: ChunkVault

    /// - Returns: the id of the last chunk that was scanned, nil where there is none left, and the ids of those that do not open.
    func scan(_ db: Database, after id: Int64, limit: Int) throws -> (last: Int64?, damaged: [Int64]) {
        let rows = try db.all("SELECT id, person FROM chunks WHERE id > ? ORDER BY id LIMIT ?") { row in
            row.integer(id)
            row.integer(Int64(limit))
        } read: {
            (id: $0.integer(0), person: $0.integer(1))
        }
        var damaged: [Int64] = []
        for row in rows {
            // Without a key there is nothing that could be read, and nothing that could be damaged. One that is damaged has been logged.
            guard let person = try DeviceStore().person(db, row.person), let key = try vault.keys.usableKey(of: person),
                let chunk = try vault.chunks.chunk(db, id: row.id)
            else { continue }
            if try vault.undamaged(chunk, { try vault.openTimes($0, of: person, key: key) }) == nil { damaged.append(row.id) }
        }
        return (rows.last?.id, damaged)
    }
}
