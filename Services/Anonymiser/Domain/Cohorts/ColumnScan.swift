// Comparing a whole column with intervals: the compiler makes vectors of the inner loops.

enum ColumnScan {
    /// With more ranges a row is looked up in a table.
    private static let mostCompared = 6
    /// Rows at a time; a multiple of 64.
    private static let block = 2048

    /// Who has a value in one of the ranges. An empty list of ranges is nobody. The column is read once.
    static func members(of column: [UInt16], in ranges: [Range<Int>]) -> Bitmap {
        let bounds = ranges.filter { !$0.isEmpty }.map { (least: UInt16($0.lowerBound), width: UInt16($0.count - 1)) }
        guard bounds.count > mostCompared else { return marked(column, bounds) }
        var table = [UInt8](repeating: 0, count: 65_536)
        for range in ranges { for value in range { table[value] = 1 } }
        return table.withUnsafeBufferPointer { table in
            packed(column) { marks, rows in
                for index in 0..<marks.count { marks[index] = table[Int(rows[index])] }
            }
        }
    }

    @inline(__always)
    private static func marked(_ column: [UInt16], _ bounds: [(least: UInt16, width: UInt16)]) -> Bitmap {
        packed(column) { marks, rows in
            for (number, bound) in bounds.enumerated() {
                if number == 0 {
                    for index in 0..<marks.count { marks[index] = rows[index] &- bound.least <= bound.width ? 1 : 0 }
                } else {
                    for index in 0..<marks.count { marks[index] |= rows[index] &- bound.least <= bound.width ? 1 : 0 }
                }
            }
        }
    }

    /// - Parameter mark: writes 1 for each row of a block that is chosen; it finds 0.
    @inline(__always)
    private static func packed(
        _ column: [UInt16], _ mark: (UnsafeMutableBufferPointer<UInt8>, UnsafeBufferPointer<UInt16>) -> Void
    ) -> Bitmap {
        var words = [UInt64](repeating: 0, count: Bitmap.wordCount(column.count))
        words.withUnsafeMutableBufferPointer { words in
            column.withUnsafeBufferPointer { column in
                withUnsafeTemporaryAllocation(byteCount: block, alignment: 8) { buffer in
                    let marks = buffer.bindMemory(to: UInt8.self)
                    marks.initialize(repeating: 0)
                    for start in stride(from: 0, to: column.count, by: block) {
                        let count = min(block, column.count - start)
                        // What the last block leaves over is cleared with the bitmap's tail.
                        mark(
                            UnsafeMutableBufferPointer(rebasing: marks[0..<count]),
                            UnsafeBufferPointer(rebasing: column[start..<start + count]))
                        pack(UnsafeRawBufferPointer(marks), into: words, from: start / 64, count: (count + 63) / 64)
                    }
                }
            }
        }
        return Bitmap(size: column.count, words: words)
    }

    /// Eight bytes of 0 and 1 become eight bits by one multiplication.
    @inline(__always)
    private static func pack(
        _ marks: UnsafeRawBufferPointer, into words: UnsafeMutableBufferPointer<UInt64>, from first: Int, count: Int
    ) {
        for word in 0..<count {
            var bits: UInt64 = 0
            for eighth in 0..<8 {
                let bytes = UInt64(littleEndian: marks.load(fromByteOffset: word * 64 + eighth * 8, as: UInt64.self))
                bits |= ((bytes &* 0x0102_0408_1020_4080) >> 56) << UInt64(eighth * 8)
            }
            words[first + word] = bits
        }
    }
}
