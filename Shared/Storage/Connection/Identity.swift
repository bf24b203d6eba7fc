// Whether a file is the store that the caller means.

import GRDB

/// SQLite's `application_id` and `user_version`.
enum Identity {
    /// True for an empty file. Changes nothing.
    static func check(_ database: Database, is applicationID: Int32, knowing migrations: Int) throws -> Bool {
        let found = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let isEmpty = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") == 0
        if found == 0, version == 0, isEmpty { return true }
        guard found == applicationID else { throw StoreError.foreign(applicationID: found) }
        guard (0...migrations).contains(version) else { throw StoreError.newerSchema(found: version, known: migrations) }
        return false
    }

    static func set(_ database: Database, _ applicationID: Int32) throws {
        try database.execute(sql: "PRAGMA application_id = \(applicationID)")
        let found = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        guard found == applicationID else {
            throw StoreError.settingRefused(name: "application_id", wanted: "\(applicationID)", found: "\(found)")
        }
    }
}
