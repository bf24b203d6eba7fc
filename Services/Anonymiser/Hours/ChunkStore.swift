// SQL sentences over what is kept of closed hours: columns of 65,536 people each, sealed under the service's key.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// What a chunk holds. The number is what the store keeps.
enum ChunkKind: Hashable, Sendable {
    /// Codes of the values of a closed bucket (`CodeChunk`).
    case values(GroupDataType, Granularity)
    /// Sums of an hour of a day that is not closed (`SumChunk`).
    case sums(GroupDataType)
    /// Who has data of the type on a day (`BitmapChunk`).
    case data(GroupDataType)
    /// Squares of an hour (`CellChunk`).
    case cells
    /// Squares of a closed day (`SquareChunk`), those of one part (`SquareStore`).
    case squares(part: Int)

    private static let firstSquares = 256

    var number: Int {
        switch self {
        case .values(let type, let granularity): Int(type.rawValue) * 32 + Int(granularity.rawValue)
        case .sums(let type): Int(type.rawValue) * 32 + 16
        case .data(let type): Int(type.rawValue) * 32 + 17
        case .cells: 0
        case .squares(let part): Self.firstSquares + part
        }
    }

    init?(number: Int) {
        guard number != 0 else {
            self = .cells
            return
        }
        if number >= Self.firstSquares {
            guard number < Self.firstSquares + SquareStore.parts else { return nil }
            self = .squares(part: number - Self.firstSquares)
            return
        }
        guard let type = GroupDataType(rawValue: UInt8(clamping: number / 32)) else { return nil }
        switch number % 32 {
        case 16: self = .sums(type)
        case 17: self = .data(type)
        default:
            guard let granularity = Granularity(rawValue: UInt8(number % 32)) else { return nil }
            self = .values(type, granularity)
        }
    }
}

/// Where a chunk stands.
struct ChunkPlace: Hashable, Sendable {
    let chunk: Int
    let kind: ChunkKind
    /// Hours since 1970; of a day's, its first.
    let start: Int

    /// Whether what it holds of somebody goes with the hours before one. Squares of the day that holds that hour were chosen anew at the
    /// order (`SquareStore.renew`).
    func isErased(until hour: Int) -> Bool {
        if case .squares = kind { return start + 24 <= hour }
        return start < hour
    }
}

struct ChunkStore: Sendable {
    private let key: SymmetricKey

    init(key: SymmetricKey) {
        self.key = key.derived(for: "cohort_chunks")
    }

    static func create(in db: Database) throws {
        try db.execute(sql: table + ", WITHOUT ROWID")
    }

    /// A table without rowids is searched by whole rows, and 65 KB are read for each comparison.
    static func moveBesideKeys(in db: Database) throws {
        try db.execute(sql: "ALTER TABLE cohort_chunks RENAME TO cohort_chunks_before")
        try db.execute(sql: table)
        try db.execute(
            sql: """
                INSERT INTO cohort_chunks SELECT chunk, kind, start, sealed FROM cohort_chunks_before;
                DROP TABLE cohort_chunks_before;
                """)
    }

    /// `start`: hours since 1970.
    private static let table = """
        CREATE TABLE cohort_chunks (
            chunk INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            start INTEGER NOT NULL,
            sealed BLOB NOT NULL,
            PRIMARY KEY (chunk, kind, start)
        ) STRICT
        """

    /// Nil where nobody is in it.
    func read(_ db: Database, _ place: ChunkPlace) throws -> [UInt8]? {
        try db.first("SELECT sealed FROM cohort_chunks WHERE chunk = ? AND kind = ? AND start = ?") { row in
            row.integer(place.chunk)
            row.integer(place.kind.number)
            row.integer(place.start)
        } read: { row in
            row.bytes(0)
        }.map { sealed in try Seal.open(sealed, key: key, context: context(place)) }
    }

    /// Several of one kind, by their starts; those in which nobody is are absent.
    func read(_ db: Database, chunk: Int, _ kind: ChunkKind, starts: Range<Int>) throws -> [Int: [UInt8]] {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT start, sealed FROM cohort_chunks WHERE chunk = ? AND kind = ? AND start >= ? AND start < ?"),
            arguments: [chunk, kind.number, starts.lowerBound, starts.upperBound])
        return try rows.reduce(into: [:]) { found, row in
            guard let start: Int = row.value(0) else { throw CompactReader.Damaged() }
            found[start] = try open(row.value(1), ChunkPlace(chunk: chunk, kind: kind, start: start))
        }
    }

    /// - Parameter bytes: nil where nobody is in it: then nothing stands there.
    func write(_ db: Database, _ place: ChunkPlace, _ bytes: [UInt8]?) throws {
        guard let bytes else {
            try db.cachedStatement(sql: "DELETE FROM cohort_chunks WHERE chunk = ? AND kind = ? AND start = ?")
                .execute(arguments: [place.chunk, place.kind.number, place.start])
            return
        }
        try db.cachedStatement(
            sql: """
                INSERT INTO cohort_chunks (chunk, kind, start, sealed) VALUES (?, ?, ?, ?)
                ON CONFLICT (chunk, kind, start) DO UPDATE SET sealed = excluded.sealed
                """
        ).execute(
            arguments: [place.chunk, place.kind.number, place.start, Data(try Seal.seal(bytes, key: key, context: context(place)))])
    }

    /// Of one chunk, in their order, the first ones after a place; less than `limit` are the last.
    func places(_ db: Database, chunk: Int, after last: ChunkPlace?, limit: Int) throws -> [ChunkPlace] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT kind, start FROM cohort_chunks WHERE chunk = ? AND (kind, start) > (?, ?) ORDER BY kind, start LIMIT ?
                    """),
            arguments: [chunk, last?.kind.number ?? -1, last?.start ?? 0, limit]
        ).map { row in
            guard let number: Int = row.value(0), let kind = ChunkKind(number: number), let start: Int = row.value(1) else {
                throw CompactReader.Damaged()
            }
            return ChunkPlace(chunk: chunk, kind: kind, start: start)
        }
    }

    /// Sums of hours before `hour`, whose day is closed.
    func deleteSums(_ db: Database, chunk: Int, before hour: Int) throws {
        for type in GroupDataType.measuredScalars {
            try db.cachedStatement(sql: "DELETE FROM cohort_chunks WHERE chunk = ? AND kind = ? AND start < ?")
                .execute(arguments: [chunk, ChunkKind.sums(type).number, hour])
        }
    }

    /// - Throws: also where the column holds no bytes: the file is damaged.
    private func open(_ sealed: Data?, _ place: ChunkPlace) throws -> [UInt8] {
        guard let sealed else { throw CompactReader.Damaged() }
        return try Seal.open(sealed, key: key, context: context(place))
    }

    private func context(_ place: ChunkPlace) -> [UInt8] {
        Array("cohort_chunks.sealed \(place.chunk) \(place.kind.number) \(place.start)".utf8)
    }

    // MARK: Taking somebody out

    /// Overwrites what a chunk holds of one row, if anything, in the caller's transaction.
    /// - Returns: whether it held anything.
    @discardableResult
    func remove(_ db: Database, _ row: Int, at place: ChunkPlace) throws -> Bool {
        guard let bytes = try read(db, place), case .removed(let left) = try Self.removing(row, place.kind, from: bytes)
        else { return false }
        try write(db, place, left)
        return true
    }

    /// - Parameter row: relative to the chunk.
    static func removing(_ row: Int, _ kind: ChunkKind, from bytes: [UInt8]) throws -> RemovedRow {
        switch kind {
        case .values(let type, let granularity): return try CodeChunk.removing(row, from: bytes, type.scales(granularity))
        case .sums(let type): return try SumChunk.removing(row, from: bytes, components: type.components)
        case .cells: return try CellChunk.removing(row, from: bytes)
        case .squares: return try SquareChunk.removing(row, from: bytes)
        case .data:
            var words = try BitmapChunk(bytes: bytes).words
            let bit: UInt64 = 1 << UInt64(row & 63)
            guard words[row >> 6] & bit != 0 else { return .absent }
            words[row >> 6] &= ~bit
            let chunk = BitmapChunk(words: words[...])
            return .removed(chunk == .absent ? nil : chunk.bytes)
        }
    }
}
