// SQL sentences about signed receipts. Each is sealed under the person's key: it repeats who asked and what for.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// One receipt as it was kept.
struct StoredReceipt: Sendable {
    let number: Int64
    let receipt: ReceiptID
    let request: RequestID
    let person: PersonID
    let event: ConsentEvent
    let at: Timestamp
    /// The compact JWS, sealed.
    let sealed: [UInt8]

    /// The compact JWS.
    func open(_ key: SymmetricKey) throws -> String {
        String(decoding: try Seal.open(sealed, key: key, context: ReceiptStore.context(receipt)), as: UTF8.self)
    }
}

/// `sharing_receipts`: the record of consents given and withdrawn (ACC-32). Rows are only ever added.
struct ReceiptStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE sharing_receipts (
                    number INTEGER PRIMARY KEY,
                    receipt BLOB NOT NULL UNIQUE,
                    request INTEGER NOT NULL REFERENCES sharing_requests (number),
                    account INTEGER NOT NULL REFERENCES accounts (number),
                    event TEXT NOT NULL,
                    at INTEGER NOT NULL,
                    sealed BLOB NOT NULL
                ) STRICT;
                CREATE INDEX sharing_receipts_by_account ON sharing_receipts (account, number);
                CREATE INDEX sharing_receipts_by_request ON sharing_receipts (request);
                """)
    }

    func add(
        _ db: Database, _ receipt: ReceiptID, of row: (number: Int64, account: AccountNumber), _ event: ConsentEvent, jws: String,
        key: SymmetricKey, at: Timestamp
    ) throws {
        let sealed = try Seal.seal(Array(jws.utf8), key: key, context: Self.context(receipt))
        try db.cachedStatement(
            sql: "INSERT INTO sharing_receipts (receipt, request, account, event, at, sealed) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [receipt, row.number, row.account, event.rawValue, at, Data(sealed)])
    }

    /// Newest first, those before row `before`.
    func page(_ db: Database, of account: AccountNumber, before: Int64?, limit: Int) throws -> [StoredReceipt] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT sharing_receipts.number, receipt, sharing_requests.request, person, event, at, sealed
                    FROM sharing_receipts JOIN sharing_requests ON sharing_requests.number = sharing_receipts.request
                    WHERE sharing_receipts.account = ? AND sharing_receipts.number < ? ORDER BY sharing_receipts.number DESC LIMIT ?
                    """), arguments: [account, before ?? .max, limit]
        ).map { row in
            guard let read = StoredReceipt(row) else { throw UnreadableRow() }
            return read
        }
    }

    /// Part of erasing the person.
    /// - Returns: how many.
    func delete(_ db: Database, of account: AccountNumber) throws -> Int {
        try db.cachedStatement(sql: "DELETE FROM sharing_receipts WHERE account = ?").execute(arguments: [account])
        return db.changesCount
    }

    fileprivate static func context(_ receipt: ReceiptID) -> [UInt8] {
        Array("sharing_receipts \(receipt)".utf8)
    }
}

extension StoredReceipt {
    fileprivate init?(_ row: Row) {
        guard let receipt: ReceiptID = row.value(1), let request: RequestID = row.value(2),
            let person: PersonID = row.value(3), let event = ConsentEvent(rawValue: row[4])
        else { return nil }
        self.init(
            number: row[0], receipt: receipt, request: request, person: person, event: event, at: row[5], sealed: [UInt8](row[6] as Data))
    }
}
