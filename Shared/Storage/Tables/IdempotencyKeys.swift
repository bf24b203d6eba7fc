// The first answers to HTTP requests that carried an `Idempotency-Key`.

package import Contracts
import Foundation
package import GRDB

/// SQL sentences over `idempotency_keys`. Written in the transaction of the change that the request made.
package struct IdempotencyKeys: Sendable {
    /// How long a caller may repeat a key.
    package static let lifetime: Duration = .seconds(24 * 3600)

    package init() {}

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE idempotency_keys (
                    scope BLOB NOT NULL,
                    key BLOB NOT NULL,
                    at INTEGER NOT NULL,
                    body_hash BLOB NOT NULL,
                    status INTEGER NOT NULL,
                    answer BLOB NOT NULL,
                    PRIMARY KEY (scope, key)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX idempotency_keys_by_time ON idempotency_keys (at);
                """)
    }

    package static func isKept(in db: Database) throws -> Bool {
        try db.tableExists("idempotency_keys")
    }

    /// What stands under a key. It counts until `expire` has taken it away, which may be later than its lifetime.
    package enum Finding: Hashable, Sendable {
        /// This caller has not used the key, or it has been forgotten since.
        case unused
        /// The same request again: it gets the first answer.
        case repeated(status: Int, answer: [UInt8])
        /// The same key with another body: to be refused (422).
        case otherBody
    }

    /// - Parameter scope: whose keys these are and for which operation, as bytes that are not personal (a device's id).
    /// - Parameter key: a keyed digest of what the caller sent, at most 32 bytes: its own words might be personal.
    package func find(_ db: Database, scope: [UInt8], key: [UInt8], bodyHash: [UInt8]) throws -> Finding {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT body_hash, status, answer FROM idempotency_keys WHERE scope = ? AND key = ?"),
            arguments: [Data(scope), Data(key)])
        guard let row else { return .unused }
        return try row.bytes(0) == bodyHash ? .repeated(status: row[1], answer: row.bytes(2)) : .otherBody
    }

    /// Keeps the first answer; a later one to the same key changes nothing.
    /// - Parameter answer: opaque here; whatever is personal or secret in it is sealed by the caller.
    /// - Returns: false where there was one already.
    @discardableResult
    package func remember(
        _ db: Database, scope: [UInt8], key: [UInt8], bodyHash: [UInt8], status: Int, answer: [UInt8], at: Timestamp
    ) throws -> Bool {
        try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO idempotency_keys (scope, key, at, body_hash, status, answer) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [Data(scope), Data(key), at, Data(bodyHash), status, Data(answer)])
        return db.changesCount == 1
    }

    /// Most that one call of `expire` forgets: uploads do not wait for more.
    package static let expiryLimit = 500

    /// Forgets what is older than its lifetime, by the index of times, at most `limit`.
    /// - Returns: how many; `limit` means that there may be more.
    package func expire(_ db: Database, now: Timestamp, limit: Int = IdempotencyKeys.expiryLimit) throws -> Int {
        try db.cachedStatement(
            sql: """
                DELETE FROM idempotency_keys WHERE (scope, key) IN (
                    SELECT scope, key FROM idempotency_keys WHERE at < ? ORDER BY at LIMIT ?)
                """
        ).execute(arguments: [now - IdempotencyKeys.lifetime, limit])
        return db.changesCount
    }
}
