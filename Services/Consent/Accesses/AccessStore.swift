// SQL sentences about who read which data and when (SHR-24), as the services that hold the data have said it.

import Contracts
import Foundation
import GRDB
import Storage

/// One access, and the number under which it is listed.
struct StoredAccess: Sendable {
    let number: Int64
    let read: DataRead
    let at: Timestamp
}

/// `data_accesses`: rows are only ever added, one for each page that left.
struct AccessTable: Sendable {
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

    /// Nothing where the person is erased: what was read before may be told of after.
    func add(_ db: Database, _ read: DataRead, of person: PersonID, at: Timestamp) throws {
        try db.run(
            """
            INSERT INTO data_accesses (person, grant_id, organisation, metric, from_at, to_at, count, at)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE EXISTS (SELECT 1 FROM accounts WHERE subject = ?1)
            """
        ) { row in
            row.bytes(person.bytes)
            row.bytes(read.grant.bytes)
            row.bytes(read.organisation.bytes)
            row.integer(Int64(read.metric.number))
            row.integer(read.from.milliseconds)
            row.integer(read.to.milliseconds)
            row.integer(read.count)
            row.integer(at.milliseconds)
        }
    }

    /// Newest first, those before row `before`.
    func page(_ db: Database, of person: PersonID, before: Int64?, limit: Int) throws -> [StoredAccess] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT number, grant_id, organisation, metric, from_at, to_at, count, at FROM data_accesses
                    WHERE person = ? AND number < ? ORDER BY number DESC LIMIT ?
                    """), arguments: [Data(person.bytes), before ?? .max, limit]
        ).compactMap(StoredAccess.init)
    }

    /// A slice of the person's; part of erasing them.
    /// - Returns: how many; to be called again until it is none.
    func delete(_ db: Database, of person: PersonID) throws -> Int {
        var slice = DeletionSlice()
        try slice.delete(db, from: "data_accesses", where: "person = ?", [Data(person.bytes)])
        return slice.deleted
    }
}

extension StoredAccess {
    fileprivate init?(_ row: Row) {
        guard let grant = GrantID(bytes: row[1] as Data), let organisation = OrganisationID(bytes: row[2] as Data),
            let metric = Metric(number: row[3])
        else { return nil }
        let read = DataRead(
            grant: grant, organisation: organisation, metric: metric, from: Timestamp(milliseconds: row[4]),
            to: Timestamp(milliseconds: row[5]), count: row[6])
        self.init(number: row[0], read: read, at: Timestamp(milliseconds: row[7]))
    }
}
