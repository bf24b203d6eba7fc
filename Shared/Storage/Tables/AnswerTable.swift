// The first answers to requests on the bus, so that a repeated request gets the same one.

package import Contracts
import Foundation
package import GRDB

/// SQL sentences over `bus_answers`. Written in the transaction of the change that the request asked for.
package struct AnswerTable: Sendable {
    /// How long a client may repeat an id.
    package static let lifetime: Duration = .seconds(24 * 3600)

    package init() {}

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE bus_answers (
                    asker TEXT NOT NULL,
                    id TEXT NOT NULL,
                    at INTEGER NOT NULL,
                    answer BLOB NOT NULL,
                    PRIMARY KEY (asker, id)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX bus_answers_by_time ON bus_answers (at);
                """)
    }

    /// Nil where this client's request has not been answered yet. An answer counts until `expire` has taken it away, which may be
    /// later than its lifetime.
    package func answer(_ db: Database, to client: Peer, id: String) throws -> [UInt8]? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT answer FROM bus_answers WHERE asker = ? AND id = ?"), arguments: [client.name, id]
        )?.bytes(0)
    }

    /// Keeps the first answer; a later one to the same id changes nothing.
    /// - Parameter answer: opaque here; whatever is personal or secret in it is sealed by the caller.
    /// - Returns: false where there was one already.
    @discardableResult
    package func remember(_ db: Database, to client: Peer, id: String, answer: [UInt8], at: Timestamp) throws -> Bool {
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO bus_answers (asker, id, at, answer) VALUES (?, ?, ?, ?)")
            .execute(arguments: [client.name, id, at, Data(answer)])
        return db.changesCount == 1
    }

    /// Most that one call of `expire` forgets: nobody's write waits for more.
    package static let expiryLimit = 500

    /// Forgets what is older than its lifetime, by the index of times, at most `limit`.
    /// - Returns: how many; `limit` means that there may be more.
    package func expire(_ db: Database, now: Timestamp, limit: Int = AnswerTable.expiryLimit) throws -> Int {
        try db.cachedStatement(
            sql: """
                DELETE FROM bus_answers WHERE (asker, id) IN (SELECT asker, id FROM bus_answers WHERE at < ? ORDER BY at LIMIT ?)
                """
        ).execute(arguments: [now - AnswerTable.lifetime, limit])
        return db.changesCount
    }
}
