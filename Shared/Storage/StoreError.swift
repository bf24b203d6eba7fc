// What a store says when it will not or cannot.

/// Why a store refused. Texts name settings, tables and SQLite's codes, never a stored value.
package enum StoreError: Error, Hashable, Sendable {
    /// The disk, or the file's own limit, is full. Nothing of this write happened; the store goes on and takes writes again once
    /// there is room. A door answers 507 or 503.
    case full
    /// More writes are waiting than `StoreSettings.waitingLimit`, or the file stayed locked. A door answers 503 with `Retry-After`.
    case busy
    case closed
    /// The store met a fault after which nothing it says can be believed (SQLite's I/O error, damage, not a database). The process
    /// has been told to end through `StoreSettings.onFatal`; only a test, whose `onFatal` returns, ever sees this.
    case broken
    /// Another body of the same group made SQLite undo all of it. Nothing of this write happened; it may be tried again.
    case undone(code: Int32)
    /// Another process, or another `Store` of this one, has the file open.
    case inUse
    /// A newer program has written the file: `found` is its schema, `known` the last one of this program. It is left untouched.
    case newerSchema(found: Int, known: Int)
    /// The file belongs to another program, or to another service of the suite.
    case foreign(applicationID: Int32)
    /// The program's list of migrations is not 1, 2, 3, …
    case misnumberedMigration(Int)
    /// Tables are STRICT in this house, so that a column holds what it declares.
    case tableNotStrict(String)
    /// SQLite did not take a setting that promises depend on.
    case settingRefused(name: String, wanted: String, found: String)
    /// The file cannot be opened; SQLite's extended result code, or errno where SQLite was not reached yet.
    case cannotOpen(code: Int32)
}
