// The schema of thirdparty-gateway.db, step by step. Times are ms since 1970; what concerns a person is sealed under that person's key.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

enum GatewaySchema {
    /// 'TMgw': tells the gateway's store from any other SQLite file.
    static let applicationID: Int32 = 0x544D_6777

    static let migrations = [
        Migration(1, "streams, answers, tokens, messages") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try ConsumerPositions.create(in: db)
            try AnswerTable.create(in: db)
            try IdempotencyKeys.create(in: db)
            try MessageOutbox.create(in: db)
            try TokenChecker.create(in: db)
            try ErasureFollower.create(in: db)
        },
        Migration(2, "organisations, members, API clients") { db in try OrganisationMigration.create(in: db) },
        Migration(3, "requests, lists, data files") { db in try RequestMigration.create(in: db) },
        Migration(4, "prices, payments, invoices") { db in try PaymentMigration.create(in: db) },
        Migration(5, "subscriptions and webhooks") { db in try SubscriptionMigration.create(in: db) },
        Migration(6, "what became of money that was paid") { db in
            try PaymentMigration.addAttention(to: db)
            try RequestMigration.addHold(to: db)
            // What went back before says so from now on.
            try db.execute(
                sql: """
                    UPDATE requests SET hold = 'given-back'
                    WHERE request IN (SELECT request FROM payments WHERE status IN ('refunding', 'refunded'))
                    """)
        },
        Migration(7, "a store that was put back, and epochs of subscriptions") { db in
            try StoreLife.create(in: db)
            try SubscriptionMigration.addEpochs(to: db)
        },
        Migration(8, "what data files could not hold") { db in try RequestMigration.addDamaged(to: db) },
        Migration(9, "registrations that claim no address") { db in try OrganisationMigration.addRequestedAddress(to: db) },
        Migration(10, "grants as every service keeps them") { db in try SubscriptionMigration.moveGrants(in: db) },
        Migration(11, "one table for all jobs") { db in
            try JobTable.create(in: db)
            try MessageOutbox.moveToJobs(in: db)
            try FormerOrganisationJobs.moveToJobs(in: db)
        },
        Migration(12, "snapshots page by page") { db in try SnapshotMarks.create(in: db) },
        Migration(13, "what a restore holds, and series of invoices") { db in
            try GatewayRestoreStore.create(in: db)
            try InvoiceStore.addSeries(to: db)
        },
        Migration(14, "requests for the data of groups") { db in try GroupRequestStore.create(in: db) },
        Migration(15, "subscriptions to groups") { db in try GroupWindowStore.create(in: db) },
        Migration(16, "tiers of organisations") { db in try OrganisationMigration.addTier(to: db) },
    ]
}

/// Where the jobs of organisations were before `jobs`.
enum FormerOrganisationJobs {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE organisation_duties (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    kind TEXT NOT NULL CHECK (kind IN ('remove-member', 'close-organisation')),
                    subject BLOB NOT NULL,
                    UNIQUE (kind, subject)
                ) STRICT;
                """)
    }

    fileprivate static func moveToJobs(in db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT kind, subject FROM organisation_duties ORDER BY number") {
            let (kind, subject) = (row[0] as String, row[1] as Data)
            let id = kind == "remove-member" ? MemberID(bytes: subject).map { "\($0)" } : OrganisationID(bytes: subject).map { "\($0)" }
            guard let id else { continue }
            try JobTable().add(
                db,
                JobTable.NewJob(
                    kind: kind, id: id, body: Array("\"\(id)\"".utf8), due: Timestamp(milliseconds: 0), createdAt: .now))
        }
        try db.execute(sql: "DROP TABLE organisation_duties")
    }
}
