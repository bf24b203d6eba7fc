// How many pages the write-ahead log holds that the file itself may not have yet, and how many commits brought pages there.

import GRDB
import GRDBSQLite
import Synchronization

/// Counted by SQLite's own hook at each commit. It must outlive the connection that it watches.
final class LogLength: Sendable {
    private let counted = Atomic<Int>(0)

    private let committed = Atomic<Int>(0)

    var pages: Int { counted.load(ordering: .relaxed) }

    /// Counted before whoever wrote is told.
    var commits: Int { committed.load(ordering: .sequentiallyConsistent) }

    /// After a checkpoint of everything: the next commit begins the log anew.
    func wasCheckpointed() {
        counted.store(0, ordering: .relaxed)
    }

    /// To be called after the recipe: setting `wal_autocheckpoint` would take the hook away again.
    func watch(_ database: Database) {
        sqlite3_wal_hook(
            database.sqliteConnection,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                let length = Unmanaged<LogLength>.fromOpaque(context).takeUnretainedValue()
                length.counted.store(Int(pages), ordering: .relaxed)
                length.committed.wrappingAdd(1, ordering: .sequentiallyConsistent)
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque())
    }
}
