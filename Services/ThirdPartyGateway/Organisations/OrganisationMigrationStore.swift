// The tables of organisations, members and API clients, for the migration.

import GRDB

enum OrganisationTables {
    static func create(in db: Database) throws {
        try OrganisationTable.create(in: db)
        try OrganisationLinks.create(in: db)
        try MemberTable.create(in: db)
        try FormerOrganisationJobs.create(in: db)
        try ClientTable.create(in: db)
    }

    /// For a later migration.
    static func addWishedAddress(to db: Database) throws {
        try OrganisationTable.addWishedAddress(to: db)
    }
}
