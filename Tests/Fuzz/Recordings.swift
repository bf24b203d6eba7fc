// Fuzz target: recordings as CSV. Every row and cell is accounted for.
// decoders: Services/Operator/Recording/*.swift module:Documents=Shared/Documents/CSVReader.swift

@_cdecl("fuzzRecordings")
package func fuzzRecordings(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    guard let recording = try? Recording(csv: bytes) else { return 0 }
    let account = recording.account
    let cells = (account.rows - account.rowsWithoutTime) * recording.mapping.targets.count
    precondition(account.total.all == cells, "a cell is lost")
    precondition(recording.rows.count == account.rows - account.rowsWithoutTime, "a row is lost")
    return 0
}
