// What a log may say of an error.

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
}
