// The tables of requests, lists and data files, in the order in which they refer to one another.

import GRDB

enum RequestMigration {
    static func create(in db: Database) throws {
        try RequestStore.create(in: db)
        try PendingRequestStore.create(in: db)
        try DataFileStore.create(in: db)
    }

    /// For a later migration of the gateway.
    static func addHold(to db: Database) throws {
        try RequestStore.addHold(to: db)
    }

    /// As `addHold`.
    static func addDamaged(to db: Database) throws {
        try DataFileStore.addDamaged(to: db)
    }
}
