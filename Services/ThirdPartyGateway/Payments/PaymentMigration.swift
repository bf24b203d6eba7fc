// The tables of prices, payments and invoices, in the order in which they refer to one another.

import GRDB

enum PaymentMigration {
    /// For the gateway's migration.
    static func create(in db: Database) throws {
        try PriceListStore.create(in: db)
        try BillStore.create(in: db)
        try PaymentJobStore.create(in: db)
        try InvoiceStore.create(in: db)
    }

    /// For a later migration of the gateway.
    static func addAttention(to db: Database) throws {
        try BillStore.addAttention(to: db)
    }
}
