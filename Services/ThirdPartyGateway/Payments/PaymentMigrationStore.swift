// The tables of prices, payments and invoices, in the order in which they refer to one another.

import GRDB

enum PaymentTables {
    /// For the gateway's migration.
    static func create(in db: Database) throws {
        try PriceListTable.create(in: db)
        try BillTable.create(in: db)
        try ErrandTable.create(in: db)
        try InvoiceTable.create(in: db)
    }

    /// For a later migration of the gateway.
    static func addAttention(to db: Database) throws {
        try BillTable.addAttention(to: db)
    }
}
