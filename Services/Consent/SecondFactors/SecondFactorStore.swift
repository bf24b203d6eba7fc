// SQL sentences about second factors: one authenticator and a few recovery codes for each account that has enrolled.

import Contracts
import Foundation
import GRDB
import Sealing

/// One row of `second_factors`.
struct SecondFactorRow: Sendable {
    let account: AccountNumber
    /// Sealed under the key of whose account it is.
    let secret: [UInt8]
    /// When a first code showed that the authenticator has the secret; nil until then, and it asks nothing of anybody.
    let confirmedAt: Timestamp?
    /// The step of the last password that was taken: neither it nor an earlier one is taken again.
    let lastStep: Int64
}

struct SecondFactorTable: Sendable {
    /// `runtime.lookupKey(for: "recovery-codes")`.
    let codeKey: LookupKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE second_factors (
                    account INTEGER PRIMARY KEY REFERENCES accounts (number) ON DELETE CASCADE,
                    secret BLOB NOT NULL,
                    made_at INTEGER NOT NULL,
                    confirmed_at INTEGER,
                    last_step INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                CREATE TABLE recovery_codes (
                    account INTEGER NOT NULL REFERENCES accounts (number) ON DELETE CASCADE,
                    code BLOB NOT NULL,
                    PRIMARY KEY (account, code)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// In place of one that nobody has confirmed.
    func begin(_ db: Database, _ account: AccountNumber, secret: [UInt8], at: Timestamp) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO second_factors (account, secret, made_at) VALUES (?, ?, ?)
                ON CONFLICT (account) DO UPDATE SET secret = excluded.secret, made_at = excluded.made_at WHERE confirmed_at IS NULL
                """
        ).execute(arguments: [account, Data(secret), at.milliseconds])
    }

    func find(_ db: Database, _ account: AccountNumber) throws -> SecondFactorRow? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT secret, confirmed_at, last_step FROM second_factors WHERE account = ?"), arguments: [account]
        ).map { row in
            SecondFactorRow(
                account: account, secret: [UInt8](row[0] as Data), confirmedAt: (row[1] as Int64?).map(Timestamp.init(milliseconds:)),
                lastStep: row[2])
        }
    }

    func confirm(_ db: Database, _ account: AccountNumber, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE second_factors SET confirmed_at = ? WHERE account = ?")
            .execute(arguments: [at.milliseconds, account])
    }

    func use(_ db: Database, _ account: AccountNumber, step: Int64) throws {
        try db.cachedStatement(sql: "UPDATE second_factors SET last_step = ? WHERE account = ?").execute(arguments: [step, account])
    }

    /// With its recovery codes.
    func remove(_ db: Database, _ account: AccountNumber) throws {
        for table in ["second_factors", "recovery_codes"] {
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE account = ?").execute(arguments: [account])
        }
    }

    // MARK: Recovery codes

    /// In place of those there were.
    func setCodes(_ db: Database, _ account: AccountNumber, _ codes: [String]) throws {
        try db.cachedStatement(sql: "DELETE FROM recovery_codes WHERE account = ?").execute(arguments: [account])
        for code in codes {
            try db.cachedStatement(sql: "INSERT INTO recovery_codes (account, code) VALUES (?, ?)")
                .execute(arguments: [account, Data(lookup(account, code))])
        }
    }

    func countCodes(_ db: Database, _ account: AccountNumber) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM recovery_codes WHERE account = ?"), arguments: [account]) ?? 0
    }

    /// Whether the account had it; it is gone then.
    func spend(_ db: Database, _ account: AccountNumber, _ code: String) throws -> Bool {
        try db.cachedStatement(sql: "DELETE FROM recovery_codes WHERE account = ? AND code = ?")
            .execute(arguments: [account, Data(lookup(account, code))])
        return db.changesCount == 1
    }

    private func lookup(_ account: AccountNumber, _ code: String) -> [UInt8] {
        codeKey.lookup("\(account) \(RecoveryCode.typed(code) ?? code)")
    }
}
