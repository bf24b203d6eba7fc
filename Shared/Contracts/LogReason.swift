// What a log line says of an error.

/// An error whose own words name no stored or sent value: codes, tables, columns.
package protocol ErrorForLogs: Error {
    /// For the operator, on one line.
    var wordsForLogs: String { get }
}

extension Error {
    /// The error's own words where they may stand in a log, else its type alone: of others the words may be somebody's.
    package var logReason: String {
        (self as? any ErrorForLogs)?.wordsForLogs ?? String(reflecting: type(of: self))
    }
}
