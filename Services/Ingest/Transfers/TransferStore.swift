// SQL sentences about exports and imports: jobs that outlive the request that began them. What was asked and what came of it is
// sealed; the files lie beside the store (SealedFiles).

import Contracts
import Foundation
import GRDB
import Storage

enum TransferKind: Int, CaseIterable, Sendable {
    case export = 1
    case imported = 2
}

enum TransferState: Int, Sendable {
    /// Waiting, or being worked on.
    case open = 0
    case done = 1
    case failed = 2
    /// Its files are gone, because they have expired or the person removed them.
    case removed = 3
}

/// One job as the store has it.
struct TransferRow: Sendable {
    let number: Int64
    let job: JobID
    let person: Int64
    let kind: TransferKind
    let state: TransferState
    let createdAt: Timestamp
    let endedAt: Timestamp?
    /// `TransferRequest`, sealed.
    let request: [UInt8]
    /// What has come of it so far, sealed; nil where nothing has.
    let result: [UInt8]?
}

struct TransferStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE transfers (
                    number INTEGER PRIMARY KEY,
                    job BLOB NOT NULL UNIQUE,
                    person INTEGER NOT NULL REFERENCES people (number),
                    kind INTEGER NOT NULL,
                    state INTEGER NOT NULL DEFAULT 0,
                    created_at INTEGER NOT NULL,
                    ended_at INTEGER,
                    request BLOB NOT NULL,
                    result BLOB
                ) STRICT;
                CREATE INDEX transfers_by_person ON transfers (person, kind, number);
                CREATE INDEX transfers_open ON transfers (kind, number) WHERE state = 0;
                """)
    }

    private static let columns = "SELECT number, job, person, kind, state, created_at, ended_at, request, result FROM transfers"

    func add(_ db: Database, _ job: JobID, of person: Int64, _ kind: TransferKind, request: [UInt8], at: Timestamp) throws {
        try db.cachedStatement(sql: "INSERT INTO transfers (job, person, kind, created_at, request) VALUES (?, ?, ?, ?, ?)")
            .execute(arguments: [job, person, kind.rawValue, at, Data(request)])
    }

    func find(_ db: Database, _ job: JobID, of person: Int64, _ kind: TransferKind) throws -> TransferRow? {
        try Row.fetchOne(
            db.cachedStatement(sql: "\(Self.columns) WHERE job = ? AND person = ? AND kind = ?"),
            arguments: [job, person, kind.rawValue]
        ).flatMap(TransferRow.init)
    }

    /// The newest first.
    func list(_ db: Database, of person: Int64, _ kind: TransferKind, limit: Int) throws -> [TransferRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE person = ? AND kind = ? ORDER BY number DESC LIMIT ?"),
            arguments: [person, kind.rawValue, limit]
        ).compactMap(TransferRow.init)
    }

    /// The oldest job that is not done.
    /// - Parameter mayBegin: asked with the person's number.
    func next(_ db: Database, _ kind: TransferKind, where mayBegin: (Int64) throws -> Bool) throws -> TransferRow? {
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "\(Self.columns) WHERE state = 0 AND kind = ? ORDER BY number"), arguments: [kind.rawValue])
        while let row = try rows.next() {
            if let found = TransferRow(row), try mayBegin(found.person) { return found }
        }
        return nil
    }

    /// When the person's jobs of a kind since `since` were begun, oldest first.
    func begun(_ db: Database, of person: Int64, _ kind: TransferKind, since: Timestamp, at now: Timestamp) throws -> [Timestamp] {
        try Timestamp.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT created_at FROM transfers WHERE person = ? AND kind = ? AND created_at > ? AND created_at <= ? ORDER BY number
                    """),
            arguments: [person, kind.rawValue, since, now.latestCounted])
    }

    func countOpen(_ db: Database, of person: Int64, _ kind: TransferKind) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM transfers WHERE person = ? AND kind = ? AND state = 0"),
            arguments: [person, kind.rawValue]) ?? 0
    }

    /// Keeps what has come of an open job so far.
    func note(_ db: Database, _ job: JobID, result: [UInt8]) throws {
        try db.cachedStatement(sql: "UPDATE transfers SET result = ? WHERE job = ? AND state = 0")
            .execute(arguments: [Data(result), job])
    }

    /// Ends an open job; one that was removed meanwhile stays so.
    func end(_ db: Database, _ job: JobID, _ state: TransferState, result: [UInt8], at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE transfers SET state = ?, ended_at = ?, result = ? WHERE job = ? AND state = 0")
            .execute(arguments: [state.rawValue, at, Data(result), job])
    }

    /// The job counts on for how often one may export, but there is nothing left of it.
    func remove(_ db: Database, _ job: JobID, at: Timestamp) throws {
        try db.cachedStatement(
            sql: "UPDATE transfers SET state = 3, ended_at = coalesce(ended_at, ?), result = NULL WHERE job = ?"
        ).execute(arguments: [at, job])
    }

    /// Jobs that ended before `before`: from now on there is nothing left of them but that they were.
    func expire(_ db: Database, before: Timestamp, now: Timestamp) throws -> [JobID] {
        let jobs = try Data.fetchAll(
            db.cachedStatement(sql: "SELECT job FROM transfers WHERE state IN (1, 2) AND ended_at < ?"), arguments: [before]
        ).compactMap { JobID(bytes: $0) }
        for job in jobs { try remove(db, job, at: now) }
        return jobs
    }

    /// Forgets what was removed and begun before `before`.
    func forget(_ db: Database, begunBefore before: Timestamp) throws {
        try db.cachedStatement(sql: "DELETE FROM transfers WHERE state = 3 AND created_at < ?").execute(arguments: [before])
    }

    /// Jobs of which there may be files.
    func withFiles(_ db: Database) throws -> [JobID] {
        try Data.fetchAll(db.cachedStatement(sql: "SELECT job FROM transfers WHERE state IN (0, 1)")).compactMap { JobID(bytes: $0) }
    }

    /// Everything of a person who is being erased; their files go with the jobs that are named.
    func deleteAll(_ db: Database, of person: Int64) throws -> [JobID] {
        let jobs = try Data.fetchAll(db.cachedStatement(sql: "SELECT job FROM transfers WHERE person = ?"), arguments: [person])
            .compactMap { JobID(bytes: $0) }
        try db.cachedStatement(sql: "DELETE FROM transfers WHERE person = ?").execute(arguments: [person])
        return jobs
    }
}

extension TransferRow {
    fileprivate init?(_ row: Row) {
        guard let job: JobID = row.value(1), let kind = TransferKind(rawValue: row[3]), let state = TransferState(rawValue: row[4])
        else { return nil }
        self.init(
            number: row[0], job: job, person: row[2], kind: kind, state: state, createdAt: row[5], endedAt: row[6],
            request: [UInt8](row[7] as Data), result: (row[8] as Data?).map { [UInt8]($0) })
    }
}
