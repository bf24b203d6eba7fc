// Statements of the hot path, through SQLite's own interface: what GRDB adds to each costs more than SQLite's own work on a small row.

package import GRDB
import GRDBSQLite

extension Database {
    /// As `cachedStatement(sql:).execute(arguments:)`, for a statement that changes rows or marks savepoints and gives none back.
    /// GRDB's observers of transactions do not see it. `bind` gives a value to every parameter, in order.
    package func run(_ sql: String, _ bind: (inout QuickBindings) -> Void = { _ in }) throws {
        try step(sql, bind) { _ in false }
    }

    /// The first row, as `read` makes it; nil where there is none.
    package func first<Value>(
        _ sql: String, _ bind: (inout QuickBindings) -> Void, read: (QuickRow) -> Value
    ) throws -> Value? {
        var value: Value?
        try step(sql, bind) { row in
            value = read(row)
            return false
        }
        return value
    }

    /// All rows, as `read` makes them.
    package func all<Value>(_ sql: String, _ bind: (inout QuickBindings) -> Void, read: (QuickRow) -> Value) throws -> [Value] {
        var values: [Value] = []
        try step(sql, bind) { row in
            values.append(read(row))
            return true
        }
        return values
    }

    /// - Parameter row: is given each row, and says whether it wants the next one.
    private func step(_ sql: String, _ bind: (inout QuickBindings) -> Void, _ row: (QuickRow) -> Bool) throws {
        let statement = try cachedStatement(sql: sql).sqliteStatement
        try withUnsafeTemporaryAllocation(byteCount: QuickBindings.room, alignment: 1) { room in
            var bindings = QuickBindings(statement: statement, room: room)
            bind(&bindings)
            var code = bindings.fault ?? sqlite3_step(statement)
            while code == SQLITE_ROW, row(QuickRow(statement: statement)) { code = sqlite3_step(statement) }
            defer {
                // Makes the statement ready for its next use; the fault, if any, is known already.
                sqlite3_reset(statement)
                // The room is about to be gone.
                if bindings.usesRoom { sqlite3_clear_bindings(statement) }
            }
            guard code == SQLITE_ROW || code == SQLITE_DONE else {
                throw DatabaseError(
                    resultCode: ResultCode(rawValue: sqlite3_extended_errcode(sqliteConnection)),
                    message: String(cString: sqlite3_errmsg(sqliteConnection)), sql: sql)
            }
        }
    }
}

/// Takes the values of a statement's parameters, in order. Texts and bytes are copied: small ones to the stack, which spares SQLite
/// an allocation each, 1 of the 6 µs that it takes to store an upload of one entry; others by SQLite.
package struct QuickBindings {
    private let statement: OpaquePointer
    private var place: Int32 = 0
    fileprivate private(set) var fault: Int32?
    /// What of the room is free.
    private var room: UnsafeMutableRawBufferPointer
    fileprivate private(set) var usesRoom = false

    /// Bytes of a statement's small values altogether: as much as is always taken from the stack.
    fileprivate static let room = 1024
    /// SQLite takes a copy.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    /// What is bound stays where it is until the bindings are cleared.
    private static let inPlace: sqlite3_destructor_type? = nil

    /// - Parameter room: must outlive what is bound.
    fileprivate init(statement: OpaquePointer, room: UnsafeMutableRawBufferPointer) {
        (self.statement, self.room) = (statement, room)
    }

    package mutating func integer(_ value: Int64) {
        note(sqlite3_bind_int64(statement, next(), value))
    }

    package mutating func integer(_ value: Int) {
        integer(Int64(value))
    }

    package mutating func text(_ value: String) {
        var value = value
        value.withUTF8 { bytes in
            let (start, keeping) = kept(UnsafeRawBufferPointer(bytes))
            note(sqlite3_bind_text(statement, next(), start?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), keeping))
        }
    }

    /// Empty is an empty blob, not NULL.
    package mutating func bytes(_ value: [UInt8]) {
        guard !value.isEmpty else { return note(sqlite3_bind_zeroblob(statement, next(), 0)) }
        value.withUnsafeBytes { bytes in
            let (start, keeping) = kept(bytes)
            note(sqlite3_bind_blob(statement, next(), start, Int32(bytes.count), keeping))
        }
    }

    /// Where SQLite shall read the bytes, and whether it has to copy them for itself.
    private mutating func kept(_ bytes: UnsafeRawBufferPointer) -> (start: UnsafeRawPointer?, sqlite3_destructor_type?) {
        guard bytes.count <= room.count, let start = room.baseAddress, let source = bytes.baseAddress else {
            return (bytes.baseAddress, Self.transient)
        }
        start.copyMemory(from: source, byteCount: bytes.count)
        room = UnsafeMutableRawBufferPointer(rebasing: room[bytes.count...])
        usesRoom = true
        return (UnsafeRawPointer(start), Self.inPlace)
    }

    package mutating func null() {
        note(sqlite3_bind_null(statement, next()))
    }

    private mutating func next() -> Int32 {
        place += 1
        return place
    }

    private mutating func note(_ code: Int32) {
        if code != SQLITE_OK { fault = code }
    }
}

/// The columns of one row, from 0.
package struct QuickRow {
    fileprivate let statement: OpaquePointer

    /// 0 for NULL.
    package func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(statement, column)
    }

    /// A copy; empty for NULL.
    package func bytes(_ column: Int32) -> [UInt8] {
        // In this order: asking for the blob may change its size.
        let start = sqlite3_column_blob(statement, column)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }
}
