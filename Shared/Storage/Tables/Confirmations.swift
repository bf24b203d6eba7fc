// The publisher's side of consumers' progress: who has durably applied what.

package import Contracts
package import GRDB

/// SQL sentences over `stream_confirmations` and `stream_forgotten_consumers`.
package struct Confirmations: Sendable {
    package init() {}

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE stream_confirmations (
                    consumer TEXT NOT NULL,
                    stream TEXT NOT NULL,
                    epoch TEXT NOT NULL,
                    next INTEGER NOT NULL,
                    PRIMARY KEY (consumer, stream)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE stream_forgotten_consumers (
                    consumer TEXT PRIMARY KEY
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// Remembers how far the consumer is; it never goes back. What is said in another epoch than the log's is skipped: where a consumer
    /// was before a restore still counts (`StreamLog.goingOn`). A consumer that had been forgotten counts again.
    package func save(_ db: Database, of consumer: Peer, _ positions: [StreamPosition]) throws {
        try db.cachedStatement(sql: "DELETE FROM stream_forgotten_consumers WHERE consumer = ?").execute(arguments: [consumer.name])
        let own = try StreamLog().epoch(db)
        for position in positions where position.epoch == own {
            try db.cachedStatement(
                sql: """
                    INSERT INTO stream_confirmations (consumer, stream, epoch, next) VALUES (?, ?, ?, ?)
                    ON CONFLICT (consumer, stream) DO UPDATE SET epoch = excluded.epoch,
                    next = CASE WHEN epoch = excluded.epoch THEN max(next, excluded.next) ELSE excluded.next END
                    """
            ).execute(arguments: [consumer.name, position.stream, position.epoch, position.next])
        }
    }

    /// The first sequence that not all of `consumers` have: everything below it may go. 1 while one of them has confirmed nothing
    /// in this epoch, `Int64.max` where no consumer counts.
    package func next(_ db: Database, _ stream: String, of consumers: [Peer], epoch: String) throws -> Int64 {
        var lowest = Int64.max
        for consumer in consumers where try !isForgotten(db, consumer) {
            let next = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT next FROM stream_confirmations WHERE consumer = ? AND stream = ? AND epoch = ?"),
                arguments: [consumer.name, stream, epoch])
            lowest = min(lowest, next ?? 1)
        }
        return lowest
    }

    /// What the consumer had confirmed before the log began its epoch, where it has confirmed nothing since; nil where that is not known.
    func nextInFormerEpoch(_ db: Database, _ stream: String, of consumer: Peer) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT next FROM stream_confirmations AS confirmed WHERE consumer = ? AND stream = ?
                AND EXISTS (SELECT 1 FROM stream_former_epochs AS former WHERE former.epoch = confirmed.epoch AND former.stream = confirmed.stream)
                """, arguments: [consumer.name, stream])
    }

    /// What a consumer has confirmed, by stream, for those who watch how far behind it is.
    package func positions(_ db: Database, of consumer: Peer) throws -> [StreamPosition] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT stream, epoch, next FROM stream_confirmations WHERE consumer = ? ORDER BY stream"),
            arguments: [consumer.name]
        ).map { StreamPosition(stream: $0[0], epoch: $0[1], next: $0[2]) }
    }

    /// Everybody who has confirmed something and was not forgotten since.
    package func consumers(_ db: Database) throws -> [Peer] {
        try String.fetchAll(db, sql: "SELECT DISTINCT consumer FROM stream_confirmations ORDER BY consumer").map { Peer($0) }
    }

    /// The log no longer waits for this consumer, until it confirms something again.
    package func forget(_ db: Database, _ consumer: Peer) throws {
        try db.execute(sql: "DELETE FROM stream_confirmations WHERE consumer = ?", arguments: [consumer.name])
        try db.execute(sql: "INSERT OR IGNORE INTO stream_forgotten_consumers VALUES (?)", arguments: [consumer.name])
    }

    /// Until it confirms something again.
    package func isForgotten(_ db: Database, _ consumer: Peer) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT 1 FROM stream_forgotten_consumers WHERE consumer = ?"), arguments: [consumer.name]) ?? false
    }
}
