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
struct ChunkTable: Sendable {
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

    /// The highest id that a chunk has ever had, also one that is gone; 0 in an empty store.
    func highestID(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'chunks'")) ?? 0
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
    }

    func delete(_ db: Database, ids: [Int64]) throws {
        for id in ids {
            try db.cachedStatement(sql: "DELETE FROM chunks WHERE id = ?").execute(arguments: [id])
        }
    }

    /// Chunks of one person whose last entry is older, with the sequence of the log's row that names each; 0 where none does.
    func ended(_ db: Database, of person: Int64, before time: Timestamp, limit: Int) throws -> [(id: Int64, sequence: Int64)] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT id, sequence FROM chunks WHERE person = ? AND last < ? LIMIT ?"),
            arguments: [person, time.milliseconds, limit]
        ).map { (id: $0[0], sequence: $0[1]) }
    }

    // MARK: What there is

    /// Metrics of which the person has entries, by number.
    func metrics(_ db: Database, of person: Int64) throws -> [Metric] {
        let statement = try db.cachedStatement(sql: "SELECT min(metric) FROM chunks WHERE person = ? AND metric > ?")
        var found: [Metric] = []
        var last: Int64 = -1
        while let next = try Int64.fetchOne(statement, arguments: [person, last]) {
            if let metric = UInt8(exactly: next).flatMap(Metric.init(number:)) { found.append(metric) }
            last = next
        }
        return found
    }

    /// Lengths that the series' chunks have; each is one range of the index in every search.
    func spanClasses(_ db: Database, of series: Series) throws -> [SpanClass] {
        let statement = try db.cachedStatement(
            sql: "SELECT min(span_class) FROM chunks WHERE person = ? AND metric = ? AND span_class > ?")
        var found: [SpanClass] = []
        var last = -1
        while let next = try Int.fetchOne(statement, arguments: [series.person, Int64(series.metric.number), last]) {
            found.append(SpanClass(exponent: next))
            last = next
        }
        return found
    }

    /// The time of the series' newest entry; nil for an empty one.
    func newest(_ db: Database, of series: Series, classes: [SpanClass]) throws -> Int64? {
        var newest: Int64?
        for span in classes {
            let begin = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT max(first) FROM chunks WHERE person = ? AND metric = ? AND span_class = ?"),
                arguments: [series.person, Int64(series.metric.number), span.exponent])
            guard let begin else { continue }
            // Whatever of this class ends later than the last one begins, begins within the class's length before.
            let end = try Int64.fetchOne(
                db.cachedStatement(
                    sql: "SELECT max(last) FROM chunks WHERE person = ? AND metric = ? AND span_class = ? AND first >= ?"),
                arguments: [series.person, Int64(series.metric.number), span.exponent, span.earliestStart(reaching: begin)])
            newest = max(newest ?? .min, end ?? begin)
        }
        return newest
    }

    // MARK: Searching

    private static let columns = "id, metric, first, last, count, device, body"

    /// Chunks of one class that reach into `period`, with a higher id than `after`, in order of their beginning.
    private static let reaching = """
        FROM chunks WHERE person = ? AND metric = ? AND span_class = ? AND first BETWEEN ? AND ? AND last >= ? AND id > ?
        ORDER BY first
        """

    private func arguments(_ series: Series, _ span: SpanClass, _ period: Range<Int64>, after id: Int64) -> StatementArguments {
        [
            series.person, Int64(series.metric.number), span.exponent, span.earliestStart(reaching: period.lowerBound),
            period.upperBound - 1, period.lowerBound, id,
        ]
    }

    /// Gives `each` chunk that reaches into `period`, has a higher id than `after` and is needed by what it says in the open.
    func each(
        _ db: Database, of series: Series, in period: Range<Int64>, after id: Int64 = 0,
        where isNeeded: (ChunkOutline) -> Bool = { _ in true }, _ each: (ChunkRow) throws -> Void
    ) throws {
        guard !period.isEmpty else { return }
        for span in try spanClasses(db, of: series) {
            let statement = try db.cachedStatement(sql: "SELECT \(Self.columns) \(Self.reaching)")
            let rows = try Row.fetchCursor(statement, arguments: arguments(series, span, period, after: id))
            while let row = try rows.next() {
                guard isNeeded(ChunkOutline(first: row[2], last: row[3], count: row[4])), let chunk = ChunkRow(row) else { continue }
                try each(chunk)
            }
        }
    }

    /// What stands in the open of the chunks within `period`, with the number of their device: enough where nothing need be opened.
    func eachOutline(
        _ db: Database, of series: Series, in period: Range<Int64>,
        _ each: (_ id: Int64, _ outline: ChunkOutline, _ device: Int64) throws -> Void
    ) throws {
        guard !period.isEmpty else { return }
        for span in try spanClasses(db, of: series) {
            let statement = try db.cachedStatement(sql: "SELECT id, first, last, count, device \(Self.reaching)")
            let rows = try Row.fetchCursor(statement, arguments: arguments(series, span, period, after: 0))
            while let row = try rows.next() {
                try each(row[0], ChunkOutline(first: row[1], last: row[2], count: row[3]), row[4])
            }
        }
    }

    /// Ids and beginnings of the chunks of one class that are needed for the first `limit` entries of `period`: those that reach
    /// into its beginning, and so many of those that begin within it.
    func needed(
        _ db: Database, of series: Series, class span: SpanClass, in period: Range<Int64>, limit: Int
    ) throws -> [(id: Int64, first: Int64)] {
        let number = Int64(series.metric.number)
        var found: [(id: Int64, first: Int64)] = []
        let before = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT id, first FROM chunks WHERE person = ? AND metric = ? AND span_class = ? AND first >= ? AND first < ?
                    AND last >= ?
                    """),
            arguments: [
                series.person, number, span.exponent, span.earliestStart(reaching: period.lowerBound), period.lowerBound, period.lowerBound,
            ])
        while let row = try before.next() { found.append((row[0], row[1])) }
        let within = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT id, first FROM chunks WHERE person = ? AND metric = ? AND span_class = ? AND first >= ? AND first < ?
                    ORDER BY first LIMIT ?
                    """),
            arguments: [series.person, number, span.exponent, period.lowerBound, period.upperBound, limit])
        while let row = try within.next() { found.append((row[0], row[1])) }
        return found
    }

    func chunk(_ db: Database, id: Int64) throws -> ChunkRow? {
        try Row.fetchOne(db.cachedStatement(sql: "SELECT \(Self.columns) FROM chunks WHERE id = ?"), arguments: [id])
            .flatMap(ChunkRow.init)
    }

    /// Whether a chunk of the series came after `id`. Looks at what came since, not at the whole series.
    func hasNewer(_ db: Database, of series: Series, than id: Int64) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM chunks NOT INDEXED WHERE id > ? AND person = ? AND metric = ?)"),
            arguments: [id, series.person, Int64(series.metric.number)]) ?? false
    }

    private static let lyingWithin =
        "FROM chunks WHERE person = ? AND metric = ? AND span_class = ? AND first >= ? AND first < ? AND last < ?"

    private func within(_ period: Range<Int64>, _ series: Series, _ span: SpanClass) -> StatementArguments {
        [series.person, Int64(series.metric.number), span.exponent, period.lowerBound, period.upperBound, period.upperBound]
    }

    /// The highest sequence of a log row that names a chunk wholly within `period`; 0 where none does.
    func highestSequence(_ db: Database, of series: Series, within period: Range<Int64>) throws -> Int64 {
        try spanClasses(db, of: series).reduce(0) { highest, span in
            let statement = try db.cachedStatement(sql: "SELECT max(sequence) \(Self.lyingWithin)")
            return max(highest, try Int64.fetchOne(statement, arguments: within(period, series, span)) ?? 0)
        }
    }

    /// Chunks that lie wholly within `period`.
    func chunks(_ db: Database, of series: Series, within period: Range<Int64>) throws -> [ChunkRow] {
        try spanClasses(db, of: series).flatMap { span in
            try Row.fetchAll(
                db.cachedStatement(sql: "SELECT \(Self.columns) \(Self.lyingWithin)"), arguments: within(period, series, span)
            ).compactMap(ChunkRow.init)
        }
    }
}

extension ChunkRow {
    /// Reads `id, metric, first, last, count, device, body`; nil for a metric that this program does not know.
    fileprivate init?(_ row: Row) {
        guard let metric = UInt8(exactly: row[1] as Int64).flatMap(Metric.init(number:)) else { return nil }
        self.init(
            id: row[0], metric: metric, outline: ChunkOutline(first: row[2], last: row[3], count: row[4]), device: row[5],
            body: [UInt8](row[6] as Data))
    }
}
