// How the values of one closed bucket are kept: 65,536 rows, as a column or as a list, whichever is shorter.

/// First byte: the form. A column is a code for each row up to the last one that has any; a list is the rows, two bytes each, and then
/// their codes. Codes are `ValueChunk`'s, one component after the other: a byte each where the scale has at most 255, two otherwise.
/// At most 128 KB of a component.
enum CodeChunk {
    enum Fault: Error, Hashable, Sendable {
        case unknownForm
        case wrongLength
        case notAscending
    }

    private static func width(_ scales: [ValueScale]) -> Int {
        scales.reduce(0) { $0 + ($1.codes > 255 ? 2 : 1) }
    }

    /// - Parameter columns: by component, codes plus 1 and 0 for none; all of the same length, at most 65,536.
    /// - Returns: nil where nobody has a value.
    static func bytes(_ columns: [[UInt16]], _ scales: [ValueScale]) -> [UInt8]? {
        guard let first = columns.first, let last = first.lastIndex(where: { $0 > 0 }) else { return nil }
        let rows = first.indices.filter { first[$0] > 0 }
        let width = width(scales)
        if rows.count * (2 + width) < (last + 1) * width {
            var bytes: [UInt8] = [1]
            bytes.reserveCapacity(1 + rows.count * (2 + width))
            for row in rows { bytes.append(contentsOf: [UInt8(truncatingIfNeeded: row), UInt8(truncatingIfNeeded: row >> 8)]) }
            for (column, scale) in zip(columns, scales) { bytes.append(contentsOf: ValueChunk.bytes(rows.map { column[$0] }[...], scale)) }
            return bytes
        }
        return [0] + zip(columns, scales).flatMap { ValueChunk.bytes($0[...last], $1) }
    }

    /// By component, as many rows as the last one that has a value needs.
    static func read(_ bytes: [UInt8], _ scales: [ValueScale]) throws -> [[UInt16]] {
        let width = width(scales)
        guard let form = bytes.first, width > 0 else { throw Fault.wrongLength }
        let perRow = form == 1 ? 2 + width : width
        guard form <= 1 else { throw Fault.unknownForm }
        guard (bytes.count - 1) % perRow == 0, (bytes.count - 1) / perRow <= BitmapChunk.rows else { throw Fault.wrongLength }
        let count = (bytes.count - 1) / perRow
        var start = 1
        var rows: [Int]?
        if form == 1 {
            let listed: [Int] = (0..<count).map { place in
                let (low, high) = (Int(bytes[1 + 2 * place]), Int(bytes[2 + 2 * place]))
                return high << 8 | low
            }
            guard zip(listed, listed.dropFirst()).allSatisfy({ $0 < $1 }) else { throw Fault.notAscending }
            (rows, start) = (listed, 1 + 2 * count)
        }
        return try scales.map { scale in
            let length = count * (scale.codes > 255 ? 2 : 1)
            defer { start += length }
            let codes = try ValueChunk.read(bytes[start..<start + length], rows: count, scale)
            guard let rows else { return codes }
            var column = [UInt16](repeating: 0, count: (rows.last ?? -1) + 1)
            for (row, code) in zip(rows, codes) { column[row] = code }
            return column
        }
    }

    /// Without the value of one row; nil in place of bytes where nobody is left.
    static func removing(_ row: Int, from bytes: [UInt8], _ scales: [ValueScale]) throws -> RemovedRow {
        var columns = try read(bytes, scales)
        guard let first = columns.first, row < first.count, columns.contains(where: { $0[row] > 0 }) else { return .absent }
        for component in columns.indices { columns[component][row] = 0 }
        return .removed(Self.bytes(columns, scales))
    }
}

/// What is left of a chunk without one of its rows.
enum RemovedRow: Hashable, Sendable {
    /// It was not in it.
    case absent
    /// Nil where nobody is left.
    case removed([UInt8]?)
}
