// A sealed known value for each secret that a service's data lie under: in `<service>-keys.db`, beside the wrapped keys.

import Foundation
package import GRDB

/// SQL sentences over `key_checks`.
package struct KeyChecks: Sendable {
    package init() {}

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(sql: "CREATE TABLE key_checks (name TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT, WITHOUT ROWID")
    }

    /// By the secret's name.
    package func all(_ db: Database) throws -> [String: [UInt8]] {
        let rows = try Row.fetchAll(db, sql: "SELECT name, sealed FROM key_checks")
        return try Dictionary(rows.map { ($0[0] as String, try $0.bytes(1)) }) { first, _ in first }
    }

    /// Replaces a check of that name.
    package func set(_ db: Database, _ sealed: [UInt8], named name: String) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO key_checks (name, sealed) VALUES (?, ?)", arguments: [name, Data(sealed)])
    }
}
