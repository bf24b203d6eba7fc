// Whether a file's own structure holds, asked before anything relies on it.

import GRDB

/// SQLite trusts what it reads: a row of a damaged page may have another type than its column declares, or none. A small file is read
/// whole at each start; a larger one would hold up a restart, and is read by `Store.scrub` while it is in use.
enum Integrity {
    /// 16 MiB of pages: some 20 ms.
    static let pagesAtStart = 4096

    /// - Throws: `cannotOpen` with `SQLITE_CORRUPT` where a page, a type, a NOT NULL, a CHECK or an index does not hold.
    static func requireInSmall(_ database: Database) throws {
        guard try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0 <= pagesAtStart else { return }
        guard try String.fetchAll(database, sql: "PRAGMA integrity_check(1)") == ["ok"] else {
            throw StoreError.cannotOpen(code: ResultCode.SQLITE_CORRUPT.rawValue)
        }
    }
}
