// SQL sentences about chunks: sealed columns of samples, found by person, metric and time.

import Contracts
import Foundation
import GRDB
import Storage

/// One row: what stands in the open and the sealed columns.
struct ChunkRow: Sendable {
    let id: Int64
    let metric: Metric
    let outline: ChunkOutline
    /// The device's number in this store.
    let device: Int64
    let body: [UInt8]
}

/// A chunk that is about to be stored.
struct SealedChunk: Sendable {
    let series: Series
    let outline: ChunkOutline
    let device: Int64
    let body: [UInt8]
}

/// Chunks are never changed: they are added by uploads, and replaced by larger ones in compaction. Ids grow in the order of
/// commits, so that "everything up to id n" names a state of a series.
///
/// The index of times, `chunk_times`, is filled in batches and holds every chunk up to the id in `chunk_times_filled`. Later ones are
/// in `fresh`, or found by reading the rows above that id. Chunks go by `delete` alone, which takes them out of the index.
struct ChunkStore: Sendable {
    let fresh: FreshChunks

    /// Reads which chunks the index does not have. To be made once for a store, before anything is written.
    init(_ db: Database) throws {
        let filled = try Self.filled(db)
        fresh = FreshChunks(settledThrough: filled)
        let rows = try Row.fetchCursor(
            db, sql: "SELECT id, person, metric, first, last FROM chunks WHERE id > ? ORDER BY id", arguments: [filled])
        while let row = try rows.next() {
            let series = Series.word(row[1], metric: UInt8(truncatingIfNeeded: row[2] as Int64))
            fresh.add(.init(id: row[0], first: row[3], last: row[4]), to: series)
        }
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE chunks (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    person INTEGER NOT NULL REFERENCES people (number),
                    metric INTEGER NOT NULL,
                    span_class INTEGER NOT NULL,
                    first INTEGER NOT NULL,
                    last INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    device INTEGER NOT NULL REFERENCES devices (number),
                    sequence INTEGER NOT NULL,
                    body BLOB NOT NULL
                ) STRICT;
                CREATE INDEX chunks_by_time ON chunks (person, metric, span_class, first, last);
                """)
    }

    /// Fourth step: an index of its own for times. Chunks refer to people and devices no longer: when a device went, SQLite searched
    /// all chunks of everybody for it.
    static func separateTimes(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE chunks_alone (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    person INTEGER NOT NULL,
                    metric INTEGER NOT NULL,
                    span_class INTEGER NOT NULL,
                    first INTEGER NOT NULL,
                    last INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    device INTEGER NOT NULL,
                    sequence INTEGER NOT NULL,
                    body BLOB NOT NULL
                ) STRICT;
                INSERT INTO chunks_alone SELECT id, person, metric, span_class, first, last, count, device, sequence, body FROM chunks;
                DELETE FROM sqlite_sequence WHERE name = 'chunks_alone';
                INSERT INTO sqlite_sequence (name, seq) SELECT 'chunks_alone', seq FROM sqlite_sequence WHERE name = 'chunks';
                CREATE TABLE chunk_times (
                    person INTEGER NOT NULL,
                    metric INTEGER NOT NULL,
                    span_class INTEGER NOT NULL,
                    first INTEGER NOT NULL,
                    last INTEGER NOT NULL,
                    chunk INTEGER NOT NULL,
                    PRIMARY KEY (person, metric, span_class, first, last, chunk)
                ) STRICT, WITHOUT ROWID;
                INSERT INTO chunk_times SELECT person, metric, span_class, first, last, id FROM chunks ORDER BY 1, 2, 3, 4, 5, 6;
                CREATE TABLE chunk_times_filled (through INTEGER NOT NULL) STRICT;
                INSERT INTO chunk_times_filled SELECT coalesce(max(id), 0) FROM chunks;
                DROP TABLE chunks;
                ALTER TABLE chunks_alone RENAME TO chunks;
                CREATE TRIGGER chunk_times_of_deleted AFTER DELETE ON chunks BEGIN
                    DELETE FROM chunk_times WHERE person = old.person AND metric = old.metric AND span_class = old.span_class
                        AND first = old.first AND last = old.last AND chunk = old.id;
                END;
                """)
    }

    /// Fifth step: without AUTOINCREMENT, which changes a row of SQLite's own at each insertion. The ids are given by the writer
    /// (`SeriesMemory.nextChunk`); only when a chunk goes its id is noted, so that it is not given again.
    static func giveOwnIDs(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE chunks_plain (
                    id INTEGER PRIMARY KEY,
                    person INTEGER NOT NULL,
                    metric INTEGER NOT NULL,
                    span_class INTEGER NOT NULL,
                    first INTEGER NOT NULL,
                    last INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    device INTEGER NOT NULL,
                    sequence INTEGER NOT NULL,
                    body BLOB NOT NULL
                ) STRICT;
                INSERT INTO chunks_plain
                    SELECT id, person, metric, span_class, first, last, count, device, sequence, body FROM chunks ORDER BY id;
                CREATE TABLE chunk_ids (gone INTEGER NOT NULL) STRICT;
                INSERT INTO chunk_ids SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunks'), 0);
                DROP TABLE chunks;
                ALTER TABLE chunks_plain RENAME TO chunks;
                CREATE TRIGGER chunk_times_of_deleted AFTER DELETE ON chunks BEGIN
                    UPDATE chunk_ids SET gone = old.id WHERE gone < old.id;
                    DELETE FROM chunk_times WHERE person = old.person AND metric = old.metric AND span_class = old.span_class
                        AND first = old.first AND last = old.last AND chunk = old.id;
                END;
                """)
    }

    /// Ninth step: no trigger, since `delete` does what it did, and a primary key for the tables of one row.
    static func dropTrigger(in db: Database) throws {
        try db.execute(
            sql: """
                DROP TRIGGER IF EXISTS chunk_times_of_deleted;
                CREATE TABLE chunk_times_filled_keyed (one INTEGER PRIMARY KEY CHECK (one = 1), through INTEGER NOT NULL) STRICT;
                INSERT INTO chunk_times_filled_keyed SELECT 1, coalesce(max(through), 0) FROM chunk_times_filled;
                DROP TABLE chunk_times_filled;
                ALTER TABLE chunk_times_filled_keyed RENAME TO chunk_times_filled;
                CREATE TABLE chunk_ids_keyed (one INTEGER PRIMARY KEY CHECK (one = 1), gone INTEGER NOT NULL) STRICT;
                INSERT INTO chunk_ids_keyed SELECT 1, coalesce(max(gone), 0) FROM chunk_ids;
                DROP TABLE chunk_ids;
                ALTER TABLE chunk_ids_keyed RENAME TO chunk_ids;
                """)
    }

    /// The highest id that a chunk has ever had, also one that is gone; 0 in an empty store.
    func highestID(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT max(coalesce((SELECT max(id) FROM chunks), 0), (SELECT gone FROM chunk_ids))")) ?? 0
    }

    /// - Parameter sequence: of the row of the person's stream that names the chunk; 0 where none does.
    func insert(_ db: Database, _ chunk: SealedChunk, id: Int64, sequence: Int64) throws {
        try db.run(
            """
            INSERT INTO chunks (id, person, metric, span_class, first, last, count, device, sequence, body)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ) { row in
            row.integer(id)
            row.integer(chunk.series.person)
            row.integer(Int64(chunk.series.metric.number))
            row.integer(chunk.outline.spanClass.exponent)
            row.integer(chunk.outline.first)
            row.integer(chunk.outline.last)
            row.integer(chunk.outline.count)
            row.integer(chunk.device)
            row.integer(sequence)
            row.bytes(chunk.body)
        }
        fresh.add(.init(id: id, first: chunk.outline.first, last: chunk.outline.last), to: chunk.series)
    }

    /// Takes chunks out of the store and of its index of times. Those that are not there are skipped.
    /// - Returns: how many there were.
    @discardableResult
    func delete(_ db: Database, ids: [Int64]) throws -> Int {
        var (count, highest) = (0, Int64(0))
        for id in ids {
            try db.run(
                """
                DELETE FROM chunk_times WHERE (person, metric, span_class, first, last, chunk) =
                    (SELECT person, metric, span_class, first, last, id FROM chunks WHERE id = ?)
                """
            ) { $0.integer(id) }
            try db.run("DELETE FROM chunks WHERE id = ?") { $0.integer(id) }
            guard db.changesCount > 0 else { continue }
            (count, highest) = (count + 1, max(highest, id))
        }
        guard count > 0 else { return 0 }
        // An id that was given is not given again.
        try db.run("UPDATE chunk_ids SET gone = ? WHERE gone < ?") { row in
            row.integer(highest)
            row.integer(highest)
        }
        return count
    }

    /// Deletes chunks of one person.
    /// - Returns: how many; `limit` means that there may be more.
    func erase(_ db: Database, of person: Int64, limit: Int) throws -> Int {
        let indexed = try db.all("SELECT chunk FROM chunk_times WHERE person = ? LIMIT ?") { row in
            row.integer(person)
            row.integer(Int64(limit))
        } read: {
            $0.integer(0)
        }
        var count = try delete(db, ids: indexed)
        let filled = try Self.filled(db)
        for metric in Metric.all where count < limit {
            for chunk in try later(db, of: Series(person: person, metric: metric), above: filled) where count < limit {
                count += try delete(db, ids: [chunk.id])
            }
        }
        return count
    }

    // MARK: The index of times

    /// The index has every chunk up to this id. While a batch is being written it has later ones too.
    static func filled(_ db: Database) throws -> Int64 {
        try db.first("SELECT through FROM chunk_times_filled") { _ in
        } read: {
            $0.integer(0)
        } ?? 0
    }

    /// Writes chunks into the index, where they still are; to do so twice changes nothing.
    func settle(_ db: Database, ids: ArraySlice<Int64>) throws {
        for id in ids {
            try db.run(
                """
                INSERT OR IGNORE INTO chunk_times SELECT person, metric, span_class, first, last, id FROM chunks WHERE id = ?
                """
            ) { $0.integer(id) }
        }
    }

    /// Every chunk up to `id` was settled.
    func noteSettled(_ db: Database, through id: Int64) throws {
        try db.cachedStatement(sql: "UPDATE chunk_times_filled SET through = max(through, ?)").execute(arguments: [id])
    }

    /// The series' chunks with a higher id that the index does not have. Some may be gone.
    func later(_ db: Database, of series: Series, after id: Int64 = 0) throws -> ArraySlice<FreshChunks.Chunk> {
        try later(db, of: series, above: max(id, Self.filled(db)))
    }

    /// The same for whoever asks of many series, and for `filled` once.
    /// - Parameter id: not below `filled`.
    func later(_ db: Database, of series: Series, above id: Int64) throws -> ArraySlice<FreshChunks.Chunk> {
        if let known = fresh.chunks(of: series, after: id) { return known }
        // What this reader sees is older than the memory.
        let statement = try db.cachedStatement(
            sql: "SELECT id, first, last FROM chunks WHERE id > ? AND person = ? AND metric = ? ORDER BY id")
        return try Row.fetchAll(statement, arguments: [id, series.person, Int64(series.metric.number)])
            .map { FreshChunks.Chunk(id: $0[0], first: $0[1], last: $0[2]) }[...]
    }
}
