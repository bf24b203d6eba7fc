// What an operator reads where a service may not start.

import Foundation
import Sealing
import Storage

enum StartRefusal {
    /// File, cause and mend. Errors that were made for people say so themselves; of others only the kind is told, since what a decoder or
    /// the database says of a row might be somebody's.
    static func text(_ error: any Error, folder: URL) -> String {
        if let fault = error.databaseFault { return damaged(folder, fault) }
        if let trouble = FileTrouble.text(error) { return trouble }
        switch error {
        case let error as StoreError: return "\(folder.path): \(error.cause). \(error.mend)"
        case is SealingError: return damaged(folder, "something sealed in it does not open")
        case is DamagedKey: return damaged(folder, "a person's key in it does not open")
        case let error as any CustomStringConvertible: return "\(error)"
        default: return damaged(folder, "something in it cannot be read (\(type(of: error)))")
        }
    }

    private static func damaged(_ folder: URL, _ cause: String) -> String {
        "\(folder.path): \(cause). Look at the disk, and restore the databases of this folder and their keys from their backups"
    }
}
