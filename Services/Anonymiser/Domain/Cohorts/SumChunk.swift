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
        guard !entries.isEmpty else { return nil }
        var writer = CompactWriter()
        writer.count(entries.count)
        var last = -1
        for entry in entries {
            writer.count(entry.row - last - 1)
            last = entry.row
            for sum in entry.sums {
                writer.count(sum.count)
                writer.signed(sum.sum)
            }
        }
        return writer.bytes
    }

    static func read(_ bytes: [UInt8], components: Int) throws -> [Entry] {
        var reader = CompactReader(bytes)
        let count = try reader.count(upTo: BitmapChunk.rows)
        var entries: [Entry] = []
        entries.reserveCapacity(count)
        var last = -1
        for _ in 0..<count {
            last += try reader.count(upTo: BitmapChunk.rows) + 1
            guard last < BitmapChunk.rows else { throw CompactReader.Damaged() }
            let sums = try (0..<components).map { _ in
                let samples = try reader.count(upTo: mostSamples)
                return SampleSum.of(try reader.signed(), count: samples)
            }
            entries.append(Entry(row: last, sums: sums))
        }
        guard reader.isAtEnd else { throw CompactReader.Damaged() }
        return entries
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
