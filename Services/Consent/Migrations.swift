// The schema of consent.db, step by step. Times are ms since 1970; whatever a person told is sealed.

import Contracts
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
            try AccountRepository.create(in: db)
            try LogInMigration.create(in: db)
            try SharingMigration.create(in: db)
            try ErasureStore.create(in: db)
            try ErasureFollower.create(in: db)
        },
        Migration(2, "subscriptions end by themselves") { db in try SharingStore.createRunning(in: db) },
        Migration(3, "emergency cards") { db in try EmergencySubscriberStore.create(in: db) },
        Migration(4, "organisations end") { db in try SharingStore.createByOrganisation(in: db) },
        Migration(5, "a store that was put back") { db in
            try StoreLife.create(in: db)
            try StreamLog.createFormerEpochs(in: db)
        },
        Migration(6, "second factors, and how lately a session was proved") { db in try LogInMigration.addSecondFactors(in: db) },
        Migration(7, "when sessions end") { db in try SessionStore.createEnds(in: db) },
        Migration(8, "breaches of personal data") { db in try AnnouncementStore.addBreaches(in: db) },
        Migration(9, "accesses have a store of their own") { db in try EarlierAccesses.createMark(in: db) },
        Migration(10, "what a restore must know of sessions") { db in try RestoredSessionStore.create(in: db) },
        Migration(11, "one table for all jobs") { db in
            try JobTable.create(in: db)
            try MessageOutbox.moveToJobs(in: db)
            try FormerAccountJobs.moveToJobs(in: db)
        },
        Migration(12, "snapshots page by page") { db in try SnapshotMarks.create(in: db) },
        Migration(13, "sessions whose end is held against nothing") { db in try SessionStore.addLapsed(in: db) },
        Migration(14, "codes that were used while the clock was wrong") { db in try SecondFactorTable.addUsedSteps(in: db) },
        Migration(15, "who is said to share anonymously") { db in try CohortSharerStore.create(in: db) },
    ]
}

/// Where the jobs of accounts were before `jobs`.
enum FormerAccountJobs {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE account_duties (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    account INTEGER NOT NULL REFERENCES accounts (number) ON DELETE CASCADE,
                    question TEXT NOT NULL UNIQUE,
                    kind TEXT NOT NULL,
                    body BLOB NOT NULL,
                    held INTEGER NOT NULL,
                    due_at INTEGER NOT NULL,
                    tries INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                CREATE INDEX account_duties_by_time ON account_duties (due_at) WHERE held = 0;
                CREATE INDEX account_duties_by_account ON account_duties (account);
                """)
    }

    /// What waits goes there as it is sealed.
    fileprivate static func moveToJobs(in db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO jobs (kind, id, person, body, due, created_at)
                SELECT account_duties.kind, question, subject, body, CASE held WHEN 1 THEN NULL ELSE due_at END, ?
                FROM account_duties JOIN accounts ON accounts.number = account ORDER BY account_duties.number
                """, arguments: [Timestamp.now.milliseconds])
        try db.execute(sql: "DROP TABLE account_duties")
    }
}
