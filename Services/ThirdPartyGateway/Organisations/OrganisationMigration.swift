// The tables of organisations, members and API clients, for the migration.

import GRDB

enum OrganisationMigration {
    static func create(in db: Database) throws {
        try OrganisationStore.create(in: db)
        try OrganisationLinkStore.create(in: db)
        try MemberStore.create(in: db)
        try FormerOrganisationJobs.create(in: db)
        try ClientStore.create(in: db)
    }

    /// For a later migration.
    static func addRequestedAddress(to db: Database) throws {
        try OrganisationStore.addRequestedAddress(to: db)
    }

    /// For a later migration.
    static func addTier(to db: Database) throws {
        try OrganisationStore.addTier(to: db)
    }
}
