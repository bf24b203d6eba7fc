// SQL sentences about subscriptions to groups: the windows that the anonymiser has told, and which of them it is yet to be told to end.

import Contracts
import GRDB
import Storage

/// A window as it was told.
struct GroupWindow: Hashable, Sendable {
    /// From 1 without gaps, in the order of time.
    let sequence: Int
    let from: Timestamp
    /// Not included.
    let to: Timestamp
    let status: GroupWindowStatus
    let toldAt: Timestamp
}

/// `group_windows` and `group_endings`. Rows hold nothing of people.
struct GroupWindowStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE group_requests ADD COLUMN is_subscription INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE group_requests ADD COLUMN ended_at INTEGER;
                CREATE TABLE group_windows (
                    request BLOB NOT NULL,
                    sequence INTEGER NOT NULL,
                    time_from INTEGER NOT NULL,
                    time_to INTEGER NOT NULL,
                    status TEXT NOT NULL CHECK (status IN ('released', 'withheld')),
                    told_at INTEGER NOT NULL,
                    PRIMARY KEY (request, sequence)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE group_endings (
                    request BLOB NOT NULL PRIMARY KEY,
                    organisation BLOB NOT NULL,
                    tried_at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX group_endings_waiting ON group_endings (tried_at);
                """)
    }

    // MARK: Windows

    /// - Returns: whether it is new.
    func add(_ db: Database, _ window: GroupWindowClosed, at now: Timestamp) throws -> Bool {
        try db.cachedStatement(
            sql: """
                INSERT INTO group_windows (request, sequence, time_from, time_to, status, told_at) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (request, sequence) DO NOTHING
                """
        ).execute(arguments: [window.request, window.sequence, window.from, window.to, window.status.rawValue, now])
        return db.changesCount == 1
    }

    /// In their order, those after a number.
    func windows(_ db: Database, of request: GroupRequestID, after: Int, limit: Int) throws -> [GroupWindow] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT sequence, time_from, time_to, status, told_at FROM group_windows
                    WHERE request = ? AND sequence > ? ORDER BY sequence LIMIT ?
                    """), arguments: [request, after, limit]
        ).map { row in
            guard let status = GroupWindowStatus(rawValue: row[3]) else { throw UnreadableRequest() }
            return GroupWindow(sequence: row[0], from: row[1], to: row[2], status: status, toldAt: row[4])
        }
    }

    /// Nil for one that was not told.
    func find(_ db: Database, _ sequence: Int, of request: GroupRequestID) throws -> GroupWindow? {
        try windows(db, of: request, after: sequence - 1, limit: 1).first { $0.sequence == sequence }
    }

    /// The number of the last one that was told; 0 where none was.
    func head(_ db: Database, of request: GroupRequestID) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT max(sequence) FROM group_windows WHERE request = ?"), arguments: [request]) ?? 0
    }

    // MARK: Ending

    /// The anonymiser is to be told. Once is as good as often.
    func owe(_ db: Database, _ request: GroupRequestID, of organisation: OrganisationID, at now: Timestamp) throws {
        try db.cachedStatement(
            sql: "INSERT INTO group_endings (request, organisation, tried_at) VALUES (?, ?, ?) ON CONFLICT (request) DO NOTHING"
        ).execute(arguments: [request, organisation, now])
    }

    /// The organisation is gone: all of its subscriptions end, and those that may be open without anybody knowing it yet.
    func oweAll(_ db: Database, of organisation: OrganisationID) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO group_endings (request, organisation, tried_at)
                SELECT request, organisation, created_at FROM group_requests
                WHERE organisation = ? AND (is_subscription = 1 OR status = 'sending')
                ON CONFLICT (request) DO NOTHING
                """
        ).execute(arguments: [organisation])
    }

    /// Those that were tried longest ago first.
    func owed(_ db: Database, limit: Int) throws -> [EndGroupSubscription] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT request, organisation FROM group_endings ORDER BY tried_at LIMIT ?"), arguments: [limit]
        ).compactMap { row in
            guard let request: GroupRequestID = row.value(0), let organisation: OrganisationID = row.value(1) else { return nil }
            return EndGroupSubscription(request: request, organisation: organisation)
        }
    }

    func triedInVain(_ db: Database, _ request: GroupRequestID, at now: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE group_endings SET tried_at = ? WHERE request = ?").execute(arguments: [now, request])
    }

    func told(_ db: Database, _ request: GroupRequestID) throws {
        try db.cachedStatement(sql: "DELETE FROM group_endings WHERE request = ?").execute(arguments: [request])
    }

    func deleteAll(_ db: Database, of organisation: OrganisationID) throws {
        try db.cachedStatement(
            sql: "DELETE FROM group_windows WHERE request IN (SELECT request FROM group_requests WHERE organisation = ?)"
        ).execute(arguments: [organisation])
    }
}
