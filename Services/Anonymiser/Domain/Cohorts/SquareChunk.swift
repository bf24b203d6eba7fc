// Who was in which squares on a closed day: 65,536 rows, by square.

import Contracts

/// Squares ascending; of each its rows, behind their length in bytes, so that one square is found without reading the others' rows.
enum SquareChunk {
    struct Entry: Hashable, Sendable {
        let cell: GridCell
        /// Relative to the chunk, ascending, each once, at least one.
        let rows: [Int]
    }

    /// - Parameter entries: ascending by square, each once.
    /// - Returns: nil where there are none.
    static func bytes(_ entries: [Entry]) -> [UInt8]? {
        guard !entries.isEmpty else { return nil }
        var writer = CompactWriter()
        for entry in entries {
            writer.signed(Int(entry.cell.x))
            writer.signed(Int(entry.cell.y))
            var rows = CompactWriter()
            var last = -1
            for row in entry.rows {
                rows.count(row - last - 1)
                last = row
            }
            writer.content(rows.bytes)
        }
        return writer.bytes
    }

    static func read(_ bytes: [UInt8]) throws -> [Entry] {
        var entries: [Entry] = []
        try each(bytes) { cell, content in
            entries.append(Entry(cell: cell, rows: try rows(content)))
            return true
        }
        return entries
    }

    /// Who was in one square; nobody where it is not among them.
    static func rows(in sought: GridCell, _ bytes: [UInt8]) throws -> [Int] {
        var found: [Int] = []
        try each(bytes) { cell, content in
            if cell == sought { found = try rows(content) }
            return cell < sought
        }
        return found
    }

    static func removing(_ row: Int, from bytes: [UInt8]) throws -> RemovedRow {
        let entries = try read(bytes)
        let left = placing(row, in: [], entries)
        return left == entries ? .absent : .removed(Self.bytes(left))
    }

    /// With one row in these squares and in no others.
    static func placing(_ row: Int, in cells: Set<GridCell>, _ entries: [Entry]) -> [Entry] {
        var rows = Dictionary(entries.map { ($0.cell, $0.rows.filter { $0 != row }) }, uniquingKeysWith: { $1 })
        for cell in cells { rows[cell] = ((rows[cell] ?? []) + [row]).sorted() }
        return rows.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { Entry(cell: $0.key, rows: $0.value) }
    }

    /// - Parameter body: given a square and the bytes of its rows; false where the rest need not be read.
    private static func each(_ bytes: [UInt8], _ body: (GridCell, ArraySlice<UInt8>) throws -> Bool) throws {
        var reader = CompactReader(bytes)
        var last: GridCell?
        while !reader.isAtEnd {
            let cell = try reader.cell()
            if let last, cell <= last { throw CompactReader.Damaged() }
            last = cell
            guard try body(cell, reader.content()) else { return }
        }
    }

    private static func rows(_ content: ArraySlice<UInt8>) throws -> [Int] {
        var reader = CompactReader(Array(content))
        var rows: [Int] = []
        rows.reserveCapacity(content.count)
        var last = -1
        while !reader.isAtEnd {
            last += try reader.count(upTo: BitmapChunk.rows) + 1
            guard last < BitmapChunk.rows else { throw CompactReader.Damaged() }
            rows.append(last)
        }
        guard !rows.isEmpty else { throw CompactReader.Damaged() }
        return rows
    }
}
