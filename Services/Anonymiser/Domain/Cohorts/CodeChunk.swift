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

    /// As `read`, into columns of everybody, in which the chunk's rows begin at `first`.
    /// - Parameter hours: by row, the first hour that counts: whoever counts from `end` or later, or has no hour, gets no value.
    static func read(
        _ bytes: [UInt8], _ scales: [ValueScale], into columns: inout [[UInt16]], at first: Int, hours: [Int32], before end: Int32
    ) throws {
        if let codes = denseBytes(bytes, scales) {
            try check(codes, scales[0])
            let limit = min(codes.count, columns[0].count - first, hours.count - first)
            guard limit > 0 else { return }
            columns[0].withUnsafeMutableBufferPointer { column in
                hours.withUnsafeBufferPointer { hours in
                    codes.withUnsafeBufferPointer { codes in
                        for row in 0..<limit { column[first &+ row] = hours[first &+ row] < end ? UInt16(codes[row]) : 0 }
                    }
                }
            }
            return
        }
        for (component, codes) in try read(bytes, scales).enumerated() {
            let limit = min(codes.count, columns[component].count - first, hours.count - first)
            for row in 0..<max(0, limit) where hours[first + row] < end { columns[component][first + row] = codes[row] }
        }
    }

    /// Adds the members of a chunk to a histogram of everybody, by the same rule of hours.
    static func count(
        _ bytes: [UInt8], _ scale: ValueScale, of members: Bitmap, into histogram: inout ClassHistogram, at first: Int, ids: [UInt32],
        hours: [Int32], before end: Int32
    ) throws {
        if let codes = denseBytes(bytes, [scale]) {
            try check(codes, scale)
            histogram.add(codes, of: members, at: first, ids: ids, hours: hours, before: end)
        } else {
            histogram.add(try read(bytes, [scale])[0][...], of: members, at: first, ids: ids, hours: hours, before: end)
        }
    }

    /// The codes of a chunk that has one byte for each row; nil where it has another form.
    private static func denseBytes(_ bytes: [UInt8], _ scales: [ValueScale]) -> ArraySlice<UInt8>? {
        guard scales.count == 1, width(scales) == 1, bytes.first == 0, bytes.count - 1 <= BitmapChunk.rows else { return nil }
        return bytes[1...]
    }

    private static func check(_ codes: ArraySlice<UInt8>, _ scale: ValueScale) throws {
        let most = codes.withUnsafeBufferPointer { codes in codes.reduce(into: UInt8(0)) { $0 = max($0, $1) } }
        guard Int(most) <= scale.codes else { throw ValueChunk.Fault.outside }
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
