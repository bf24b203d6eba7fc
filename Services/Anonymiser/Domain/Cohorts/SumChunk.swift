// Sums of an hour's samples by row, which the coarser buckets of the same day are made of. Gone once the day is closed.

/// Rows ascending; of each, the count and sum of each component. Sums are exact: up to ±2^60 thousandths, far beyond what a sensor says in
/// an hour, and counts up to 2^40.
enum SumChunk {
    static let mostSamples = 1 << 40

    struct Entry: Hashable, Sendable {
        /// Relative to the chunk.
        let row: Int
        /// By component; a count of 0 where there were no samples.
        let sums: [SampleSum]
    }

    /// - Parameter entries: ascending by row.
    /// - Returns: nil where there are none.
    static func bytes(_ entries: [Entry]) -> [UInt8]? {
        RowList.bytes(entries, \.row) { writer, entry in
            for sum in entry.sums {
                writer.count(sum.count)
                writer.signed(sum.sum)
            }
        }
    }

    static func read(_ bytes: [UInt8], components: Int) throws -> [Entry] {
        try RowList.read(bytes) { reader, row in
            var sums: [SampleSum] = []
            for _ in 0..<components {
                let samples = try reader.count(upTo: mostSamples)
                sums.append(SampleSum.of(try reader.signed(), count: samples))
            }
            return Entry(row: row, sums: sums)
        }
    }

    static func removing(_ row: Int, from bytes: [UInt8], components: Int) throws -> RemovedRow {
        let entries = try read(bytes, components: components)
        guard entries.contains(where: { $0.row == row }) else { return .absent }
        return .removed(Self.bytes(entries.filter { $0.row != row }))
    }
}

extension SampleSum {
    /// What was added at once.
    static func of(_ sum: Int, count: Int) -> SampleSum {
        var one = SampleSum()
        one.add(sum: sum, count: count)
        return one
    }

    /// As if each of the other's samples had been added.
    mutating func add(_ other: SampleSum) {
        add(sum: other.sum, count: other.count)
    }
}

extension GroupDataType {
    /// Codes of a bucket's value, one for each component; nil unless all of them have samples.
    func codes(_ sums: [SampleSum], _ scales: [ValueScale]) -> [Int]? {
        var codes: [Int] = []
        for (sum, scale) in zip(sums, scales) {
            guard let code = sum.code(self, scale) else { return nil }
            codes.append(code)
        }
        return codes.isEmpty ? nil : codes
    }
}
