// What a service has still to do, kept in the transaction that decided it until the transaction that has its effect.

package import Contracts
import Foundation
package import GRDB

/// SQL sentences over `jobs`. A job waits until it is due, is held until it is released, or is dead: it will not be tried any more, and
/// stays listed. Of the jobs of one kind and ordering key only the oldest may be tried.
package struct JobTable: Sendable {
    package struct NewJob: Sendable {
        package var kind: String
        /// Unique within its kind. Not personal: it is stored as it is.
        package var id: String
        package var orderingKey: String?
        package var person: PersonID?
        /// Sealed by the caller.
        package var body: [UInt8]
        /// Nil: held.
        package var due: Timestamp?
        package var notAfter: Timestamp?
        package var createdAt: Timestamp

        package init(
            kind: String, id: String, orderingKey: String? = nil, person: PersonID? = nil, body: [UInt8], due: Timestamp?,
            notAfter: Timestamp? = nil, createdAt: Timestamp
        ) {
            (self.kind, self.id, self.orderingKey, self.person, self.body) = (kind, id, orderingKey, person, body)
            (self.due, self.notAfter, self.createdAt) = (due, notAfter, createdAt)
        }
    }

    /// One that is neither held nor dead.
    package struct StoredJob: Sendable {
        package let number: Int64
        package let kind: String
        package let id: String
        package let orderingKey: String?
        package let isBehind: Bool
        package let person: PersonID?
        package let body: [UInt8]
        package let due: Timestamp
        package let notAfter: Timestamp?
        package let createdAt: Timestamp
        /// Attempts that were answered with a refusal.
        package let attempts: Int
        package let error: String?
    }

    package struct DeadJob: Sendable {
        package let number: Int64
        package let kind: String
        package let error: String
        package let attempts: Int
        package let createdAt: Timestamp
        package let deadAt: Timestamp
    }

    package struct Count: Hashable, Sendable {
        package var kind: String
        package var waiting = 0
        package var dead = 0
        package var oldest: Timestamp?
    }

    package init() {}

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE jobs (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    kind TEXT NOT NULL,
                    id TEXT NOT NULL,
                    ordering_key TEXT,
                    -- 1 while an older job of this kind and key is there.
                    is_behind INTEGER NOT NULL DEFAULT 0,
                    person BLOB,
                    body BLOB NOT NULL,
                    -- NULL while it is held.
                    due INTEGER,
                    not_after INTEGER,
                    attempts INTEGER NOT NULL DEFAULT 0,
                    -- Why the last attempt failed.
                    error TEXT,
                    created_at INTEGER NOT NULL,
                    dead_at INTEGER,
                    UNIQUE (kind, id)
                ) STRICT;
                CREATE INDEX jobs_by_due ON jobs (kind, is_behind, due) WHERE dead_at IS NULL;
                CREATE INDEX jobs_by_key ON jobs (kind, ordering_key, number) WHERE ordering_key IS NOT NULL AND dead_at IS NULL;
                CREATE INDEX jobs_by_person ON jobs (person) WHERE person IS NOT NULL;
                CREATE INDEX dead_jobs ON jobs (kind, number) WHERE dead_at IS NOT NULL;
                """)
    }
}

// MARK: What waits

extension JobTable {
    /// - Returns: false where there is one of this kind and id already: then nothing changes.
    @discardableResult
    package func add(_ db: Database, _ job: NewJob) throws -> Bool {
        let isBehind = try job.orderingKey.map { try head(db, job.kind, $0) != nil } ?? false
        try db.cachedStatement(
            sql: """
                INSERT INTO jobs (kind, id, ordering_key, is_behind, person, body, due, not_after, created_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, id) DO NOTHING
                """
        ).execute(arguments: [
            job.kind, job.id, job.orderingKey, isBehind, job.person, Data(job.body), job.due, job.notAfter, job.createdAt,
        ])
        return db.changesCount == 1
    }

    /// Lets go those that are held for the person.
    package func release(_ db: Database, _ kind: String, of person: PersonID, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE jobs SET due = ? WHERE kind = ? AND person = ? AND due IS NULL AND dead_at IS NULL")
            .execute(arguments: [at, kind, person])
    }

    /// Numbers of those that may be tried, the longest due first.
    /// - Parameter longest: the longest pause between attempts, as `Timestamp.isOver` asks for it of those that failed. One that was made
    ///   at a time that has not come is due as well.
    package func due(_ db: Database, _ kind: String, at: Timestamp, longest: Duration, limit: Int) throws -> [Int64] {
        let open = "SELECT number FROM jobs WHERE kind = ? AND is_behind = 0 AND dead_at IS NULL"
        let due = try Int64.fetchAll(
            db.cachedStatement(sql: "\(open) AND due <= ? ORDER BY due, number LIMIT ?"), arguments: [kind, at, limit])
        guard due.count < limit else { return due }
        return try due
            + Int64.fetchAll(
                db.cachedStatement(
                    sql: "\(open) AND due > ? AND (created_at > ? OR due > ? AND error IS NOT NULL) ORDER BY due, number LIMIT ?"),
                arguments: [kind, at, at, at + longest, limit - due.count])
    }

    /// When the next one is due that is not due yet.
    package func nextDue(_ db: Database, _ kind: String, after: Timestamp) throws -> Timestamp? {
        try Timestamp.fetchOne(
            db.cachedStatement(sql: "SELECT min(due) FROM jobs WHERE kind = ? AND is_behind = 0 AND dead_at IS NULL AND due > ?"),
            arguments: [kind, after])
    }

    /// Nil where it is done, held or dead.
    package func find(_ db: Database, _ number: Int64) throws -> StoredJob? {
        try stored(db, "number = ?", [number])
    }

    package func find(_ db: Database, _ kind: String, id: String) throws -> StoredJob? {
        try stored(db, "kind = ? AND id = ?", [kind, id])
    }

    /// The one of the key that may be tried now, or holds up the others because it is held.
    package func head(_ db: Database, _ kind: String, _ orderingKey: String) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT min(number) FROM jobs WHERE kind = ? AND ordering_key = ? AND dead_at IS NULL"),
            arguments: [kind, orderingKey])
    }

    private func stored(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> StoredJob? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT number, kind, id, ordering_key, is_behind, person, body, due, not_after, attempts, error, created_at
                    FROM jobs WHERE \(condition) AND due IS NOT NULL AND dead_at IS NULL
                    """), arguments: arguments
        ).map { row in
            StoredJob(
                number: row[0], kind: row[1], id: row[2], orderingKey: row[3], isBehind: row[4],
                person: row.value(5), body: [UInt8](row[6] as Data), due: row[7], notAfter: row[8],
                createdAt: row[11], attempts: row[9], error: row[10])
        }
    }
}

// MARK: What became of it

extension JobTable {
    /// - Returns: false where it is not there any more: nobody may act on what came of it then.
    package func remove(_ db: Database, _ job: StoredJob) throws -> Bool {
        try db.cachedStatement(sql: "DELETE FROM jobs WHERE number = ? AND dead_at IS NULL").execute(arguments: [job.number])
        guard db.changesCount == 1 else { return false }
        try advance(db, job.kind, job.orderingKey)
        return true
    }

    /// - Parameter isRefused: somebody answered; silence does not count as an attempt.
    package func postpone(_ db: Database, _ job: StoredJob, until: Timestamp, error: String, isRefused: Bool) throws {
        try db.cachedStatement(sql: "UPDATE jobs SET due = ?, error = ?, attempts = attempts + ? WHERE number = ? AND dead_at IS NULL")
            .execute(arguments: [until, error, isRefused ? 1 : 0, job.number])
    }

    /// It is not tried any more, stays listed, and holds up nothing. Without its body it cannot be resent.
    package func deadLetter(_ db: Database, _ job: StoredJob, error: String, keepsBody: Bool, at: Timestamp) throws {
        try db.cachedStatement(
            sql: """
                UPDATE jobs SET dead_at = ?, error = ?, attempts = attempts + 1, is_behind = 0,
                    body = CASE WHEN ? THEN body ELSE x'' END
                WHERE number = ? AND dead_at IS NULL
                """
        ).execute(arguments: [at, error, keepsBody, job.number])
        guard db.changesCount == 1 else { return }
        try advance(db, job.kind, job.orderingKey)
    }

    /// Deletes all jobs of the person, dead or not; part of erasing them.
    /// - Parameter kind: this one alone.
    /// - Returns: how many.
    @discardableResult
    package func forget(_ db: Database, _ person: PersonID, kind: String? = nil) throws -> Int {
        let condition = "person = ? AND kind = coalesce(?, kind)"
        let arguments: StatementArguments = [person, kind]
        let keys = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT DISTINCT kind, ordering_key FROM jobs WHERE \(condition) AND ordering_key IS NOT NULL AND dead_at IS NULL"),
            arguments: arguments
        ).map { ($0[0] as String, $0[1] as String) }
        try db.cachedStatement(sql: "DELETE FROM jobs WHERE \(condition)").execute(arguments: arguments)
        let count = db.changesCount
        for (kind, key) in keys { try advance(db, kind, key) }
        return count
    }

    private func advance(_ db: Database, _ kind: String, _ orderingKey: String?) throws {
        guard let orderingKey else { return }
        try db.cachedStatement(
            sql: """
                UPDATE jobs SET is_behind = 0
                WHERE number = (SELECT min(number) FROM jobs WHERE kind = ? AND ordering_key = ? AND dead_at IS NULL)
                """
        ).execute(arguments: [kind, orderingKey])
    }
}

// MARK: For operators

extension JobTable {
    /// Of one kind; held ones do not count.
    package func count(_ db: Database, _ kind: String) throws -> Count {
        let waiting = "FROM jobs WHERE kind = ? AND dead_at IS NULL AND due IS NOT NULL"
        let oldest = try Timestamp.fetchOne(
            db.cachedStatement(sql: "SELECT created_at FROM jobs WHERE number = (SELECT min(number) \(waiting))"), arguments: [kind])
        return Count(
            kind: kind, waiting: try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) \(waiting)"), arguments: [kind]) ?? 0,
            dead: try Int.fetchOne(
                db.cachedStatement(sql: "SELECT count(*) FROM jobs WHERE kind = ? AND dead_at IS NOT NULL"), arguments: [kind]) ?? 0,
            oldest: oldest)
    }

    /// Those that are not tried any more, by number.
    package func dead(_ db: Database, after number: Int64 = 0, limit: Int) throws -> [DeadJob] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT number, kind, error, attempts, created_at, dead_at FROM jobs
                    WHERE dead_at IS NOT NULL AND number > ? ORDER BY number LIMIT ?
                    """), arguments: [number, limit]
        ).map { row in
            DeadJob(number: row[0], kind: row[1], error: row[2] ?? "", attempts: row[3], createdAt: row[4], deadAt: row[5])
        }
    }

    /// The dead letter is due again as if it had never been tried, behind whatever waits under its ordering key.
    /// - Parameter number: nil for all.
    /// - Returns: how many.
    @discardableResult
    package func resend(_ db: Database, _ number: Int64?, at: Timestamp) throws -> Int {
        let numbers = try Int64.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT number FROM jobs WHERE dead_at IS NOT NULL AND length(body) > 0 AND number = coalesce(?, number) ORDER BY number
                    """),
            arguments: [number])
        let statement = try db.cachedStatement(
            sql: """
                UPDATE jobs SET dead_at = NULL, error = NULL, attempts = 0, due = ?, is_behind = EXISTS (
                    SELECT 1 FROM jobs AS other WHERE other.kind = jobs.kind AND other.ordering_key = jobs.ordering_key
                    AND other.dead_at IS NULL)
                WHERE number = ?
                """)
        for number in numbers { try statement.execute(arguments: [at, number]) }
        return numbers.count
    }

    package func hasDead(_ db: Database, _ kind: String, before: Timestamp) throws -> Bool {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT 1 FROM jobs WHERE kind = ? AND dead_at < ? LIMIT 1"), arguments: [kind, before])
            != nil
    }

    /// Deletes dead letters from before then.
    /// - Returns: how many.
    @discardableResult
    package func expireDead(_ db: Database, _ kind: String, before: Timestamp) throws -> Int {
        try db.cachedStatement(sql: "DELETE FROM jobs WHERE kind = ? AND dead_at < ?").execute(arguments: [kind, before])
        return db.changesCount
    }
}
