// SQL sentences about file jobs: asked for once, written in the background, downloaded, gone.

import Contracts
import Foundation
import GRDB
import Storage

/// What a file job is asked for.
struct DataFileOrder: Codable, Hashable, Sendable {
    var format: DataFormat
    /// In the order of the registry.
    var types: [Metric]
    var from: Timestamp
    /// Not included.
    var to: Timestamp
}

enum DataFileState: String, Codable, CaseIterable, Sendable {
    /// Waiting, or being written.
    case open
    case done
    case failed
    /// Expired, or what it came from is no longer allowed.
    case removed
}

/// One file of a job; the hash is of what is downloaded.
struct DataFilePart: Codable, Hashable, Sendable {
    var name: String
    var mediaType: String
    var bytes: Int
    var values: Int
    /// Lower-case hexadecimal.
    var sha256: String
}

struct DataFileJob: Hashable, Sendable {
    let job: JobID
    let request: RequestID
    let organisation: OrganisationID
    let person: PersonID
    let state: DataFileState
    let order: DataFileOrder
    let createdAt: Timestamp
    let endedAt: Timestamp?
    let parts: [DataFilePart]
    /// What could not be read any more when it was written.
    var damaged: [DamagedEntries] = []
    /// Why there is none, for people.
    let fault: String?
}

struct DataFileStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE data_files (
                    number INTEGER PRIMARY KEY,
                    job BLOB NOT NULL UNIQUE,
                    request BLOB NOT NULL REFERENCES requests (request),
                    organisation BLOB NOT NULL,
                    person BLOB NOT NULL,
                    state TEXT NOT NULL CHECK (state IN ('open', 'done', 'failed', 'removed')),
                    -- JSON: format, types, times.
                    file_order TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    retry_at INTEGER NOT NULL DEFAULT 0,
                    ended_at INTEGER,
                    -- JSON: names, lengths, hashes.
                    parts TEXT,
                    fault TEXT
                ) STRICT;
                CREATE INDEX data_files_by_request ON data_files (request, number);
                CREATE INDEX data_files_by_organisation ON data_files (organisation, created_at);
                CREATE INDEX data_files_by_person ON data_files (person);
                CREATE INDEX data_files_open ON data_files (retry_at) WHERE state = 'open';
                """)
    }

    /// For a later migration of the gateway.
    static func addDamaged(to db: Database) throws {
        // JSON: types and times; null where everything could be read.
        try db.execute(sql: "ALTER TABLE data_files ADD COLUMN damaged TEXT")
    }

    // MARK: Writing

    func add(_ db: Database, _ job: DataFileJob) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO data_files (job, request, organisation, person, state, file_order, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            job.job, job.request, job.organisation, job.person, job.state.rawValue, try Self.json(job.order), job.createdAt,
        ])
    }

    /// Ends an open job; one that was removed meanwhile stays so.
    /// - Returns: whether it was open.
    func end(
        _ db: Database, _ job: JobID, _ state: DataFileState, parts: [DataFilePart] = [], damaged: [DamagedEntries] = [],
        fault: String? = nil, at now: Timestamp
    ) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE data_files SET state = ?, parts = ?, damaged = ?, fault = ?, ended_at = ? WHERE job = ? AND state = 'open'"
        ).execute(arguments: [state.rawValue, try Self.json(parts), damaged.isEmpty ? nil : try Self.json(damaged), fault, now, job])
        return db.changesCount == 1
    }

    func postpone(_ db: Database, _ job: JobID, until moment: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE data_files SET retry_at = ? WHERE job = ?")
            .execute(arguments: [moment, job])
    }

    private static let removing =
        "UPDATE data_files SET state = 'removed', ended_at = coalesce(ended_at, ?), parts = NULL, damaged = NULL WHERE "

    func remove(_ db: Database, _ job: JobID, at now: Timestamp) throws {
        try db.cachedStatement(sql: Self.removing + "job = ?").execute(arguments: [now, job])
    }

    /// What was written of this request may not be handed out any more.
    func removeAll(_ db: Database, of request: RequestID, at now: Timestamp) throws {
        try db.cachedStatement(sql: Self.removing + "request = ? AND state <> 'removed'")
            .execute(arguments: [now, request])
    }

    /// Jobs that ended before `moment`.
    func expire(_ db: Database, endedBefore moment: Timestamp, at now: Timestamp) throws {
        try db.cachedStatement(sql: Self.removing + "state IN ('done', 'failed') AND ended_at < ?")
            .execute(arguments: [now, moment])
    }

    /// Part of erasing a person.
    /// - Returns: how many.
    func delete(_ db: Database, of person: PersonID) throws -> Int {
        var slice = DeletionSlice()
        try slice.delete(db, from: "data_files", where: "person = ?", [person])
        return slice.deleted
    }

    // MARK: Finding

    private static let columns = """
        SELECT job, request, organisation, person, state, file_order, created_at, ended_at, parts, fault, damaged FROM data_files
        """

    func find(_ db: Database, _ job: JobID, of request: RequestID) throws -> DataFileJob? {
        try rows(db, "job = ? AND request = ?", [job, request]).first
    }

    /// Newest first.
    func list(_ db: Database, of request: RequestID, limit: Int) throws -> [DataFileJob] {
        try rows(db, "request = ? ORDER BY number DESC LIMIT ?", [request, limit])
    }

    /// The first that waits of each organisation, oldest first.
    /// - Parameter pause: the longest there is, as `Timestamp.isOver` asks for it.
    func next(_ db: Database, at now: Timestamp, longest pause: Duration) throws -> [DataFileJob] {
        try rows(
            db,
            """
            number IN (SELECT number FROM (
                SELECT number, row_number() OVER (PARTITION BY organisation ORDER BY retry_at, number) AS place
                FROM data_files WHERE state = 'open' AND (retry_at <= ? OR retry_at > ?)) WHERE place = 1)
            ORDER BY retry_at, number
            """, [now, now + pause])
    }

    /// When the organisation's jobs since `moment` were begun, oldest first.
    func begun(_ db: Database, of organisation: OrganisationID, since moment: Timestamp, at now: Timestamp) throws -> [Timestamp] {
        try Timestamp.fetchAll(
            db.cachedStatement(
                sql: "SELECT created_at FROM data_files WHERE organisation = ? AND created_at > ? AND created_at <= ? ORDER BY created_at"),
            arguments: [organisation, moment, now.latestCounted])
    }

    /// Jobs of which there may be files.
    func withFiles(_ db: Database) throws -> Set<JobID> {
        Set(
            try Data.fetchAll(db.cachedStatement(sql: "SELECT job FROM data_files WHERE state IN ('open', 'done')"))
                .compactMap { JobID(bytes: $0) })
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [DataFileJob] {
        try Row.fetchAll(db.cachedStatement(sql: "\(Self.columns) WHERE \(condition)"), arguments: arguments).map { row in
            guard let job: JobID = row.value(0), let request: RequestID = row.value(1),
                let organisation: OrganisationID = row.value(2), let person: PersonID = row.value(3),
                let state = DataFileState(rawValue: row[4])
            else { throw UnreadableRequest() }
            return DataFileJob(
                job: job, request: request, organisation: organisation, person: person, state: state,
                order: try JSONDecoder().decode(DataFileOrder.self, from: Data((row[5] as String).utf8)),
                createdAt: row[6], endedAt: row[7],
                parts: try (row[8] as String?).map { try JSONDecoder().decode([DataFilePart].self, from: Data($0.utf8)) } ?? [],
                damaged: try (row[10] as String?).map { try JSONDecoder().decode([DamagedEntries].self, from: Data($0.utf8)) } ?? [],
                fault: row[9])
        }
    }

    private static func json(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
}
