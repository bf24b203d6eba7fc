// Fuzz target: stored tables of releases. What is decoded is encoded to bytes that mean the same.
// decoders: Services/Anonymiser/Domain/*.swift Services/Anonymiser/Domain/*/*.swift Services/Anonymiser/Releases/Tables/ByteFields.swift Services/Anonymiser/Releases/Tables/TableCodec.swift Services/Anonymiser/Releases/Tables/StoredTable.swift

@_cdecl("fuzzGroupTables")
package func fuzzGroupTables(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    guard let table = try? TableCodec.table(bytes) else { return 0 }
    precondition(table.entryCount <= bytes.count, "entries out of nothing")
    // Values are written as differences: those of numbers that no table has may be beyond an Int.
    if numbers(table).allSatisfy({ (-(1 << 60)...1 << 60).contains($0) }) {
        precondition((try? TableCodec.table(TableCodec.bytes(table))) == table, "another table")
    }
    return 0
}

private func numbers(_ table: StoredTable) -> [Int] {
    switch table.content {
    case .records(let classes): classes.flatMap(\.values)
    case .statistics(let cells): cells.flatMap { [$0.count, $0.countError] + $0.means + $0.meanErrors }
    case .positions(let places): places.map(\.people)
    }
}
