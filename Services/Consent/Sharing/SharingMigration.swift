// The tables of sharing, receipts and accesses, in the order in which they refer to one another.

import GRDB

enum SharingMigration {
    /// For consent's migration; after the accounts.
    static func create(in db: Database) throws {
        try SharingStore.create(in: db)
        try ReceiptStore.create(in: db)
        try AnonymousSharingStore.create(in: db)
        try EarlierAccesses.create(in: db)
    }
}
