// SQL sentences about payments: one for each request, with every way of paying that was tried.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// One row of `payments`: the bill, and what it was made of.
struct StoredBill: Sendable {
    let number: Int64
    var bill: Bill
    let quote: Quote
    let scope: RequestScope
    let createdAt: Timestamp

    /// The id of what is paid for, as its organisation knows it.
    var requestName: String { scope.group.map { "\($0.request)" } ?? "\(bill.request)" }
}

/// What a list of payments is cut down to.
struct PaymentFilter: Hashable, Sendable {
    var organisation: OrganisationID?
    var status: PaymentStatus?
    /// What was paid once, whatever became of it, or what is still to be paid (PAY-07).
    var isOpen: Bool?
    var request: RequestID?
    /// Only those that wait for the operator.
    var needsAttention = false
    var from: Timestamp?
    /// Not included.
    var to: Timestamp?
}

/// `payments`. Attempts hold secrets of the payer's (never numbers of cards, PAY-08) and are sealed under a key of the service's own.
struct BillStore: Sendable {
    let key: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE payments (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    payment BLOB NOT NULL UNIQUE,
                    request BLOB NOT NULL UNIQUE,
                    organisation BLOB NOT NULL,
                    status TEXT NOT NULL,
                    accepted INTEGER NOT NULL,
                    delivered INTEGER NOT NULL,
                    feasible INTEGER,
                    amount INTEGER NOT NULL,
                    currency TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    changed_at INTEGER NOT NULL,
                    terms TEXT NOT NULL,
                    attempts BLOB NOT NULL,
                    is_live INTEGER NOT NULL,
                    CHECK (amount >= 0)
                ) STRICT;
                CREATE INDEX payments_by_organisation ON payments (organisation, number);
                CREATE INDEX payments_by_status ON payments (status, number);
                CREATE INDEX payments_live ON payments (number) WHERE is_live;
                CREATE TABLE payment_references (
                    provider TEXT NOT NULL,
                    reference TEXT NOT NULL,
                    payment BLOB NOT NULL REFERENCES payments (payment),
                    attempt INTEGER NOT NULL,
                    PRIMARY KEY (provider, reference)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// A later step of the schema: what waits for the operator, readable without opening what is sealed.
    static func addAttention(to db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE payments ADD COLUMN attention TEXT;
                CREATE INDEX payments_with_attention ON payments (number) WHERE attention IS NOT NULL;
                CREATE INDEX payment_references_by_payment ON payment_references (payment);
                """)
    }

    // MARK: Writing

    func add(_ db: Database, _ bill: Bill, _ quote: Quote, _ scope: RequestScope, at: Timestamp) throws {
        let terms = String(decoding: try JSONEncoder().encode(Terms(quote: quote, scope: scope)), as: UTF8.self)
        try db.cachedStatement(
            sql: """
                INSERT INTO payments (payment, request, organisation, status, accepted, delivered, feasible, amount, currency, created_at,
                changed_at, terms, attempts, is_live) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            bill.payment, bill.request, bill.organisation, bill.status.rawValue, bill.isAccepted, bill.isDelivered, bill.isFeasible,
            bill.amount.minor, bill.amount.currency, at, bill.changedAt, terms, try sealed(bill), bill.live != nil,
        ])
    }

    func save(_ db: Database, _ bill: Bill) throws {
        try db.cachedStatement(
            sql: """
                UPDATE payments SET status = ?, accepted = ?, delivered = ?, feasible = ?, changed_at = ?, attempts = ?, is_live = ?,
                attention = ? WHERE payment = ?
                """
        ).execute(arguments: [
            bill.status.rawValue, bill.isAccepted, bill.isDelivered, bill.isFeasible, bill.changedAt, try sealed(bill),
            bill.live != nil, bill.attention?.what.rawValue, bill.payment,
        ])
        for attempt in bill.attempts {
            // Handlers name the process, or the money.
            for name in [attempt.reference, attempt.charge].compactMap({ $0 }) {
                try db.cachedStatement(
                    sql: "INSERT OR IGNORE INTO payment_references (provider, reference, payment, attempt) VALUES (?, ?, ?, ?)"
                ).execute(arguments: [attempt.provider, name, bill.payment, attempt.number])
            }
        }
    }

    /// Something of what was paid for has left, so that it does not go back by itself any more.
    func delivered(_ db: Database, _ request: RequestID, at now: Timestamp) throws {
        guard try isDelivered(db, request) == false, var bill = try find(db, of: request)?.bill else { return }
        bill.delivered(at: now)
        try save(db, bill)
    }

    /// How many wait for the operator, by what they wait for.
    func attention(_ db: Database) throws -> [PaymentAttention: Int] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT attention, count(*) FROM payments WHERE attention IS NOT NULL GROUP BY attention")
        ).reduce(into: [:]) { counts, row in
            if let what = PaymentAttention(rawValue: row[0]) { counts[what] = row[1] }
        }
    }

    // MARK: Reading

    func find(_ db: Database, _ payment: PaymentID) throws -> StoredBill? {
        try row(db, "payment = ?", [payment])
    }

    func find(_ db: Database, of request: RequestID) throws -> StoredBill? {
        try row(db, "request = ?", [request])
    }

    /// Whose process a handler means.
    func find(_ db: Database, _ provider: String, reference: String) throws -> (payment: PaymentID, attempt: Int)? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT payment, attempt FROM payment_references WHERE provider = ? AND reference = ?"),
            arguments: [provider, reference])
        guard let row, let payment: PaymentID = row.value(0) else { return nil }
        return (payment, row[1])
    }

    func status(_ db: Database, of request: RequestID) throws -> PaymentStatus? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT status FROM payments WHERE request = ?"), arguments: [request]
        ).flatMap(PaymentStatus.init(rawValue:))
    }

    /// Whether data of this request may leave as far as money goes (PAY-04, INV-20). False for a request that is not known here.
    func isPaid(_ db: Database, _ request: RequestID) throws -> Bool {
        try status(db, of: request) == .paid
    }

    /// Nil where there is no payment.
    func isDelivered(_ db: Database, _ request: RequestID) throws -> Bool? {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT delivered FROM payments WHERE request = ?"), arguments: [request])
    }

    func outstanding(_ db: Database, _ organisation: OrganisationID) throws -> [Amount] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT currency, sum(amount) FROM payments WHERE organisation = ? AND status = 'due' GROUP BY currency ORDER BY currency
                """, arguments: [organisation]
        ).map { Amount(minor: $0[1], currency: $0[0]) }
    }

    /// Payments whose attempt may charge, in order.
    func live(_ db: Database, after number: Int64, limit: Int) throws -> [StoredBill] {
        try Row.fetchAll(
            db, sql: "\(Self.columns) WHERE is_live AND number > ? ORDER BY number LIMIT ?", arguments: [number, limit]
        ).compactMap(stored)
    }

    /// The newest first.
    func list(_ db: Database, _ filter: PaymentFilter, before: Int64?, limit: Int) throws -> [StoredBill] {
        var conditions: [String] = []
        var arguments = StatementArguments()
        func add(_ condition: String, _ values: StatementArguments = []) {
            conditions.append(condition)
            arguments += values
        }
        if let organisation = filter.organisation { add("organisation = ?", [organisation]) }
        if let status = filter.status { add("status = ?", [status.rawValue]) }
        if let isOpen = filter.isOpen {
            add(isOpen ? "status IN ('not-due', 'due')" : "status IN ('paid', 'refunding', 'refunded', 'refund-refused', 'disputed')")
        }
        if let request = filter.request { add("request = ?", [request]) }
        if filter.needsAttention { add("attention IS NOT NULL") }
        if let from = filter.from { add("created_at >= ?", [from]) }
        if let to = filter.to { add("created_at < ?", [to]) }
        if let before { add("number < ?", [before]) }
        let condition = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        arguments += [limit]
        return try Row.fetchAll(
            db, sql: "\(Self.columns) \(condition) ORDER BY number DESC LIMIT ?", arguments: arguments
        ).compactMap(stored)
    }

    // MARK: Rows

    private struct Terms: Codable {
        var quote: Quote
        var scope: RequestScope
    }

    private static let columns = """
        SELECT number, payment, request, organisation, status, accepted, delivered, feasible, created_at, changed_at, terms, attempts
        FROM payments
        """

    private func row(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> StoredBill? {
        try Row.fetchOne(db.cachedStatement(sql: "\(Self.columns) WHERE \(condition)"), arguments: arguments).flatMap(stored)
    }

    private func stored(_ row: Row) throws -> StoredBill? {
        guard let payment: PaymentID = row.value(1), let request: RequestID = row.value(2),
            let organisation: OrganisationID = row.value(3), let status = PaymentStatus(rawValue: row[4])
        else { return nil }
        let terms = try JSONDecoder().decode(Terms.self, from: Data((row[10] as String).utf8))
        let plain = try Seal.open(row[11] as Data, key: key, context: Self.context(payment))
        let attempts = try JSONDecoder().decode([PayingAttempt].self, from: Data(plain))
        return StoredBill(
            number: row[0],
            bill: Bill(
                payment: payment, request: request, organisation: organisation, amount: terms.quote.perPerson,
                priceListVersion: terms.quote.priceListVersion, status: status, isAccepted: row[5], isDelivered: row[6],
                isFeasible: row[7], attempts: attempts, changedAt: row[9]),
            quote: terms.quote, scope: terms.scope, createdAt: row[8])
    }

    private func sealed(_ bill: Bill) throws -> Data {
        Data(try Seal.seal(JSONEncoder().encode(bill.attempts), key: key, context: Self.context(bill.payment)))
    }

    private static func context(_ payment: PaymentID) -> [UInt8] {
        Array("payments.attempts|\(payment)".utf8)
    }
}
