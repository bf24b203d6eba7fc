// The tables of requests, lists and data files, in the order in which they refer to one another.

import GRDB

enum RequestTables {
    static func create(in db: Database) throws {
        try RequestTable.create(in: db)
        try IntentTable.create(in: db)
        try DataFileTable.create(in: db)
    }

    /// For a later migration of the gateway.
    static func addHold(to db: Database) throws {
        try RequestTable.addHold(to: db)
    }

    /// As `addHold`.
    static func addDamaged(to db: Database) throws {
        try DataFileTable.addDamaged(to: db)
    }
}
