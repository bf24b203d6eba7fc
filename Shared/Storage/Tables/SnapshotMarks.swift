// Which facts a snapshot has brought so far, while it comes page by page.

import Contracts
import Foundation
package import GRDB

/// SQL sentences over `snapshot_marks`. What a store knows and no page has named is over, once the last page has come; a snapshot that
/// is broken off leaves marks behind, which the next one clears before it begins.
package struct SnapshotMarks: Sendable {
    /// Marks that one transaction clears at most: they are small and lie side by side.
    package static let clearLimit = 2000

    package init() {}

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE snapshot_marks (
                    stream TEXT NOT NULL,
                    key BLOB NOT NULL,
                    PRIMARY KEY (stream, key)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// In the transaction of what the fact tells.
    /// - Parameter key: what tells the stream's facts apart; opaque here.
    package func mark(_ db: Database, _ stream: String, _ key: [UInt8]) throws {
        try db.run("INSERT OR IGNORE INTO snapshot_marks (stream, key) VALUES (?, ?)") { row in
            row.text(stream)
            row.bytes(key)
        }
    }

    package func isMarked(_ db: Database, _ stream: String, _ key: [UInt8]) throws -> Bool {
        try db.first("SELECT 1 FROM snapshot_marks WHERE stream = ? AND key = ?") { row in
            row.text(stream)
            row.bytes(key)
        } read: { _ in
            true
        } ?? false
    }

    /// Forgets the marks of a stream, at most `limit`.
    /// - Returns: how many; `limit` means that there may be more.
    package func clear(_ db: Database, _ stream: String, limit: Int = SnapshotMarks.clearLimit) throws -> Int {
        try db.cachedStatement(
            sql: """
                DELETE FROM snapshot_marks WHERE stream = :stream
                AND key IN (SELECT key FROM snapshot_marks WHERE stream = :stream ORDER BY key LIMIT :limit)
                """
        ).execute(arguments: ["stream": stream, "limit": limit])
        return db.changesCount
    }
}
