// The schema of consent.db, step by step. Times are ms since 1970; whatever a person told is sealed.

import GRDB
import ServiceKit
import Storage

enum ConsentSchema {
    /// "TMco": tells consent's store from any other SQLite file.
    static let applicationID: Int32 = 0x544D_636F

    static let migrations = [
        Migration(1, "accounts, log-ins, sharing, streams") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try ConsumerPositions.create(in: db)
            try AnswerTable.create(in: db)
            try IdempotencyKeys.create(in: db)
            try MessageOutbox.create(in: db)
            try AccountBook.create(in: db)
            try LogInTables.create(in: db)
            try SharingTables.create(in: db)
            try ErasureTable.create(in: db)
            try ErasureFollower.create(in: db)
        },
        Migration(2, "subscriptions end by themselves") { db in try SharingTable.createRunning(in: db) },
        Migration(3, "emergency cards") { db in try EmergencySubscribers.create(in: db) },
        Migration(4, "organisations end") { db in try SharingTable.createByOrganisation(in: db) },
        Migration(5, "a store that was put back") { db in
            try StoreLife.create(in: db)
            try StreamLog.createFormerEpochs(in: db)
        },
        Migration(6, "second factors, and how lately a session was proved") { db in try LogInTables.addSecondFactors(in: db) },
        Migration(7, "when sessions end") { db in try SessionTable.createEnds(in: db) },
        Migration(8, "breaches of personal data") { db in try AnnouncementTable.addBreaches(in: db) },
    ]
}
