// SQL sentences about activities: when they were stands in the open, what they were is sealed.

import Contracts
import Foundation
import GRDB
import Storage

/// One activity as the store has it.
struct ActivityRow: Sendable {
    let number: Int64
    let activity: ActivityID
    let start: Timestamp
    let end: Timestamp
    /// The number of the device that sent it; nil where the person did.
    let device: Int64?
    /// Kind and name, sealed under the person's key.
    let body: [UInt8]
}

struct ActivityStore: Sendable {
    /// Activities that one person may have.
    static let perPerson = 20_000

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE activities (
                    number INTEGER PRIMARY KEY,
                    activity BLOB NOT NULL UNIQUE,
                    person INTEGER NOT NULL REFERENCES people (number),
                    first INTEGER NOT NULL,
                    last INTEGER NOT NULL,
                    device INTEGER REFERENCES devices (number),
                    body BLOB NOT NULL,
                    UNIQUE (person, first, last)
                ) STRICT;
                """)
    }

    private static let columns = "SELECT number, activity, first, last, device, body FROM activities"

    /// The activity of the person with exactly these times; nil where there is none.
    func find(_ db: Database, of person: Int64, _ start: Timestamp, _ end: Timestamp) throws -> ActivityRow? {
        try Row.fetchOne(
            db.cachedStatement(sql: "\(Self.columns) WHERE person = ? AND first = ? AND last = ?"),
            arguments: [person, start, end]
        ).flatMap(ActivityRow.init)
    }

    func find(_ db: Database, of person: Int64, _ activity: ActivityID) throws -> ActivityRow? {
        try Row.fetchOne(
            db.cachedStatement(sql: "\(Self.columns) WHERE person = ? AND activity = ?"), arguments: [person, activity]
        ).flatMap(ActivityRow.init)
    }

    func count(_ db: Database, of person: Int64) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM activities WHERE person = ?"), arguments: [person]) ?? 0
    }

    /// The latest first, those that began before `before` or, at the same time, have a smaller number.
    func list(_ db: Database, of person: Int64, before: (start: Int64, number: Int64)?, limit: Int) throws -> [ActivityRow] {
        let (start, number) = before ?? (.max, .max)
        return try Row.fetchAll(
            db.cachedStatement(
                sql: "\(Self.columns) WHERE person = ? AND (first, number) < (?, ?) ORDER BY first DESC, number DESC LIMIT ?"),
            arguments: [person, start, number, limit]
        ).compactMap(ActivityRow.init)
    }

    func add(
        _ db: Database, _ activity: ActivityID, of person: Int64, _ start: Timestamp, _ end: Timestamp, device: Int64?, body: [UInt8]
    ) throws {
        try db.cachedStatement(
            sql: "INSERT INTO activities (activity, person, first, last, device, body) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [activity, person, start, end, device, Data(body)])
    }

    /// False where there was none.
    func delete(_ db: Database, of person: Int64, _ activity: ActivityID) throws -> Bool {
        try db.cachedStatement(sql: "DELETE FROM activities WHERE person = ? AND activity = ?")
            .execute(arguments: [person, activity])
        return db.changesCount == 1
    }

    /// Everything of a person who is being erased.
    func deleteAll(_ db: Database, of person: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM activities WHERE person = ?").execute(arguments: [person])
    }
}

extension ActivityRow {
    fileprivate init?(_ row: Row) {
        guard let activity: ActivityID = row.value(1) else { return nil }
        self.init(number: row[0], activity: activity, start: row[2], end: row[3], device: row[4], body: [UInt8](row[5] as Data))
    }
}
