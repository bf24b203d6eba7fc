// The tables of log-ins, passwords, mailed links and signing keys, for the migration.

import GRDB
import ServiceKit

enum LogInMigration {
    /// After `AccountStore`, on which most of them stand.
    static func create(in db: Database) throws {
        try CredentialStore.create(in: db)
        try LogInRuns.create(in: db)
        try MailLinkStore.create(in: db)
        try RecoveryRequests.create(in: db)
        try SessionStore.create(in: db)
        try SigningKeyStore.create(in: db)
        try TokenChecker.create(in: db)
    }

    static func addSecondFactors(in db: Database) throws {
        try SessionStore.addAuthentication(in: db)
        try SecondFactorTable.create(in: db)
        try AccountStore.addReaders(in: db)
    }
}
