// SQL sentences that find chunks by person, metric and time: through the index as far as it goes, one by one above.

import Contracts
import Foundation
import GRDB
import Storage

extension ChunkStore {
    // MARK: What there is

    /// Metrics of which the person has entries, by number.
    func metrics(_ db: Database, of person: Int64) throws -> [Metric] {
        let statement = try db.cachedStatement(sql: "SELECT min(metric) FROM chunk_times WHERE person = ? AND metric > ?")
        var found: Set<UInt8> = []
        var last: Int64 = -1
        while let next = try Int64.fetchOne(statement, arguments: [person, last]) {
            if let number = UInt8(exactly: next) { found.insert(number) }
            last = next
        }
        let filled = try Self.filled(db)
        return try Metric.all.filter { metric in
            if found.contains(metric.number) { return true }
            return try later(db, of: Series(person: person, metric: metric), above: filled).contains { try exists(db, $0) }
        }
    }

    /// The time of the series' newest entry; nil for an empty one.
    func newest(_ db: Database, of series: Series) throws -> Int64? {
        let indexed = try newestIndexed(db, of: series)
        let later = try later(db, of: series).filter { $0.last > indexed ?? .min }.sorted { $0.last > $1.last }
        return try later.first { try exists(db, $0) }?.last ?? indexed
    }

    private func newestIndexed(_ db: Database, of series: Series) throws -> Int64? {
        var newest: Int64?
        for span in try spanClasses(db, of: series) {
            let begin = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT max(first) FROM chunk_times WHERE person = ? AND metric = ? AND span_class = ?"),
                arguments: [series.person, Int64(series.metric.number), span.exponent])
            guard let begin else { continue }
            // Whatever of this class ends later than the last one begins, begins within the class's length before.
            let end = try Int64.fetchOne(
                db.cachedStatement(
                    sql: "SELECT max(last) FROM chunk_times WHERE person = ? AND metric = ? AND span_class = ? AND first >= ?"),
                arguments: [series.person, Int64(series.metric.number), span.exponent, span.earliestStart(reaching: begin)])
            newest = max(newest ?? .min, end ?? begin)
        }
        return newest
    }

    private func exists(_ db: Database, _ chunk: FreshChunks.Chunk) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM chunks WHERE id = ?)"), arguments: [chunk.id]) ?? false
    }

    /// Lengths that the series' chunks in the index have; each is one range of it in every search.
    private func spanClasses(_ db: Database, of series: Series) throws -> [SpanClass] {
        var found: [SpanClass] = []
        var last: Int64 = -1
        while let next = try spanClass(db, of: series, after: last) {
            found.append(SpanClass(exponent: Int(next)))
            last = next
        }
        return found
    }

    private func spanClass(_ db: Database, of series: Series, after exponent: Int64) throws -> Int64? {
        try db.first("SELECT span_class FROM chunk_times WHERE person = ? AND metric = ? AND span_class > ? ORDER BY span_class LIMIT 1") {
            row in
            row.integer(series.person)
            row.integer(Int64(series.metric.number))
            row.integer(exponent)
        } read: {
            $0.integer(0)
        }
    }

    // MARK: Searching

    private static let columns = "chunks.id, chunks.metric, chunks.first, chunks.last, count, device, body"

    /// Gives `each` chunk that reaches into `period`, has a higher id than `after` and is needed by its unsealed attributes. Those of
    /// one length come in order of their beginning.
    func each(
        _ db: Database, of series: Series, in period: Range<Int64>, after id: Int64 = 0,
        where isNeeded: (ChunkOutline) -> Bool = { _ in true }, _ each: (ChunkRow) throws -> Void
    ) throws {
        guard !period.isEmpty else { return }
        try indexed(db, Self.columns, of: series, in: period, after: id) { row in
            guard isNeeded(ChunkOutline(first: row[2], last: row[3], count: row[4])), let chunk = try ChunkRow(row) else { return }
            try each(chunk)
        }
        for later in try reaching(into: period, db, of: series, after: id) {
            if let chunk = try self.chunk(db, id: later.id), isNeeded(chunk.outline) { try each(chunk) }
        }
    }

    /// What stands in the open of the chunks within `period`, with the number of their device: enough where nothing need be opened.
    func eachOutline(
        _ db: Database, of series: Series, in period: Range<Int64>,
        _ each: (_ id: Int64, _ outline: ChunkOutline, _ device: Int64) throws -> Void
    ) throws {
        guard !period.isEmpty else { return }
        let columns = "chunks.id, chunks.first, chunks.last, count, device"
        try indexed(db, columns, of: series, in: period, after: 0) { row in
            try each(row[0], ChunkOutline(first: row[1], last: row[2], count: row[3]), row[4])
        }
        let single = try db.cachedStatement(sql: "SELECT \(columns) FROM chunks WHERE id = ?")
        for chunk in try reaching(into: period, db, of: series) {
            guard let row = try Row.fetchOne(single, arguments: [chunk.id]) else { continue }
            try each(row[0], ChunkOutline(first: row[1], last: row[2], count: row[3]), row[4])
        }
    }

    /// Those that the index has. - Parameter each: given rows that are gone when it returns.
    private func indexed(
        _ db: Database, _ columns: String, of series: Series, in period: Range<Int64>, after id: Int64, _ each: (Row) throws -> Void
    ) throws {
        let filled = try Self.filled(db)
        guard id < filled else { return }
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(columns) FROM chunk_times AS t CROSS JOIN chunks ON chunks.id = t.chunk
                WHERE t.person = ? AND t.metric = ? AND t.span_class = ? AND t.first BETWEEN ? AND ? AND t.last >= ? AND t.chunk > ?
                AND t.chunk <= ?
                ORDER BY t.first
                """)
        for span in try spanClasses(db, of: series) {
            let rows = try Row.fetchCursor(
                statement,
                arguments: [
                    series.person, Int64(series.metric.number), span.exponent, span.earliestStart(reaching: period.lowerBound),
                    period.upperBound - 1, period.lowerBound, id, filled,
                ])
            while let row = try rows.next() { try each(row) }
        }
    }

    /// Those that the index does not have, in order of their beginning.
    private func reaching(
        into period: Range<Int64>, _ db: Database, of series: Series, after id: Int64 = 0
    ) throws -> [FreshChunks.Chunk] {
        try later(db, of: series, after: id).filter { $0.first < period.upperBound && $0.last >= period.lowerBound }
            .sorted { $0.first < $1.first }
    }

    /// Ids and beginnings of the chunks that are needed for the first `limit` entries of `period`, in order: those that reach into its
    /// beginning, and of each length so many of those that begin within it. Every one of these gives at least the entry at its
    /// beginning. Some may be gone.
    func needed(_ db: Database, of series: Series, in period: Range<Int64>, limit: Int) throws -> [(id: Int64, first: Int64)] {
        let filled = try Self.filled(db)
        let number = Int64(series.metric.number)
        var found: [(id: Int64, first: Int64)] = []
        for span in try spanClasses(db, of: series) {
            found += try db.all(
                """
                SELECT chunk, first FROM chunk_times WHERE person = ? AND metric = ? AND span_class = ? AND first >= ? AND first < ?
                AND last >= ? AND chunk <= ?
                """
            ) { row in
                row.integer(series.person)
                row.integer(number)
                row.integer(span.exponent)
                row.integer(span.earliestStart(reaching: period.lowerBound))
                row.integer(period.lowerBound)
                row.integer(period.lowerBound)
                row.integer(filled)
            } read: {
                (id: $0.integer(0), first: $0.integer(1))
            }
            found += try db.all(
                """
                SELECT chunk, first FROM chunk_times WHERE person = ? AND metric = ? AND span_class = ? AND first >= ? AND first < ?
                AND chunk <= ? ORDER BY first LIMIT ?
                """
            ) { row in
                row.integer(series.person)
                row.integer(number)
                row.integer(span.exponent)
                row.integer(period.lowerBound)
                row.integer(period.upperBound)
                row.integer(filled)
                row.integer(limit)
            } read: {
                (id: $0.integer(0), first: $0.integer(1))
            }
        }
        found += try reaching(into: period, db, of: series).map { ($0.id, $0.first) }
        return found.sorted { $0.first < $1.first }
    }

    func chunk(_ db: Database, id: Int64) throws -> ChunkRow? {
        try db.first("SELECT \(Self.columns) FROM chunks WHERE id = ?") {
            $0.integer(id)
        } read: { row in
            UInt8(exactly: row.integer(1)).flatMap(Metric.init(number:)).map { metric in
                ChunkRow(
                    id: row.integer(0), metric: metric,
                    outline: ChunkOutline(first: row.integer(2), last: row.integer(3), count: Int(row.integer(4))), device: row.integer(5),
                    body: row.bytes(6))
            }
        } ?? nil
    }

    /// Whether a chunk of the series came after `id`. Reads what came since, not the whole series.
    func hasNewer(_ db: Database, of series: Series, than id: Int64) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM chunks WHERE id > ? AND person = ? AND metric = ?)"),
            arguments: [id, series.person, Int64(series.metric.number)]) ?? false
    }

    // MARK: What the index has

    private static let lyingWithin = """
        FROM chunks WHERE id IN (
            SELECT chunk FROM chunk_times WHERE person = ? AND metric = ? AND span_class = ? AND first >= ? AND first < ? AND last < ?)
        """

    private func within(_ period: Range<Int64>, _ series: Series, _ span: SpanClass) -> StatementArguments {
        [series.person, Int64(series.metric.number), span.exponent, period.lowerBound, period.upperBound, period.upperBound]
    }

    /// The highest sequence of a log row that names a chunk of the index wholly within `period`; 0 where none does.
    func highestSequence(_ db: Database, of series: Series, within period: Range<Int64>) throws -> Int64 {
        try spanClasses(db, of: series).reduce(0) { highest, span in
            let statement = try db.cachedStatement(sql: "SELECT max(sequence) \(Self.lyingWithin)")
            return max(highest, try Int64.fetchOne(statement, arguments: within(period, series, span)) ?? 0)
        }
    }

    /// Chunks of the index that lie wholly within `period`.
    func chunks(_ db: Database, of series: Series, within period: Range<Int64>) throws -> [ChunkRow] {
        try spanClasses(db, of: series).flatMap { span in
            try Row.fetchAll(
                db.cachedStatement(sql: "SELECT \(Self.columns) \(Self.lyingWithin)"), arguments: within(period, series, span)
            ).compactMap(ChunkRow.init)
        }
    }

    /// Chunks of one person in the index whose last entry is older, with the sequence of the log's row that names each; 0 where none
    /// does.
    func ended(_ db: Database, of person: Int64, before time: Timestamp, limit: Int) throws -> [(id: Int64, sequence: Int64)] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, sequence FROM chunks WHERE id IN (
                        SELECT chunk FROM chunk_times WHERE person = ? AND last < ? LIMIT ?)
                    """),
            arguments: [person, time, limit]
        ).map { (id: $0[0], sequence: $0[1]) }
    }
}

extension ChunkRow {
    /// Reads `id, metric, first, last, count, device, body`; nil for a metric that this program does not know.
    fileprivate init?(_ row: Row) throws {
        guard let metric = UInt8(exactly: row[1] as Int64).flatMap(Metric.init(number:)) else { return nil }
        self.init(
            id: row[0], metric: metric, outline: ChunkOutline(first: row[2], last: row[3], count: row[4]), device: row[5],
            body: try row.withUnsafeData(atIndex: 6) { $0.map { [UInt8]($0) } ?? [] })
    }
}
