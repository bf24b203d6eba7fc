// SQL sentences about invoices and credit notes: one series of numbers for each year, another after a restore, without gaps.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// `invoices`. Rows are never changed or deleted; what they say of an organisation is sealed under the service's own key.
struct InvoiceStore: Sendable {
    let key: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE invoices (
                    year INTEGER NOT NULL,
                    number INTEGER NOT NULL,
                    kind TEXT NOT NULL,
                    payment BLOB NOT NULL REFERENCES payments (payment),
                    organisation BLOB NOT NULL,
                    issued_at INTEGER NOT NULL,
                    content BLOB NOT NULL,
                    PRIMARY KEY (year, number),
                    UNIQUE (payment, kind)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX invoices_by_organisation ON invoices (organisation, year, number);
                """)
    }

    /// A later step of the schema.
    static func addSeries(to db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE invoices_in_series (
                    year INTEGER NOT NULL,
                    series INTEGER NOT NULL,
                    number INTEGER NOT NULL,
                    kind TEXT NOT NULL,
                    payment BLOB NOT NULL REFERENCES payments (payment),
                    organisation BLOB NOT NULL,
                    issued_at INTEGER NOT NULL,
                    content BLOB NOT NULL,
                    PRIMARY KEY (year, series, number),
                    UNIQUE (payment, kind)
                ) STRICT, WITHOUT ROWID;
                INSERT INTO invoices_in_series (year, series, number, kind, payment, organisation, issued_at, content)
                SELECT year, 0, number, kind, payment, organisation, issued_at, content FROM invoices;
                DROP TABLE invoices;
                ALTER TABLE invoices_in_series RENAME TO invoices;
                CREATE INDEX invoices_by_organisation ON invoices (organisation, year, series, number);
                """)
    }

    /// When the newest was made out; nil where there is none.
    static func latest(_ db: Database) throws -> Timestamp? {
        try Timestamp.fetchOne(db, sql: "SELECT max(issued_at) FROM invoices")
    }

    /// Makes the next one out. The store has one writer, so that numbers have no gaps; a second one of the same kind for a payment is
    /// the first again.
    func issue(
        _ db: Database, _ kind: Invoice.Kind, _ content: Invoice.Content, for payment: PaymentID, of organisation: OrganisationID,
        at now: Timestamp
    ) throws -> Invoice {
        if let first = try find(db, kind, of: payment) { return first }
        let year = Invoice.year(of: now)
        let series = Invoice.series(of: year, restoredAt: try GatewayRestoreStore().restoredAt(db))
        let last =
            try Int.fetchOne(
                db.cachedStatement(sql: "SELECT max(number) FROM invoices WHERE year = ? AND series = ?"), arguments: [year, series]) ?? 0
        let number = InvoiceNumber(year: year, series: series, number: last + 1)
        let sealed = try Seal.seal(JSONEncoder().encode(content), key: key, context: Self.context(number))
        try db.cachedStatement(
            sql: """
                INSERT INTO invoices (year, series, number, kind, payment, organisation, issued_at, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [number.year, number.series, number.number, kind.rawValue, payment, organisation, now, Data(sealed)])
        return Invoice(number: number, kind: kind, payment: payment, issuedAt: now, content: content)
    }

    /// Nil where there is none of that number, or it is another organisation's.
    func find(_ db: Database, _ number: InvoiceNumber, of organisation: OrganisationID) throws -> Invoice? {
        try Row.fetchOne(
            db.cachedStatement(sql: "\(Self.columns) WHERE year = ? AND series = ? AND number = ? AND organisation = ?"),
            arguments: [number.year, number.series, number.number, organisation]
        ).flatMap(stored)
    }

    func find(_ db: Database, _ kind: Invoice.Kind, of payment: PaymentID) throws -> Invoice? {
        try Row.fetchOne(
            db.cachedStatement(sql: "\(Self.columns) WHERE payment = ? AND kind = ?"), arguments: [payment, kind.rawValue]
        ).flatMap(stored)
    }

    /// The newest first.
    func list(_ db: Database, of organisation: OrganisationID, before: InvoiceNumber?, limit: Int) throws -> [Invoice] {
        let end = before ?? InvoiceNumber(year: Int(Int32.max), number: 0)
        return try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    \(Self.columns) WHERE organisation = ? AND (year, series, number) < (?, ?, ?)
                    ORDER BY year DESC, series DESC, number DESC LIMIT ?
                    """),
            arguments: [organisation, end.year, end.series, end.number, limit]
        ).compactMap(stored)
    }

    private static let columns = "SELECT year, series, number, kind, payment, issued_at, content FROM invoices"

    private func stored(_ row: Row) throws -> Invoice? {
        let number = InvoiceNumber(year: row[0], series: row[1], number: row[2])
        guard let kind = Invoice.Kind(rawValue: row[3]), let payment: PaymentID = row.value(4) else { return nil }
        let plain = try Seal.open(row[6] as Data, key: key, context: Self.context(number))
        return Invoice(
            number: number, kind: kind, payment: payment, issuedAt: row[5],
            content: try JSONDecoder().decode(Invoice.Content.self, from: Data(plain)))
    }

    private static func context(_ number: InvoiceNumber) -> [UInt8] {
        Array("invoices.content|\(number)".utf8)
    }
}
