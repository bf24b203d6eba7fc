// The schema of ingest.db, step by step. Times are ms since 1970; whatever was measured or entered by a person is sealed.

import GRDB
import ServiceKit
import Storage

enum IngestSchema {
    /// "TMin": tells ingest's store from any other SQLite file.
    static let applicationID: Int32 = 0x544D_696E

    static let migrations = [
        Migration(1, "devices, chunks, roll-ups, quarantine, streams") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try AnswerTable.create(in: db)
            try IdempotencyKeys.create(in: db)
            try DeviceStore.create(in: db)
            try ChunkStore.create(in: db)
            try DayStore.create(in: db)
            try QuarantineStore.create(in: db)
        },
        Migration(2, "people and consent") { db in
            try ConsumerPositions.create(in: db)
            try MessageOutbox.create(in: db)
            try TokenChecker.create(in: db)
            try DeviceStore.extend(in: db)
            try PauseStore.create(in: db)
            try KnownAccountStore.create(in: db)
            try PairingStore.create(in: db)
            try GrantProjection.create(in: db)
            try ErasureFollower.create(in: db)
            try ActivityStore.create(in: db)
            try TransferStore.create(in: db)
        },
        Migration(3, "alerts, how fast devices can measure") { db in
            try AlertStore.create(in: db)
            try DeviceStore.extendByFastest(in: db)
        },
        Migration(4, "an index of times that is filled in batches, devices found in what refers to them") { db in
            try ChunkStore.separateTimes(in: db)
            try db.execute(
                sql: """
                    CREATE INDEX quarantine_by_device ON quarantine (device);
                    CREATE INDEX activities_by_device ON activities (device);
                    """)
        },
        Migration(5, "ids of chunks without AUTOINCREMENT") { db in try ChunkStore.giveOwnIDs(in: db) },
        Migration(6, "a store that was put back") { db in
            try StoreLife.create(in: db)
            try StreamLog.createFormerEpochs(in: db)
        },
        Migration(7, "devices that read nothing any more") { db in try KnownAccountStore.addReaders(in: db) },
        Migration(8, "grants that a snapshot did not have") { db in try GrantProjection.addMissing(to: db) },
        Migration(9, "a primary key for every table, no trigger") { db in
            try ChunkStore.dropTrigger(in: db)
            try DayStore.declareKey(in: db)
        },
        Migration(10, "one table for all jobs") { db in
            try JobTable.create(in: db)
            try MessageOutbox.moveToJobs(in: db)
        },
        Migration(11, "snapshots page by page") { db in try SnapshotMarks.create(in: db) },
        Migration(12, "sums for group data") { db in try CohortPeopleStore.create(in: db) },
    ]
}
