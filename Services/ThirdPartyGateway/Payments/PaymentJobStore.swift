// SQL sentences about calls to payment handlers: what was decided is called until it is answered, through every restart.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// One row of `payment_errands`.
struct StoredPaymentJob: Sendable {
    let number: Int64
    let key: String
    let kind: PaymentJob.Kind
    let payment: PaymentID
    let attempt: Int
    let tries: Int
    /// A handler's token, opened.
    let token: String?
}

/// `payment_errands`: written in the transaction of the decision, deleted in the transaction of the answer's effect.
struct PaymentJobStore: Sendable {
    let sealKey: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE payment_errands (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    key TEXT NOT NULL UNIQUE,
                    kind TEXT NOT NULL,
                    payment BLOB NOT NULL REFERENCES payments (payment),
                    attempt INTEGER NOT NULL,
                    token BLOB,
                    retry_at INTEGER NOT NULL DEFAULT 0,
                    tries INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                CREATE INDEX payment_errands_by_time ON payment_errands (retry_at);
                CREATE INDEX payment_errands_by_payment ON payment_errands (payment, attempt);
                """)
    }

    /// An attempt is opened once in each life of the store, and by the same key in each: the handler knows it again after a restore.
    /// - Parameter token: of the handler's, for this call alone.
    func add(_ db: Database, _ kind: PaymentJob.Kind, _ payment: PaymentID, attempt: Int, token: String?) throws {
        let opening = Digest.sha256(Array("open|\(payment)|\(attempt)".utf8)).prefix(16)
        let key = Hex.encode(kind == .open ? Array(opening) : Random.bytes(16))
        let sealed = try token.map { Data(try Seal.seal(Array($0.utf8), key: sealKey, context: Self.context(key))) }
        try db.cachedStatement(sql: "INSERT INTO payment_errands (key, kind, payment, attempt, token) VALUES (?, ?, ?, ?, ?)")
            .execute(arguments: [key, kind.rawValue, payment, attempt, sealed])
    }

    /// Whether such a call waits already.
    func has(_ db: Database, _ kind: PaymentJob.Kind, _ payment: PaymentID, attempt: Int) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM payment_errands WHERE payment = ? AND attempt = ? AND kind = ?)"),
            arguments: [payment, attempt, kind.rawValue]) ?? false
    }

    /// What is to be called now, oldest first.
    /// - Parameter pause: the longest there is, as `Timestamp.isOver` asks for it.
    func due(_ db: Database, at now: Timestamp, longest pause: Duration, limit: Int) throws -> [StoredPaymentJob] {
        try Row.fetchAll(
            db, sql: "\(Self.columns) WHERE retry_at <= ? OR retry_at > ? ORDER BY number LIMIT ?",
            arguments: [now, now + pause, limit]
        ).compactMap(stored)
    }

    /// What waits of one payment, oldest first, also where it is not to be called yet.
    func waiting(_ db: Database, _ payment: PaymentID) throws -> [StoredPaymentJob] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE payment = ? ORDER BY number"), arguments: [payment]
        ).compactMap(stored)
    }

    func find(_ db: Database, _ number: Int64) throws -> StoredPaymentJob? {
        try Row.fetchOne(db.cachedStatement(sql: "\(Self.columns) WHERE number = ?"), arguments: [number]).flatMap(stored)
    }

    func answered(_ db: Database, _ number: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM payment_errands WHERE number = ?").execute(arguments: [number])
    }

    func postpone(_ db: Database, _ number: Int64, to retryAt: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE payment_errands SET retry_at = ?, tries = tries + 1 WHERE number = ?")
            .execute(arguments: [retryAt, number])
    }

    func waiting(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM payment_errands") ?? 0
    }

    /// How often the call has been made that waits for an answer the longest; 0 where none waits.
    func mostTries(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT max(tries) FROM payment_errands") ?? 0
    }

    private static let columns = "SELECT number, key, kind, payment, attempt, tries, token FROM payment_errands"

    private func stored(_ row: Row) throws -> StoredPaymentJob? {
        guard let kind = PaymentJob.Kind(rawValue: row[2]), let payment: PaymentID = row.value(3) else { return nil }
        let key = row[1] as String
        let token = try (row[6] as Data?).map {
            String(decoding: try Seal.open($0, key: sealKey, context: Self.context(key)), as: UTF8.self)
        }
        return StoredPaymentJob(number: row[0], key: key, kind: kind, payment: payment, attempt: row[4], tries: row[5], token: token)
    }

    private static func context(_ key: String) -> [UInt8] {
        Array("payment_errands.token|\(key)".utf8)
    }
}
