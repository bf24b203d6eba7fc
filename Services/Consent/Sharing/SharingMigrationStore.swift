// The tables of sharing, receipts and accesses, in the order in which they refer to one another.

import GRDB

enum SharingTables {
    /// For consent's migration; after the accounts.
    static func create(in db: Database) throws {
        try SharingTable.create(in: db)
        try ReceiptTable.create(in: db)
        try AnonymousSharing.create(in: db)
        try EarlierAccesses.create(in: db)
    }
}
