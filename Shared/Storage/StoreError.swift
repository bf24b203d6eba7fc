// What a store says when it will not or cannot.

package import Foundation

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
    /// SQLite cannot open the file, or found damage in it; its extended result code.
    case cannotOpen(code: Int32)
    /// Of the write-ahead log, which SQLite would read only up to there, as if nothing had been written after it: the first damaged one of
    /// so many frames. A commit lies behind it, or the mark that `StoreLife` knows lay there.
    case damagedLog(frame: Int, of: Int)
    /// The system does not give the file or its folder; errno.
    case unreachable(errno: Int32)
}

/// A store that could not be opened, for people: which file, why, and what they can do.
package struct UnopenedStore: Error, Hashable, Sendable, CustomStringConvertible {
    package let file: String
    package let error: StoreError

    package init(_ file: URL, _ error: StoreError) {
        (self.file, self.error) = (file.path, error)
    }

    package var description: String { "\(file): \(error.cause). \(error.mend)" }
}

extension StoreError {
    /// Why, in half a sentence.
    package var cause: String {
        switch self {
        case .full: "the disk is full"
        case .busy: "it stayed locked, or too much is waiting for it"
        case .closed: "it was closed"
        case .broken: "its disk or its content is damaged"
        case .undone(let code): "what belonged to one transaction was undone (SQLite \(code))"
        case .inUse: "another process has it open"
        case .newerSchema(let found, let known): "a newer program has written it (step \(found) of its schema; this one knows \(known))"
        case .foreign(let applicationID): "it is the file of another program (application id \(applicationID)), or its beginning is damaged"
        case .misnumberedMigration(let number): "this program's list of migrations is wrong at \(number)"
        case .tableNotStrict(let table): "its table \(table) is not as this program makes it"
        case .settingRefused(let name, let wanted, let found): "SQLite has \(name) = \(found) where \(wanted) is needed"
        case .cannotOpen(let code) where code & 0xFF == Self.notADatabase: "it is no database, or its beginning is damaged (SQLite \(code))"
        case .cannotOpen(let code) where code & 0xFF == Self.corrupt: "its content is damaged (SQLite \(code))"
        case .cannotOpen(let code): "SQLite cannot use it (code \(code))"
        case .damagedLog(let frame, let count):
            "its write-ahead log (-wal) is damaged at frame \(frame) of \(count), and what was acknowledged from there on would be lost"
        case .unreachable(let number): "the system refuses it (\(String(cString: strerror(number))))"
        }
    }

    /// What whoever runs the service can do about it.
    package var mend: String {
        switch self {
        case .full: "Make room on its disk"
        case .busy, .closed, .undone: "Try again"
        case .inUse: "Stop that process (`fuser` of the file with -lock behind its name tells which), or name another folder"
        case .newerSchema: "Start the newer program, or put back the copy from before the upgrade"
        case .foreign: "Put the right file there, or restore it from its backup"
        case .misnumberedMigration: "This is a fault of the program: report it"
        case .settingRefused: "Use the SQLite that the program was built with; where the file was changed, restore it from its backup"
        case .damagedLog:
            "Look at the disk, and restore file and log from their backup; moving the log away gives up all that lies in it"
        case .broken, .tableNotStrict, .cannotOpen: "Look at the disk, and restore the file from its backup"
        case .unreachable: "Let the service's user read and write the file and its folder (0600, 0700)"
        }
    }

    /// Of SQLite: `SQLITE_CORRUPT` and `SQLITE_NOTADB`.
    private static let corrupt: Int32 = 11
    private static let notADatabase: Int32 = 26
}
