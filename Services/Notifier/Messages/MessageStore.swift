// SQL sentences over the table `messages`.

import Contracts
import Foundation
import GRDB
import Storage

/// A message as it is kept; its content is sealed.
struct StoredMessage: Sendable {
    var id: MessageID
    var person: PersonID?
    var sealed: [UInt8]?
    var createdAt: Timestamp
    var notAfter: Timestamp
    var trace: String

    init?(_ row: Row) {
        guard let id: MessageID = row.value("message") else { return nil }
        self.id = id
        person = row.value("person")
        sealed = (row["sealed"] as Data?).map { Array($0) }
        createdAt = row["created_at"]
        notAfter = row["not_after"]
        trace = row["trace"]
    }
}

/// Every sentence runs in its caller's transaction.
struct MessageStore: Sendable {
    func insert(
        _ db: Database, _ message: SendMessage, from sender: Peer, digest: [UInt8], sealed: [UInt8], at: Timestamp, notAfter: Timestamp,
        trace: String
    ) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO messages (message, sender, person, digest, sealed, created_at, not_after, trace)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [message.message, sender.name, message.recipient.person, Data(digest), Data(sealed), at, notAfter, trace])
    }

    func digest(_ db: Database, of message: MessageID) throws -> [UInt8]? {
        try Data.fetchOne(db, sql: "SELECT digest FROM messages WHERE message = ?", arguments: [message]).map { Array($0) }
    }

    func find(_ db: Database, _ message: MessageID) throws -> StoredMessage? {
        try Row.fetchOne(db, sql: "SELECT * FROM messages WHERE message = ?", arguments: [message]).flatMap(StoredMessage.init)
    }

    /// Whether that peer asked for it.
    func isOf(_ db: Database, _ sender: Peer, _ message: MessageID) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM messages WHERE message = ? AND sender = ?)", arguments: [message, sender.name])
            ?? false
    }

    /// The content is deleted once it was sent everywhere.
    func forgetContent(_ db: Database, of message: MessageID) throws {
        try db.execute(
            sql: """
                UPDATE messages SET sealed = NULL WHERE message = :message
                AND NOT EXISTS (SELECT 1 FROM deliveries WHERE message = :message AND settled = 0)
                """, arguments: ["message": message])
    }

    /// Deletes what was settled and is older than `before`; at most `limit`, returns how many.
    func deleteSettled(_ db: Database, before: Timestamp, limit: Int) throws -> Int {
        try db.execute(
            sql: """
                DELETE FROM messages WHERE message IN (
                    SELECT message FROM messages m WHERE created_at < ? AND sealed IS NULL
                    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message = m.message AND d.settled = 0) LIMIT ?)
                """, arguments: [before, limit])
        return db.changesCount
    }
}
