// Who was in which squares in one hour: 65,536 rows, ascending.

import Contracts

enum CellChunk {
    struct Entry: Hashable, Sendable {
        /// Relative to the chunk.
        let row: Int
        /// Sorted, each once.
        let cells: [GridCell]
    }

    /// - Returns: nil where there are none.
    static func bytes(_ entries: [Entry]) -> [UInt8]? {
        RowList.bytes(entries, \.row) { $0.cells($1.cells) }
    }

    static func read(_ bytes: [UInt8]) throws -> [Entry] {
        try RowList.read(bytes) { Entry(row: $1, cells: try $0.cells()) }
    }

    static func removing(_ row: Int, from bytes: [UInt8]) throws -> RemovedRow {
        let entries = try read(bytes)
        guard entries.contains(where: { $0.row == row }) else { return .absent }
        return .removed(Self.bytes(entries.filter { $0.row != row }))
    }
}

extension CompactWriter {
    /// At most `CohortHourSummed.mostCells`.
    mutating func cells(_ cells: [GridCell]) {
        count(cells.count)
        for cell in cells {
            signed(Int(cell.x))
            signed(Int(cell.y))
        }
    }
}

extension CompactReader {
    mutating func cells() throws(Damaged) -> [GridCell] {
        let listed = try count(upTo: CohortHourSummed.mostCells)
        var cells: [GridCell] = []
        for _ in 0..<listed { cells.append(try cell()) }
        return cells
    }

    mutating func cell() throws(Damaged) -> GridCell {
        let (x, y) = (try signed(), try signed())
        guard GridCell.bounds.contains(x), GridCell.bounds.contains(y) else { throw Damaged() }
        return GridCell(x: Int32(x), y: Int32(y))
    }
}
