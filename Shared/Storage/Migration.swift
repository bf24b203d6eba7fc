// How a store's schema came about, step by step.

package import GRDB

/// One step of a store's schema. A step that has been released is never changed: what must change becomes one more step.
package struct Migration: Sendable {
    /// 1 for the first, without gaps; the file's `user_version` is the last one applied.
    package let number: Int
    /// For people who read the list; no code looks at it.
    package let name: String
    package let apply: @Sendable (Database) throws -> Void

    /// `apply` runs in a transaction of its own, once in the life of a file. Its tables are STRICT.
    package init(_ number: Int, _ name: String, apply: @escaping @Sendable (Database) throws -> Void) {
        (self.number, self.name, self.apply) = (number, name, apply)
    }
}

extension Migration {
    /// Brings the file to the last of `migrations`, each with its number in one transaction, so that a crash leaves no half step.
    static func bring(_ database: Database, to migrations: [Migration]) throws {
        for (index, migration) in migrations.enumerated() where migration.number != index + 1 {
            throw StoreError.misnumberedMigration(migration.number)
        }
        let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        // A damaged file may say anything, also less than nothing.
        guard (0...migrations.count).contains(found) else {
            throw StoreError.newerSchema(found: found, known: migrations.count)
        }
        for migration in migrations[found...] {
            try database.inTransaction(.immediate) {
                try migration.apply(database)
                try database.execute(sql: "PRAGMA user_version = \(migration.number)")
                return .commit
            }
        }
        try requireStrictTables(database)
    }

    private static func requireStrictTables(_ database: Database) throws {
        let lax = try String.fetchOne(
            database,
            sql: """
                SELECT name FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                """)
        if let lax { throw StoreError.tableNotStrict(lax) }
    }
}
