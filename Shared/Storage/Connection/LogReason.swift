// What a log or an operator may be told of an error.

import GRDB

extension Error {
    /// SQLite's extended result code and its own words, which name tables and columns; of other errors that name no stored value, the error
    /// itself; of the rest the type alone.
    package var logReason: String {
        switch self {
        case let error as DatabaseError: "SQLite \(error.extendedResultCode.rawValue): \(error.message ?? "no words")"
        case let error as StoreError: "\(error)"
        default: String(reflecting: type(of: self))
        }
    }

    /// What an operator may be told of an error of the database: SQLite's extended result code, or that a row cannot be read, without its
    /// values. Nil for every other error.
    package var databaseFault: String? {
        switch self {
        case let error as DatabaseError: "SQLite says \(error.extendedResultCode.rawValue)"
        case is RowDecodingError: "a row of it is not as it was written"
        default: nil
        }
    }
}
