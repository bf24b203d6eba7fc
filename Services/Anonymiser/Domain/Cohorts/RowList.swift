// The form that chunks of what some rows hold have in common.

/// How entries of some rows of a chunk are written: how many, then of each how many rows were passed over, and what it holds.
enum RowList {
    /// - Parameter entries: ascending by row.
    /// - Returns: nil where there are none.
    static func bytes<Entry>(
        _ entries: [Entry], _ row: (Entry) -> Int, _ write: (inout CompactWriter, Entry) -> Void
    ) -> [UInt8]? {
        guard !entries.isEmpty else { return nil }
        var writer = CompactWriter()
        writer.count(entries.count)
        var last = -1
        for entry in entries {
            writer.count(row(entry) - last - 1)
            last = row(entry)
            write(&writer, entry)
        }
        return writer.bytes
    }

    static func read<Entry>(_ bytes: [UInt8], _ entry: (inout CompactReader, _ row: Int) throws -> Entry) throws -> [Entry] {
        var reader = CompactReader(bytes)
        let count = try reader.count(upTo: BitmapChunk.rows)
        var entries: [Entry] = []
        entries.reserveCapacity(count)
        var last = -1
        for _ in 0..<count {
            last += try reader.count(upTo: BitmapChunk.rows) + 1
            guard last < BitmapChunk.rows else { throw CompactReader.Damaged() }
            entries.append(try entry(&reader, last))
        }
        guard reader.isAtEnd else { throw CompactReader.Damaged() }
        return entries
    }
}
