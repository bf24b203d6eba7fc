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
        var bindings = QuickBindings(statement: statement)
        bind(&bindings)
        var code = bindings.fault ?? sqlite3_step(statement)
        while code == SQLITE_ROW, row(QuickRow(statement: statement)) { code = sqlite3_step(statement) }
        // Makes the statement ready for its next use; the fault, if any, is known already.
        defer { sqlite3_reset(statement) }
        guard code == SQLITE_ROW || code == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: sqlite3_extended_errcode(sqliteConnection)),
                message: String(cString: sqlite3_errmsg(sqliteConnection)), sql: sql)
        }
    }
}

/// Takes the values of a statement's parameters, in order.
package struct QuickBindings {
    private let statement: OpaquePointer
    private var place: Int32 = 0
    fileprivate private(set) var fault: Int32?

    /// SQLite takes a copy.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    fileprivate init(statement: OpaquePointer) {
        self.statement = statement
    }

    package mutating func integer(_ value: Int64) {
        note(sqlite3_bind_int64(statement, next(), value))
    }

    package mutating func integer(_ value: Int) {
        integer(Int64(value))
    }

    /// SQLite keeps a copy.
    package mutating func text(_ value: String) {
        var value = value
        let place = next()
        let code = value.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_bind_text(statement, place, $0.baseAddress, Int32($0.count), Self.transient)
            }
        }
        note(code)
    }

    /// SQLite keeps a copy. Empty is an empty blob, not NULL.
    package mutating func bytes(_ value: [UInt8]) {
        let place = next()
        note(
            value.isEmpty
                ? sqlite3_bind_zeroblob(statement, place, 0)
                : value.withUnsafeBytes { sqlite3_bind_blob(statement, place, $0.baseAddress, Int32($0.count), Self.transient) })
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
