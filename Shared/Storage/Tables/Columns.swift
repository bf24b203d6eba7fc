// Columns of SQLite as values of Contracts, and back.

package import Contracts
import Foundation
package import GRDB

/// A BLOB of 16 bytes. Anything else is a damaged column: `Row.value` gives nil for it and `Row.decode` throws, but GRDB's subscript
/// (`let person: PersonID = row[0]`) and its `PersonID?` trap; so identifiers are read by the former two.
extension Identifier: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue { Data(bytes).databaseValue }

    package static func fromDatabaseValue(_ dbValue: DatabaseValue) -> Self? {
        Data.fromDatabaseValue(dbValue).flatMap { Self(bytes: $0) }
    }
}

/// An INTEGER of milliseconds, read wherever an `Int64` could be.
extension Timestamp: DatabaseValueConvertible, StatementColumnConvertible {
    package var databaseValue: DatabaseValue { milliseconds.databaseValue }

    package static func fromDatabaseValue(_ dbValue: DatabaseValue) -> Self? {
        Int64.fromDatabaseValue(dbValue).map { Self(milliseconds: $0) }
    }

    package init?(sqliteStatement: SQLiteStatement, index: CInt) {
        self.init(milliseconds: Int64(sqliteStatement: sqliteStatement, index: index))
    }
}

extension Row {
    /// Nil where the column holds NULL, or what no `Value` can be read from because the file is damaged. It never traps, as the
    /// subscript does. For a column whose NULL means more than its absence use `decode(atIndex:)`, which throws for damage.
    package func value<Value: DatabaseValueConvertible>(_ index: Int, as type: Value.Type = Value.self) -> Value? {
        Value.fromDatabaseValue(self[index] as DatabaseValue)
    }

    /// As above, of the column of that name.
    package func value<Value: DatabaseValueConvertible>(_ column: String, as type: Value.Type = Value.self) -> Value? {
        Value.fromDatabaseValue(self[column] as DatabaseValue)
    }

    /// Empty for NULL.
    func bytes(_ index: Int) throws -> [UInt8] {
        try withUnsafeData(atIndex: index) { $0.map(Array.init) ?? [] }
    }
}
