// SQL sentences about released tables: kept once for everybody, and seen by each organisation under a key of its own.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// What is known of a table without opening it.
struct KeptTable: Hashable, Sendable {
    let entries: Int
    /// σ² of the noise on its counts; 0 for what has none.
    let variance: Int
}

struct GroupTableStore: Sendable {
    /// The service's own.
    let key: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE group_tables (
                    digest BLOB NOT NULL PRIMARY KEY,
                    entries INTEGER NOT NULL,
                    variance INTEGER NOT NULL,
                    sealed BLOB NOT NULL
                ) STRICT;
                CREATE TABLE group_table_keys (
                    organisation BLOB NOT NULL,
                    digest BLOB NOT NULL,
                    sealed BLOB NOT NULL,
                    PRIMARY KEY (organisation, digest)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE group_recoding_steps (
                    digest BLOB PRIMARY KEY,
                    step INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    // MARK: Content

    /// By digest; those that were never released are not among them.
    func kept(_ db: Database, _ digests: [[UInt8]]) throws -> [[UInt8]: KeptTable] {
        var kept: [[UInt8]: KeptTable] = [:]
        for digest in digests {
            let row = try Row.fetchOne(
                db.cachedStatement(sql: "SELECT entries, variance FROM group_tables WHERE digest = ?"), arguments: [Data(digest)])
            guard let row else { continue }
            guard let entries: Int = row.value(0), let variance: Int = row.value(1) else { throw DamagedRelease(table: "group_tables") }
            kept[digest] = KeptTable(entries: entries, variance: variance)
        }
        return kept
    }

    func add(_ db: Database, _ table: NewTable) throws {
        let sealed = try Seal.seal(table.bytes, key: key, context: Self.context(table.digest))
        try db.cachedStatement(sql: "INSERT INTO group_tables (digest, entries, variance, sealed) VALUES (?, ?, ?, ?)")
            .execute(arguments: [Data(table.digest), table.kept.entries, table.kept.variance, Data(sealed)])
    }

    /// Nil for one that was never released.
    /// - Throws: `SealingError`, `ByteFieldReader.Fault` where the file is damaged.
    func table(_ db: Database, _ digest: [UInt8]) throws -> StoredTable? {
        let sealed = try Data.fetchOne(
            db.cachedStatement(sql: "SELECT sealed FROM group_tables WHERE digest = ?"), arguments: [Data(digest)])
        return try sealed.map { try TableCodec.table(Seal.open($0, key: key, context: Self.context(digest))) }
    }

    private static func context(_ digest: [UInt8]) -> [UInt8] {
        Array("group_tables.sealed ".utf8) + digest
    }

    // MARK: Who has seen it

    /// Those of the tables that the organisation was given before.
    func seen(_ db: Database, by organisation: OrganisationID, _ digests: [[UInt8]]) throws -> Set<[UInt8]> {
        try Set(
            digests.filter { digest in
                try Bool.fetchOne(
                    db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM group_table_keys WHERE organisation = ? AND digest = ?)"),
                    arguments: [organisation, Data(digest)]) ?? false
            })
    }

    /// The organisation is given the table: its key is drawn now and never again.
    func show(_ db: Database, _ digest: [UInt8], to organisation: OrganisationID) throws {
        let sealed = try Seal.seal(Random.bytes(SymmetricKey.length), key: key, context: Self.context(digest, organisation))
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO group_table_keys (organisation, digest, sealed) VALUES (?, ?, ?)")
            .execute(arguments: [organisation, Data(digest), Data(sealed)])
    }

    /// Nil where it was never given the table.
    func view(_ db: Database, _ digest: [UInt8], of organisation: OrganisationID) throws -> TableView? {
        let sealed = try Data.fetchOne(
            db.cachedStatement(sql: "SELECT sealed FROM group_table_keys WHERE organisation = ? AND digest = ?"),
            arguments: [organisation, Data(digest)])
        return try sealed.map {
            TableView(key: try SymmetricKey(bytes: Seal.open($0, key: key, context: Self.context(digest, organisation))))
        }
    }

    private static func context(_ digest: [UInt8], _ organisation: OrganisationID) -> [UInt8] {
        Array("group_table_keys.sealed \(organisation) ".utf8) + digest
    }

    // MARK: How coarse

    /// The step of the recoding path that was chosen for these filters, attributes and granularity.
    func step(_ db: Database, _ digest: [UInt8]) throws -> Int? {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT step FROM group_recoding_steps WHERE digest = ?"), arguments: [Data(digest)])
    }

    /// The first one counts.
    func keep(_ db: Database, step: Int, _ digest: [UInt8]) throws {
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO group_recoding_steps (digest, step) VALUES (?, ?)")
            .execute(arguments: [Data(digest), step])
    }
}
