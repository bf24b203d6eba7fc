// The publisher's log: what it has said, in order and without gaps, until everybody has it.

package import Contracts
import Foundation
package import GRDB

/// SQL sentences over the tables `stream_epoch`, `stream_heads` and `stream_log`. A fact is appended in the transaction of the
/// change that it tells of, and published after the commit; a transaction that is undone takes its sequence numbers with it.
package struct StreamLog: Sendable {
    package init() {}

    /// For a migration. The epoch is made here, with the store, and never changes with a restart.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE stream_epoch (
                    one INTEGER PRIMARY KEY CHECK (one = 1),
                    epoch TEXT NOT NULL
                ) STRICT;
                INSERT INTO stream_epoch VALUES (1, lower(hex(randomblob(16))));
                CREATE TABLE stream_heads (
                    number INTEGER PRIMARY KEY,
                    stream TEXT NOT NULL UNIQUE,
                    head INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE stream_log (
                    stream INTEGER NOT NULL REFERENCES stream_heads (number),
                    sequence INTEGER NOT NULL,
                    type TEXT NOT NULL,
                    subject BLOB,
                    at INTEGER NOT NULL,
                    trace TEXT NOT NULL,
                    body BLOB NOT NULL,
                    PRIMARY KEY (stream, sequence)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// Random, made with the store: 32 hex digits.
    package func epoch(_ db: Database) throws -> String {
        guard let epoch = try String.fetchOne(db.cachedStatement(sql: "SELECT epoch FROM stream_epoch")) else {
            throw StoreError.settingRefused(name: "stream_epoch", wanted: "one row", found: "none")
        }
        return epoch
    }

    /// For a migration of a store that begins new epochs: how far its log is one with that of each epoch before.
    package static func createFormerEpochs(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE stream_former_epochs (
                    epoch TEXT NOT NULL,
                    stream TEXT NOT NULL,
                    head INTEGER NOT NULL,
                    PRIMARY KEY (epoch, stream)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// After a restore from a copy: consumers must not take what is said from now on for what they already know; `goingOn` says where
    /// each goes on.
    package func renewEpoch(_ db: Database) throws {
        if try keepsFormerEpochs(db) {
            // Where it was known before how far the two logs are one (`part`), that counts.
            try db.execute(
                sql: "INSERT OR IGNORE INTO stream_former_epochs SELECT epoch, stream, head FROM stream_epoch, stream_heads")
        }
        try db.execute(sql: "UPDATE stream_epoch SET epoch = lower(hex(randomblob(16)))")
    }

    /// A consumer has shown that this log was restored: at most up to these heads it is one with what was said before. The new epoch comes
    /// with the next start.
    package func part(_ db: Database, at heads: [String: Int64]) throws {
        guard try keepsFormerEpochs(db) else { return }
        for stream in try self.heads(db).keys {
            try db.execute(
                sql: "INSERT OR IGNORE INTO stream_former_epochs (epoch, stream, head) SELECT epoch, ?, ? FROM stream_epoch",
                arguments: [stream, heads[stream] ?? 0])
        }
    }

    /// The next sequence of a consumer that stands in another epoch: behind all that it has applied of what this log holds. Where the
    /// log does not know that epoch, behind what the consumer had confirmed in one that it knows, or else at the beginning.
    package func goingOn(_ db: Database, from position: StreamPosition, of consumer: Peer) throws -> Int64 {
        guard try keepsFormerEpochs(db) else { return 1 }
        let alike = try Int64.fetchOne(
            db, sql: "SELECT head FROM stream_former_epochs WHERE epoch = ? AND stream = ?", arguments: [position.epoch, position.stream])
        let next = try alike.map { $0 + 1 } ?? Confirmations().nextInFormerEpoch(db, position.stream, of: consumer) ?? 1
        return max(1, min(position.next, next))
    }

    private func keepsFormerEpochs(_ db: Database) throws -> Bool {
        try db.tableExists("stream_former_epochs")
    }

    /// Adds one fact at the end of the stream.
    /// - Parameter body: opaque here; whatever is personal in it is sealed by the caller.
    /// - Returns: its sequence: 1 for a stream's first fact, else the one before plus 1.
    @discardableResult
    package func append(
        _ db: Database, stream: String, type: String, subject: PersonID?, at: Timestamp, trace: String = "", body: [UInt8]
    ) throws -> Int64 {
        let (number, sequence) = try advance(db, stream)
        try insert(db, (number, sequence), type: type, subject: subject, at: at, trace: trace, body: body)
        return sequence
    }

    fileprivate func insert(
        _ db: Database, _ place: (stream: Int64, sequence: Int64), type: String, subject: PersonID?, at: Timestamp, trace: String,
        body: [UInt8]
    ) throws {
        try db.run("INSERT INTO stream_log (stream, sequence, type, subject, at, trace, body) VALUES (?, ?, ?, ?, ?, ?, ?)") { row in
            row.integer(place.stream)
            row.integer(place.sequence)
            row.text(type)
            if let subject { row.bytes(subject.bytes) } else { row.null() }
            row.integer(at.milliseconds)
            row.text(trace)
            row.bytes(body)
        }
    }

    private func advance(_ db: Database, _ stream: String) throws -> (number: Int64, sequence: Int64) {
        guard let known = try place(db, stream) else {
            try db.run("INSERT INTO stream_heads (stream, head) VALUES (?, 1)") { $0.text(stream) }
            return (db.lastInsertedRowID, 1)
        }
        try setHead(db, known.number, known.head + 1)
        return (known.number, known.head + 1)
    }

    fileprivate func place(_ db: Database, _ stream: String) throws -> (number: Int64, head: Int64)? {
        try db.first("SELECT number, head FROM stream_heads WHERE stream = ?") {
            $0.text(stream)
        } read: {
            ($0.integer(0), $0.integer(1))
        }
    }

    fileprivate func setHead(_ db: Database, _ number: Int64, _ head: Int64) throws {
        try db.run("UPDATE stream_heads SET head = ? WHERE number = ?") { row in
            row.integer(head)
            row.integer(number)
        }
    }

    /// The sequence of the stream's last fact; 0 where there was none yet.
    package func head(_ db: Database, _ stream: String) throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT head FROM stream_heads WHERE stream = ?"), arguments: [stream]) ?? 0
    }

    /// Heads of all streams that have ever had a fact.
    package func heads(_ db: Database) throws -> [String: Int64] {
        let rows = try Row.fetchAll(db.cachedStatement(sql: "SELECT stream, head FROM stream_heads"))
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
    }

    /// The lowest sequence that the log still holds; head + 1 where it holds none.
    package func oldest(_ db: Database, _ stream: String) throws -> Int64 {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT coalesce((SELECT min(sequence) FROM stream_log WHERE stream = number), head + 1)
                    FROM stream_heads WHERE stream = ?
                    """), arguments: [stream]) ?? 1
    }

    /// Facts `from...through` that the log still holds, oldest first, at most `limit`. The sizes of bodies are the caller's care.
    /// - Parameter subject: whom they are about; everybody unless told. All rows between are looked at.
    package func rows(
        _ db: Database, _ stream: String, from: Int64, through: Int64 = .max, about subject: PersonID? = nil, limit: Int
    ) throws -> [StreamRow] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT sequence, type, subject, at, trace, body FROM stream_log
                WHERE stream = (SELECT number FROM stream_heads WHERE stream = ?) AND sequence BETWEEN ? AND ?
                    \(subject == nil ? "" : "AND subject = ?")
                ORDER BY sequence LIMIT ?
                """)
        var rows: [StreamRow] = []
        let about: StatementArguments = subject.map { [$0] } ?? []
        let cursor = try Row.fetchCursor(statement, arguments: [stream, from, through] + about + [limit])
        while let row = try cursor.next() {
            try rows.append(
                StreamRow(
                    stream: stream, sequence: row[0], type: row[1], subject: row.value(2), at: row[3], trace: row[4], body: row.bytes(5)))
        }
        return rows
    }
}

// MARK: Forgetting

extension StreamLog {
    /// Most rows that one call of `release` takes away, and one step of `erase` changes, so that the writer is never held up for long:
    /// some milliseconds.
    package static let releaseLimit = 500

    /// Whether the stream's oldest row is older than that: for a read, so that the writer is not asked in vain.
    package func hasOlder(_ db: Database, _ stream: String, than before: Timestamp) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT at < ? FROM stream_log WHERE stream = (SELECT number FROM stream_heads WHERE stream = ?)
                    ORDER BY sequence LIMIT 1
                    """), arguments: [before, stream]) ?? false
    }

    /// Deletes the stream's oldest rows that are older than `before` and that each of `consumers` has confirmed, at most `limit`.
    /// Forgotten consumers do not count; with no consumers age alone decides.
    /// - Returns: how many; `limit` means that there may be more.
    package func release(
        _ db: Database, _ stream: String, before: Timestamp, confirmedBy consumers: [Peer], limit: Int = StreamLog.releaseLimit
    ) throws -> Int {
        let confirmed = try Confirmations().next(db, stream, of: consumers, epoch: epoch(db))
        try db.cachedStatement(
            sql: """
                WITH oldest AS MATERIALIZED (
                    SELECT sequence, at FROM stream_log
                    WHERE stream = (SELECT number FROM stream_heads WHERE stream = :stream) AND sequence < :confirmed
                    ORDER BY sequence LIMIT :limit)
                DELETE FROM stream_log
                WHERE stream = (SELECT number FROM stream_heads WHERE stream = :stream)
                AND sequence <= (SELECT max(sequence) FROM oldest)
                AND sequence < coalesce((SELECT min(sequence) FROM oldest WHERE at >= :before), :confirmed)
                """
        ).execute(arguments: ["stream": stream, "confirmed": confirmed, "limit": limit, "before": before])
        return db.changesCount
    }

    /// Turns the person's facts among `range` into `erased` ones: they keep their place and lose type, subject, trace and body.
    /// There is no index by person, which every append would pay for: this looks at each row of the range. For a few rows.
    /// - Returns: how many facts it turned.
    package func erase(_ db: Database, _ subject: PersonID, in stream: String, range: ClosedRange<Int64>) throws -> Int {
        try erase(db, try sequences(db, of: subject, in: stream, range: range), in: stream)
    }

    /// As `erase(_:_:in:range:)` over everything that the streams hold. Rows are looked for in reads, `slice` at a time; the writer is
    /// given their places and turns a few at a time, between which other writes go on.
    /// What is appended about the person meanwhile is not covered: end that first.
    package func erase(_ subject: PersonID, in streams: [String], of store: Store, slice: Int64 = 20_000) async throws -> Int {
        var erased = 0
        for stream in streams {
            let held = try await store.read { db in (from: try oldest(db, stream), through: try head(db, stream)) }
            var next = held.from
            while next <= held.through {
                let range = next...min(held.through, next + slice - 1)
                let found = try await store.read { db in try sequences(db, of: subject, in: stream, range: range) }
                for start in stride(from: 0, to: found.count, by: StreamLog.releaseLimit) {
                    let step = Array(found[start..<min(found.count, start + StreamLog.releaseLimit)])
                    erased += try await store.write { db in try erase(db, step, in: stream) }
                }
                next = range.upperBound + 1
            }
        }
        return erased
    }

    private func sequences(_ db: Database, of subject: PersonID, in stream: String, range: ClosedRange<Int64>) throws -> [Int64] {
        try Int64.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT sequence FROM stream_log
                    WHERE stream = (SELECT number FROM stream_heads WHERE stream = ?) AND sequence BETWEEN ? AND ? AND subject = ?
                    """), arguments: [stream, range.lowerBound, range.upperBound, subject])
    }

    private func erase(_ db: Database, _ sequences: [Int64], in stream: String) throws -> Int {
        guard let (number, _) = try place(db, stream) else { return 0 }
        let statement = try db.cachedStatement(
            sql: "UPDATE stream_log SET type = ?, subject = NULL, trace = '', body = x'' WHERE stream = ? AND sequence = ?")
        var erased = 0
        for sequence in sequences {
            try statement.execute(arguments: [StreamHeader.erased, number, sequence])
            erased += db.changesCount
        }
        return erased
    }
}

// MARK: Many facts in one body

extension StreamLog {
    /// Appends many facts within one body and touches each stream's head once. Between the first `append` and `finish` nobody else
    /// appends to these streams; without `finish` the body must throw.
    package struct Appending {
        private let log = StreamLog()
        private var places: [String: (number: Int64, head: Int64)] = [:]

        package init() {}

        /// As `StreamLog.append`.
        package mutating func append(
            _ db: Database, stream: String, type: String, subject: PersonID?, at: Timestamp, trace: String, body: [UInt8]
        ) throws -> Int64 {
            guard var place = try places[stream] ?? log.place(db, stream) else {
                let sequence = try log.append(db, stream: stream, type: type, subject: subject, at: at, trace: trace, body: body)
                places[stream] = try log.place(db, stream)
                return sequence
            }
            place.head += 1
            try log.insert(db, (place.number, place.head), type: type, subject: subject, at: at, trace: trace, body: body)
            places[stream] = place
            return place.head
        }

        /// In the body of the appends, after the last of them.
        package func finish(_ db: Database) throws {
            for place in places.values { try log.setHead(db, place.number, place.head) }
        }
    }
}
