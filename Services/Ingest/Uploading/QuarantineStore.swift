// SQL sentences about refused entries, kept sealed for whoever has to find out what a device sends (ING-08).

import Contracts
import Foundation
import GRDB

struct QuarantineStore: Sendable {
    /// Uploads with refused entries that are kept of one person; older ones give way.
    static let uploadsPerPerson = 100

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE quarantine (
                    id INTEGER PRIMARY KEY,
                    person INTEGER NOT NULL REFERENCES people (number),
                    device INTEGER NOT NULL REFERENCES devices (number),
                    received_at INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    body BLOB NOT NULL
                ) STRICT;
                CREATE INDEX quarantine_by_person ON quarantine (person, id);
                """)
    }

    /// - Parameters:
    ///   - count: entries of one upload that were refused.
    ///   - body: what they were, as far as there was room, sealed.
    func add(_ db: Database, person: Int64, device: Int64, receivedAt: Timestamp, count: Int, body: [UInt8]) throws {
        try db.cachedStatement(
            sql: "INSERT INTO quarantine (person, device, received_at, count, body) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: [person, device, receivedAt, count, Data(body)])
        try db.cachedStatement(
            sql: """
                DELETE FROM quarantine WHERE person = ?1 AND id <=
                (SELECT id FROM quarantine WHERE person = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
                """
        ).execute(arguments: [person, Self.uploadsPerPerson])
    }

    func count(_ db: Database, of person: Int64) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT coalesce(sum(count), 0) FROM quarantine WHERE person = ?"), arguments: [person]) ?? 0
    }
}
