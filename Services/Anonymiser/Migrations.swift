// The schema of anonymiser.db, step by step. Times are ms since 1970, hours are hours since 1970.

import GRDB
import ServiceKit
import Storage

enum AnonymiserSchema {
    /// "TMAN": tells this store from any other SQLite file.
    static let applicationID: Int32 = 0x544D_414E

    static let migrations = [
        Migration(1, "people, closed hours and releases") { db in
            try StreamLog.create(in: db)
            try StreamLog.createFormerEpochs(in: db)
            try Confirmations.create(in: db)
            try ConsumerPositions.create(in: db)
            try SnapshotMarks.create(in: db)
            try AnswerTable.create(in: db)
            try StoreLife.create(in: db)
            try ErasureFollower.create(in: db)
            try PopulationStore.create(in: db)
            try HourStore.create(in: db)
            try ChunkStore.create(in: db)
            try ReleaseStores.create(in: db)
            try SyntheticStore.create(in: db)
        },
        Migration(2, "subscriptions to groups") { db in try GroupSubscriptionStore.create(in: db) },
        Migration(3, "chunks beside their keys") { db in try ChunkStore.moveBesideKeys(in: db) },
        Migration(4, "the day of a restore") { db in try HourStore.addRestoredDay(in: db) },
    ]
}
