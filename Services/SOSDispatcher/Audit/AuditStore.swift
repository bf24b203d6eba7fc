// The audit chain on disk: added to in the transaction of what it tells of, and never changed. No other file writes to it.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

enum AuditStore {
    static let chain = AuditChain { Digest.sha256($0) }

    static func append(_ notes: [AuditNote], _ db: Database) throws {
        var last = try Row.fetchOne(db.cachedStatement(sql: "SELECT * FROM audit ORDER BY sequence DESC LIMIT 1"))
            .map(AuditRow.init)
        let insert = try db.cachedStatement(sql: "INSERT INTO audit (sequence, entry, previous, hash, object) VALUES (?, ?, ?, ?, ?)")
        for note in notes {
            let entry = AuditEntry(
                sequence: (last?.sequence ?? 0) + 1, at: note.at, actor: note.actor, action: note.action, object: note.object,
                detail: note.detail)
            let row = try chain.row(after: last, entry)
            try insert.execute(arguments: [row.sequence, row.entry, Data(row.previous), Data(row.hash), row.object])
            last = row
        }
    }
}

extension AuditStore {
    /// - Parameter places: numbers of rows.
    /// - Returns: the chain recomputed, and in hex the head that it had when it was so long, for those of `places` that it has reached.
    static func verify(_ db: Database, headsAt places: Set<Int64>) throws -> (verifier: AuditChain.Verifier, heads: [Int64: String]) {
        var verifier = AuditChain.Verifier(chain)
        var heads = [Int64(0): verifier.headText]
        let rows = try Row.fetchCursor(db, sql: "SELECT * FROM audit ORDER BY sequence")
        do {
            while let row = try rows.next() {
                if let read = AuditRow(readable: row) { verifier.check(read) } else { verifier.unreadable() }
                if places.contains(verifier.rows) { heads[verifier.rows] = verifier.headText }
            }
        } catch {
            // Whoever looks for what was changed wants to know where, whatever SQLite makes of it.
            verifier.unreadable()
        }
        return (verifier, heads)
    }
}

extension SOSStore {
    /// What was written down about one object, in order.
    func audit(of object: String) async throws -> [AuditEntry] {
        try await store.read { db in
            try String.fetchAll(db, sql: "SELECT entry FROM audit WHERE object = ? ORDER BY sequence", arguments: [object])
                .compactMap { try? JSONDecoder().decode(AuditEntry.self, from: Data($0.utf8)) }
        }
    }
}

extension AuditRow {
    /// nil where a column holds no value of its type: only a changed file has such rows.
    init?(readable row: Row) {
        let values: [DatabaseValue] = [row["sequence"], row["entry"], row["previous"], row["hash"], row["object"]]
        // By what each is stored as: text that was made a blob reads alike, and is a changed file all the same.
        guard case .int64(let sequence) = values[0].storage, case .string(let entry) = values[1].storage,
            case .blob(let previous) = values[2].storage, case .blob(let hash) = values[3].storage,
            case .string(let object) = values[4].storage
        else { return nil }
        self.init(sequence: sequence, entry: entry, previous: Array(previous), hash: Array(hash), object: object)
    }

    init(_ row: Row) {
        self.init(
            sequence: row["sequence"], entry: row["entry"], previous: Array(row["previous"] as Data), hash: Array(row["hash"] as Data),
            object: row["object"])
    }
}
