// SQL sentences over the table `inbox`.

import Contracts
import Foundation
import GRDB
import Storage

/// A message in a person's inbox; its content is sealed.
struct StoredInboxItem: Sendable {
    var number: Int64
    var message: MessageID
    var sealed: [UInt8]
    var at: Timestamp
    var readAt: Timestamp?

    init?(_ row: Row) {
        guard let message: MessageID = row.value("message") else { return nil }
        self.message = message
        number = row["number"]
        sealed = Array(row["sealed"] as Data)
        at = row["at"]
        readAt = row["read_at"]
    }
}

/// Every sentence runs in its caller's transaction.
struct InboxStore: Sendable {
    func insert(_ db: Database, _ message: MessageID, of person: PersonID, sealed: [UInt8], at: Timestamp) throws {
        try db.execute(
            sql: """
                INSERT INTO inbox (person, number, message, sealed, at)
                SELECT :person, coalesce(max(number), 0) + 1, :message, :sealed, :at FROM inbox WHERE person = :person
                """, arguments: ["person": person, "message": message, "sealed": Data(sealed), "at": at])
    }

    /// Newest first.
    func page(_ db: Database, of person: PersonID, before number: Int64, limit: Int) throws -> [StoredInboxItem] {
        try Row.fetchAll(
            db, sql: "SELECT * FROM inbox WHERE person = ? AND number < ? ORDER BY number DESC LIMIT ?",
            arguments: [person, number, limit]
        ).compactMap(StoredInboxItem.init)
    }

    /// Oldest first.
    func following(_ db: Database, of person: PersonID, after number: Int64, limit: Int) throws -> [StoredInboxItem] {
        try Row.fetchAll(
            db, sql: "SELECT * FROM inbox WHERE person = ? AND number > ? ORDER BY number LIMIT ?", arguments: [person, number, limit]
        ).compactMap(StoredInboxItem.init)
    }

    /// 0 where there is none.
    func newest(_ db: Database, of person: PersonID) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(number) FROM inbox WHERE person = ?", arguments: [person]) ?? 0
    }

    func unread(_ db: Database, of person: PersonID) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM inbox WHERE person = ? AND read_at IS NULL", arguments: [person]) ?? 0
    }

    /// False where the person has no such message. The first reading counts.
    func markRead(_ db: Database, _ message: MessageID, of person: PersonID, at: Timestamp) throws -> Bool {
        try db.execute(
            sql: "UPDATE inbox SET read_at = coalesce(read_at, ?) WHERE message = ? AND person = ?",
            arguments: [at, message, person])
        return db.changesCount > 0
    }

    func markAllRead(_ db: Database, of person: PersonID, at: Timestamp) throws {
        try db.execute(sql: "UPDATE inbox SET read_at = ? WHERE person = ? AND read_at IS NULL", arguments: [at, person])
    }

    /// At most `limit`; returns how many. The newest of each person stays, so that numbers are never given twice.
    func delete(_ db: Database, before: Timestamp, limit: Int) throws -> Int {
        try db.execute(
            sql: """
                DELETE FROM inbox WHERE message IN (
                    SELECT message FROM inbox i WHERE at < ?
                    AND number < (SELECT max(number) FROM inbox j WHERE j.person = i.person) LIMIT ?)
                """, arguments: [before, limit])
        return db.changesCount
    }
}
