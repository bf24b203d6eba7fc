// SQL sentences about a store that was restored from a copy: since when, and whether third parties are held until the operator has looked.

import Contracts
import GRDB
import Storage

/// `restores`. What was taken away after the copy (secrets, tokens, endpoints, suspensions) is there again after a restore, and nothing in
/// the store tells: privacy fails closed until `trackme org reopen` (docs/decisions/0046).
struct GatewayRestoreStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE restores (
                    one INTEGER PRIMARY KEY CHECK (one = 1),
                    -- The last one.
                    restored_at INTEGER NOT NULL,
                    is_held INTEGER NOT NULL
                ) STRICT;
                """)
    }

    /// In the transaction of the new epoch.
    func begin(_ db: Database, at now: Timestamp) throws {
        // Invoices are numbered by its second: never by one that has been. A clock that is behind what the copy holds is wrong; the year must
        // not lie before it, and the same copy, put back twice, must not begin the same series.
        let known = [try restoredAt(db), try InvoiceStore.latest(db)].compactMap { $0 }.max()
        let at = known.map { $0 < now ? now : $0 + .seconds(Int64.random(in: 1...86_400)) } ?? now
        try db.execute(sql: "INSERT OR REPLACE INTO restores VALUES (1, ?, 1)", arguments: [at])
        try FeedEpochStore().renew(db, at: now)
    }

    /// - Returns: whether anything was held.
    func reopen(_ db: Database) throws -> Bool {
        try db.execute(sql: "UPDATE restores SET is_held = 0 WHERE is_held")
        return db.changesCount > 0
    }

    func isHeld(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT is_held FROM restores")) ?? false
    }

    /// Nil where it never was.
    func restoredAt(_ db: Database) throws -> Timestamp? {
        try Timestamp.fetchOne(db.cachedStatement(sql: "SELECT restored_at FROM restores"))
    }
}
