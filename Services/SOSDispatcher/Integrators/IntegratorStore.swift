// SQL sentences of the integrators' table.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// Each row is sealed under a key of the service's own: it holds secrets, and tells of no person.
struct IntegratorStore: Sendable {
    struct Entry: Codable, Sendable {
        var record: IntegratorRecord
        var streamPort: Int
        var isRetired: Bool
    }

    let key: SymmetricKey

    func all(_ db: Database) throws -> [Entry] {
        try Row.fetchAll(db, sql: "SELECT * FROM integrators ORDER BY name").map(entry)
    }

    func find(_ db: Database, _ name: String) throws -> Entry? {
        try Row.fetchOne(db, sql: "SELECT * FROM integrators WHERE name = ?", arguments: [name]).map(entry)
    }

    /// Inserts or replaces; returns it with its port, which it keeps for ever.
    func save(_ db: Database, _ record: IntegratorRecord, retired: Bool) throws -> Entry {
        let name = record.settings.name
        let next = try Int.fetchOne(
            db, sql: "SELECT coalesce(max(stream_port) + 1, ?) FROM integrators",
            arguments: [
                StreamFamily.firstDispatchPort
            ])
        let sealed = try Seal.seal(JSONEncoder().encode(record), key: key, context: context(name))
        try db.execute(
            sql: """
                INSERT INTO integrators (name, sealed, stream_port, retired) VALUES (?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, retired = excluded.retired
                """, arguments: [name, Data(sealed), next, retired])
        let port = try Int.fetchOne(db, sql: "SELECT stream_port FROM integrators WHERE name = ?", arguments: [name])
        return Entry(record: record, streamPort: port ?? StreamFamily.firstDispatchPort, isRetired: retired)
    }

    private func entry(_ row: Row) throws -> Entry {
        let name: String = row["name"]
        let plain = try Seal.open(row["sealed"] as Data, key: key, context: context(name))
        return Entry(
            record: try JSONDecoder().decode(IntegratorRecord.self, from: Data(plain)), streamPort: row["stream_port"],
            isRetired: row["retired"])
    }

    private func context(_ name: String) -> [UInt8] { Array("integrators|\(name)".utf8) }
}

extension IntegratorStore.Entry {
    /// As the other dispatcher is told it, secrets included: it calls the same services.
    func noted() throws -> String { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }

    init(noted text: String) throws {
        self = try JSONDecoder().decode(IntegratorStore.Entry.self, from: Data(text.utf8))
    }
}
