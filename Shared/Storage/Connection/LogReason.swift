// What a log or an operator may be told of an error.

import Contracts
package import GRDB

extension DatabaseError: ErrorForLogs {
    /// SQLite's extended result code and its own words, which name tables and columns.
    package var wordsForLogs: String { "SQLite \(extendedResultCode.rawValue): \(message ?? "no words")" }
}

extension StoreError: ErrorForLogs {
    package var wordsForLogs: String { "\(self)" }
}

extension Error {
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
