// The consumer's side: how far it has applied what others say.

package import Contracts
package import GRDB

/// SQL sentences over `consumer_positions`. Saved in the transaction of the effect, which makes the effect happen exactly once.
package struct ConsumerPositions: Sendable {
    package init() {}

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE consumer_positions (
                    stream TEXT PRIMARY KEY,
                    epoch TEXT NOT NULL,
                    next INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// Of every stream that was ever followed, by name.
    package func load(_ db: Database) throws -> [StreamPosition] {
        try Row.fetchAll(db.cachedStatement(sql: "SELECT stream, epoch, next FROM consumer_positions ORDER BY stream"))
            .map { StreamPosition(stream: $0[0], epoch: $0[1], next: $0[2]) }
    }

    /// These streams are followed as if they never had been.
    package func forget(_ db: Database, _ streams: [String]) throws {
        let statement = try db.cachedStatement(sql: "DELETE FROM consumer_positions WHERE stream = ?")
        for stream in streams { try statement.execute(arguments: [stream]) }
    }

    /// Replaces what was known of these streams; others stay.
    package func save(_ db: Database, _ positions: [StreamPosition]) throws {
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO consumer_positions (stream, epoch, next) VALUES (?, ?, ?)")
        for position in positions {
            try statement.execute(arguments: [position.stream, position.epoch, position.next])
        }
    }
}
