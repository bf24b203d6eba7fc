// Fuzz target: what the anonymiser keeps of closed hours and of people. What is decoded is encoded to bytes that mean the same.
// decoders: Services/Anonymiser/Domain/*.swift Services/Anonymiser/Domain/*/*.swift

import Contracts

@_cdecl("fuzzCohortChunks")
package func fuzzCohortChunks(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    checkSets(bytes)
    for type in GroupDataType.measuredScalars { checkCodes(bytes, type) }
    for components in 1...2 { checkSums(bytes, components) }
    checkSquares(bytes)
    if let hour = try? PersonHour(bytes: bytes) {
        precondition((try? PersonHour(bytes: hour.bytes)) == hour, "another hour")
    }
    // Codes of places that are no text are mended, and may be longer then.
    if let record = try? CohortRecord(bytes: bytes) { precondition((try? CohortRecord(bytes: record.bytes)) != nil, "no record") }
    return 0
}

private func checkSets(_ bytes: [UInt8]) {
    guard let chunk = try? BitmapChunk(bytes: bytes) else { return }
    precondition(chunk.bytes == bytes && BitmapChunk(words: chunk.words[...]) == chunk, "a set that is written in two ways")
    precondition(chunk.end <= BitmapChunk.rows, "a member outside")
}

private func checkCodes(_ bytes: [UInt8], _ type: GroupDataType) {
    let scales = type.scales(.hour)
    for scale in scales {
        guard let column = try? ValueChunk.read(bytes, rows: bytes.count / (scale.codes > 255 ? 2 : 1), scale) else { continue }
        precondition(ValueChunk.bytes(column[...], scale) == bytes, "other codes")
    }
    guard let columns = try? CodeChunk.read(bytes, scales) else { return }
    let rows = columns[0].count
    precondition(columns.count == scales.count && columns.allSatisfy { $0.count == rows } && rows <= BitmapChunk.rows, "another form")
    for row in [0, rows - 1] { _ = try? CodeChunk.removing(max(0, row), from: bytes, scales) }
    // Nobody is ever written with one component alone.
    let isWhole = columns.allSatisfy { column in zip(column, columns[0]).allSatisfy { ($0 > 0) == ($1 > 0) } }
    guard isWhole, let written = CodeChunk.bytes(columns, scales) else { return }
    let again = (try? CodeChunk.read(written, scales)) ?? []
    precondition(again.map { $0 + [UInt16](repeating: 0, count: rows - $0.count) } == columns, "other values")
}

private func checkSums(_ bytes: [UInt8], _ components: Int) {
    guard let entries = try? SumChunk.read(bytes, components: components), let written = SumChunk.bytes(entries) else { return }
    precondition((try? SumChunk.read(written, components: components)) == entries, "other sums")
    let rest = RemovedRow.removed(SumChunk.bytes(Array(entries.dropFirst())))
    precondition((try? SumChunk.removing(entries[0].row, from: bytes, components: components)) == rest, "another row is taken out")
}

private func checkSquares(_ bytes: [UInt8]) {
    if let entries = try? CellChunk.read(bytes), let written = CellChunk.bytes(entries) {
        precondition((try? CellChunk.read(written)) == entries, "other squares of an hour")
    }
    guard let entries = try? SquareChunk.read(bytes), let written = SquareChunk.bytes(entries) else { return }
    precondition((try? SquareChunk.read(written)) == entries, "other squares of a day")
    for entry in entries.prefix(3) { precondition((try? SquareChunk.rows(in: entry.cell, bytes)) == entry.rows, "other people") }
    let row = entries[0].rows[0]
    let rest = SquareChunk.placing(row, in: [], entries)
    precondition(!rest.contains { $0.rows.contains(row) }, "somebody who was taken out is left")
    precondition((try? SquareChunk.removing(row, from: bytes)) == .removed(SquareChunk.bytes(rest)), "another row is taken out")
}
