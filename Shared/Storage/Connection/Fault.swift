// What SQLite's result codes mean for the store.

import GRDB

/// An error that came from SQLite.
struct Fault {
    /// The extended result code.
    let code: Int32
    private let primary: ResultCode

    /// Nil for errors of other origin.
    init?(_ error: any Error) {
        guard let error = error as? DatabaseError else { return nil }
        code = error.extendedResultCode.rawValue
        primary = error.resultCode
    }

    /// Whether nothing that the connection says can be believed any more: a failed flush may have marked pages clean that are
    /// not on disk, and a damaged file may answer wrongly elsewhere.
    var isFatal: Bool {
        switch primary {
        case .SQLITE_IOERR, .SQLITE_CORRUPT, .SQLITE_NOTADB: true
        default: false
        }
    }

    /// As callers are told it: full and locked have names of their own, everything else stays what it was.
    static func translate(_ error: any Error) -> any Error {
        switch Fault(error)?.primary {
        case .SQLITE_FULL: StoreError.full
        case .SQLITE_BUSY: StoreError.busy
        default: error
        }
    }
}
