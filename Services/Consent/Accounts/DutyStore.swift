// SQL sentences about what is still to be asked of other services for an account; kept until it is answered.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit

/// Something to be asked, under one question id for ever, so that asking again changes nothing.
struct Duty: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        /// Weight and height as data entries, at ingest.
        case recordEntries = "record-entries"
        /// Supervision, at the SOS dispatcher.
        case joinSOS = "join-sos"
    }

    let number: Int64
    let account: AccountNumber
    let subject: AccountSubject
    let question: String
    let kind: Kind
    /// JSON of the question's body.
    let body: [UInt8]
    let tries: Int
}

/// `account_duties`: bodies are sealed under the person's key. Held ones wait until the account is active.
struct DutyTable: Sendable {
    let vault: ProfileVault

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE account_duties (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    account INTEGER NOT NULL REFERENCES accounts (number) ON DELETE CASCADE,
                    question TEXT NOT NULL UNIQUE,
                    kind TEXT NOT NULL,
                    body BLOB NOT NULL,
                    held INTEGER NOT NULL,
                    due_at INTEGER NOT NULL,
                    tries INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                CREATE INDEX account_duties_by_time ON account_duties (due_at) WHERE held = 0;
                CREATE INDEX account_duties_by_account ON account_duties (account);
                """)
    }

    func add(
        _ db: Database, _ kind: Duty.Kind, _ body: some Encodable, account: AccountNumber, of subject: AccountSubject, held: Bool,
        dueAt: Timestamp
    ) throws {
        let question = Hex.encode(Random.bytes(16))
        let sealed = try vault.seal(JSONEncoder().encode(body), at: Self.place(question), of: subject)
        try db.cachedStatement(sql: "INSERT INTO account_duties (account, question, kind, body, held, due_at) VALUES (?, ?, ?, ?, ?, ?)")
            .execute(arguments: [account, question, kind.rawValue, Data(sealed), held, dueAt.milliseconds])
    }

    /// The account has become active.
    func release(_ db: Database, account: AccountNumber, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE account_duties SET held = 0, due_at = ? WHERE account = ? AND held = 1")
            .execute(arguments: [at.milliseconds, account])
    }

    /// Those that may be asked now, oldest first.
    func due(_ db: Database, now: Timestamp, limit: Int) throws -> [Duty] {
        try duties(db, "held = 0 AND due_at <= ? ORDER BY account_duties.number LIMIT ?", [now.milliseconds, limit])
    }

    /// When the next duty may be asked that may not be asked yet; nil where none waits.
    func nextDue(_ db: Database, after now: Timestamp) throws -> Timestamp? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT min(due_at) FROM account_duties WHERE held = 0 AND due_at > ?"), arguments: [now.milliseconds]
        ).map(Timestamp.init(milliseconds:))
    }

    /// The account's duty of this kind, due or not; nil where there is none or it is held.
    func find(_ db: Database, account: AccountNumber, kind: Duty.Kind) throws -> Duty? {
        try duties(db, "held = 0 AND account = ? AND account_duties.kind = ? LIMIT 1", [account, kind.rawValue]).first
    }

    func postpone(_ db: Database, _ number: Int64, until: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE account_duties SET due_at = ?, tries = tries + 1 WHERE number = ?")
            .execute(arguments: [until.milliseconds, number])
    }

    func remove(_ db: Database, _ number: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM account_duties WHERE number = ?").execute(arguments: [number])
    }

    func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM account_duties") ?? 0
    }

    /// Whoever is being erased has nothing left to be asked: their duties go with the account.
    private func duties(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [Duty] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT account_duties.number, account, accounts.kind, subject, question, account_duties.kind, body, tries
                    FROM account_duties JOIN accounts ON accounts.number = account AND state <> 'closing' WHERE \(condition)
                    """), arguments: arguments)
        return try rows.compactMap { row in
            guard let accountKind = AccountKind(rawValue: row[2]), let kind = Duty.Kind(rawValue: row[5]),
                let subject = AccountSubject(kind: accountKind, bytes: row[3] as Data, organisation: nil)
            else { return nil }
            let question: String = row[4]
            do {
                let body = try vault.open([UInt8](row[6] as Data), at: Self.place(question), of: subject)
                return Duty(number: row[0], account: row[1], subject: subject, question: question, kind: kind, body: body, tries: row[7])
            } catch is KeyDestroyed {
                return nil
            }
        }
    }

    private static func place(_ question: String) -> String {
        "account_duties.body \(question)"
    }
}
