// The tables of log-ins, passwords, mailed links and signing keys, for the migration.

import GRDB
import ServiceKit

enum LogInTables {
    /// After `AccountTable`, on which most of them stand.
    static func create(in db: Database) throws {
        try CredentialTable.create(in: db)
        try LogInRuns.create(in: db)
        try MailLinks.create(in: db)
        try RecoveryWishes.create(in: db)
        try SessionTable.create(in: db)
        try SigningKeyTable.create(in: db)
        try TokenChecker.create(in: db)
    }

    static func addSecondFactors(in db: Database) throws {
        try SessionTable.addAuthentication(in: db)
        try SecondFactorTable.create(in: db)
        try AccountTable.addReaders(in: db)
    }
}
