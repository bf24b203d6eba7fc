// SQL sentences about the times in which people wanted nothing to be recorded (ACC-28).

import Contracts
import Foundation
import GRDB
import Storage

struct PauseStore: Sendable {
    /// Pauses of a person that still decide about late entries; older ones are kept but not read.
    static let remembered = 100

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE pauses (
                    person INTEGER NOT NULL REFERENCES people (number),
                    began_at INTEGER NOT NULL,
                    ended_at INTEGER,
                    PRIMARY KEY (person, began_at)
                ) STRICT, WITHOUT ROWID;
                CREATE UNIQUE INDEX pauses_that_last ON pauses (person) WHERE ended_at IS NULL;
                """)
    }

    /// False where monitoring was paused already.
    func begin(_ db: Database, of person: Int64, at: Timestamp) throws -> Bool {
        try db.execute(sql: "INSERT OR IGNORE INTO pauses (person, began_at) VALUES (?, ?)", arguments: [person, at])
        return db.changesCount == 1
    }

    /// False where it was not paused.
    func end(_ db: Database, of person: Int64, at: Timestamp) throws -> Bool {
        try db.execute(
            sql: "UPDATE pauses SET ended_at = max(began_at, ?) WHERE person = ? AND ended_at IS NULL",
            arguments: [at, person])
        return db.changesCount == 1
    }

    /// The newest last.
    func newest(_ db: Database, of person: Int64) throws -> [Pause] {
        try Row.fetchAll(
            db, sql: "SELECT began_at, ended_at FROM pauses WHERE person = ? ORDER BY began_at DESC LIMIT ?",
            arguments: [person, Self.remembered]
        ).map { Pause(from: $0[0], to: $0[1]) }.reversed()
    }

    /// Of everybody, by their numbers.
    func newest(_ db: Database) throws -> [Int64: [Pause]] {
        let people = try Int64.fetchAll(db, sql: "SELECT DISTINCT person FROM pauses")
        return try Dictionary(uniqueKeysWithValues: people.map { ($0, try newest(db, of: $0)) })
    }

    /// Those whose monitoring is paused now, by their numbers, from the one after `number` on.
    func lasting(_ db: Database, after number: Int64, limit: Int) throws -> [(number: Int64, person: PersonID)] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT people.number, people.person FROM pauses JOIN people ON people.number = pauses.person
                WHERE ended_at IS NULL AND people.number > ? ORDER BY people.number LIMIT ?
                """, arguments: [number, limit]
        ).compactMap { row in row.value(1, as: PersonID.self).map { (row[0], $0) } }
    }
}
