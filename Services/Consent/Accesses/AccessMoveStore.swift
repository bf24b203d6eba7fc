// What earlier versions kept of accesses in consent.db, and how it comes into the store that they have now.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// `data_accesses` of consent.db, which nothing is added to any more; and `access_store`, by which it is known there that another store
/// has been made.
struct EarlierAccesses: Sendable {
    struct Row: Sendable {
        let number: Int64
        let person: PersonID
        let read: DataRead
        let at: Timestamp
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE data_accesses (
                    number INTEGER PRIMARY KEY,
                    person BLOB NOT NULL,
                    grant_id BLOB NOT NULL,
                    organisation BLOB NOT NULL,
                    metric INTEGER NOT NULL,
                    from_at INTEGER NOT NULL,
                    to_at INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX data_accesses_by_person ON data_accesses (person, number);
                """)
    }

    static func createMark(in db: Database) throws {
        try db.execute(sql: "CREATE TABLE access_store (one INTEGER PRIMARY KEY CHECK (one = 1)) STRICT")
    }

    /// From now on a store of accesses belongs to this one.
    /// - Returns: whether one did before.
    func mark(_ db: Database) throws -> Bool {
        try db.execute(sql: "INSERT OR IGNORE INTO access_store VALUES (1)")
        return db.changesCount == 0
    }

    /// A slice of the oldest; rows that cannot be read any more are left out.
    /// - Returns: also the number of the slice's last row; nil where there is none left.
    func oldest(_ db: Database) throws -> (rows: [Row], last: Int64?) {
        let found = try GRDB.Row.fetchAll(
            db,
            sql: """
                SELECT number, person, grant_id, organisation, metric, from_at, to_at, count, at FROM data_accesses
                ORDER BY number LIMIT \(DeletionSlice.rows)
                """)
        let rows = found.compactMap { row -> Row? in
            guard let person: PersonID = row.value(1), let grant: GrantID = row.value(2),
                let organisation: OrganisationID = row.value(3), let metric = Metric(number: row[4])
            else { return nil }
            let read = DataRead(grant: grant, organisation: organisation, metric: metric, from: row[5], to: row[6], count: row[7])
            return Row(number: row[0], person: person, read: read, at: row[8])
        }
        return (rows, found.last.map { $0[0] as Int64 })
    }

    func highest(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(number) FROM data_accesses") ?? 0
    }

    func delete(_ db: Database, through number: Int64) throws {
        var slice = DeletionSlice()
        try slice.delete(db, from: "data_accesses", where: "number <= ?", [number])
    }

    /// A slice of the person's; part of erasing them.
    /// - Returns: how many; to be called again until it is none.
    func delete(_ db: Database, of person: PersonID) throws -> Int {
        var slice = DeletionSlice()
        try slice.delete(db, from: "data_accesses", where: "person = ?", [person])
        return slice.deleted
    }
}

/// Moves `data_accesses`, oldest first, a slice at a time: into the new store with the number up to which it has come, then out of the old
/// one. Killed between the two, or where an older copy of consent.db was restored, it finds by the number what it has moved before.
struct AccessMoveStore: Sendable {
    private let old: Store
    private let new: Store
    private let earlier = EarlierAccesses()
    private let positions = ConsumerPositions()

    init(from old: Store, to new: Store) {
        (self.old, self.new) = (old, new)
    }

    /// Opens the store of accesses beside consent's own. A store that is new takes over the position in the stream, and its numbers begin
    /// behind those of the rows that are to be moved.
    static func open(on runtime: Runtime, beside consent: Store) async throws -> Store {
        let (store, isNew) = try runtime.openStore(
            named: "accesses", applicationID: AccessStore.applicationID, migrations: AccessStore.migrations)
        try await AccessMoveStore(from: consent, to: store).begin()
        let hadOne = try await consent.write { db in try EarlierAccesses().mark(db) }
        if isNew, hadOne {
            runtime.faults.note(
                "\(runtime.storeFile(named: "accesses").path) was missing, and was begun anew without what was recorded of accesses: "
                    + "stop the service and put it back from its backup")
        }
        return store
    }

    func begin() async throws {
        let (position, highest) = try await old.read { [positions, earlier] db in
            (try positions.load(db).filter { StreamFamily.accesses.streams.contains($0.stream) }, try earlier.highest(db))
        }
        try await new.write { [positions] db in
            // Where it stands in the stream already it goes on there.
            guard try positions.load(db).isEmpty, try Int64.fetchOne(db, sql: "SELECT max(number) FROM accesses") == nil else { return }
            try db.execute(sql: "DELETE FROM sqlite_sequence WHERE name = 'accesses'")
            try db.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('accesses', ?)", arguments: [highest])
            try positions.save(db, position)
        }
    }

    /// Moves a slice.
    /// - Returns: whether there was one; to be called again until there is none.
    func step() async throws -> Bool {
        let (rows, last) = try await old.read { [earlier] db in try earlier.oldest(db) }
        guard let last else { return false }
        let table = AccessStore(beside: old)
        try await new.write { db in
            let through = try Int64.fetchOne(db, sql: "SELECT through FROM access_moves") ?? 0
            for row in rows where row.number > through { try table.add(db, row.read, of: row.person, at: row.at, number: row.number) }
            try db.execute(sql: "UPDATE access_moves SET through = ?", arguments: [max(last, through)])
        }
        try await old.write { [earlier] db in try earlier.delete(db, through: last) }
        return true
    }
}
