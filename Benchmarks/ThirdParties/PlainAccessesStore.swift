// The reference for the record of accesses: SQLite alone, on the same disk, with the same rows in commits of the same size.

import Foundation
import GRDB

struct PlainAccessesStore {
    private static let table = "accesses"
    private static let columns = "person, access_grant, metric, from_at, to_at, count, at"

    /// consent-accesses.db; consent must not run.
    let recorded: URL

    /// Writes the last `count` rows into a new file with consent's own table and index, flushed at each commit as consent's are.
    /// - Returns: rows a second.
    func rate(_ count: Int, batch: Int, in folder: URL) throws -> Double {
        let (schema, rows) = try recordedRows(count)
        guard rows.count == count else { throw BenchmarkError("\(recorded.path) holds \(rows.count) of \(count) accesses") }
        let file = folder.appendingPathComponent("plain-\(UUID().uuidString).db")
        let queue = try DatabaseQueue(path: file.path)
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
            for sentence in schema { try db.execute(sql: sentence) }
        }
        let places = Array(repeating: "?", count: rows[0].count).joined(separator: ", ")
        let begun = ContinuousClock.now
        for first in stride(from: 0, to: rows.count, by: batch) {
            try queue.write { db in
                let insert = try db.cachedStatement(sql: "INSERT INTO \(Self.table) (\(Self.columns)) VALUES (\(places))")
                for row in rows[first..<min(first + batch, rows.count)] { try insert.execute(arguments: StatementArguments(row)) }
            }
        }
        return Double(rows.count) / (ContinuousClock.now - begun).inSeconds
    }

    private func recordedRows(_ count: Int) throws -> (schema: [String], rows: [[Int64]]) {
        let queue = try DatabaseQueue(path: recorded.path)
        defer { try? queue.close() }
        return try queue.read { db in
            let schema = try String.fetchAll(
                db, sql: "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY rowid", arguments: [Self.table])
            let found = try GRDB.Row.fetchAll(
                db, sql: "SELECT \(Self.columns) FROM \(Self.table) ORDER BY number DESC LIMIT ?", arguments: [count])
            let rows = found.reversed().map { row -> [Int64] in (0..<row.count).map { row[$0] as Int64 } }
            return (schema, rows)
        }
    }
}
