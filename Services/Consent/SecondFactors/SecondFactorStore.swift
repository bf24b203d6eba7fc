// Second factors as they are stored: one authenticator and a few recovery codes for each account that has enrolled, and what belongs in one
// transaction with them: a code that is taken, and the mail to its owner.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit

/// Second factors as log-ins, recoveries and enrolments share them.
struct SecondFactorStore: Sendable {
    /// Whose accounts must have one.
    let required: Set<AccountKind>
    let table: SecondFactorTable
    let vault: ProfileVault
    let outbox: MessageOutbox
    private static let place = "second_factors.secret"

    init(required: Set<AccountKind>, table: SecondFactorTable, vault: ProfileVault, outbox: MessageOutbox) {
        (self.required, self.table, self.vault, self.outbox) = (required, table, vault, outbox)
    }

    // MARK: Showing one

    /// Of an account whose first factor was right.
    enum Finding: Hashable, Sendable {
        /// Nothing more is asked of it.
        case notEnrolled
        case right
        case missing
        case wrong
    }

    /// Takes a code that is right, so that nobody can use it again.
    /// - Parameter code: an authenticator's, or a recovery code; nil where nothing was shown.
    func check(_ db: Database, _ account: AccountRow, _ code: String?, at now: Timestamp) throws -> Finding {
        guard let factor = try table.find(db, account.number), factor.confirmedAt != nil else { return .notEnrolled }
        guard let code else { return .missing }
        if try takes(db, factor, code, of: account, at: now) { return .right }
        guard let recovery = RecoveryCode.typed(code), try table.spend(db, account.number, recovery) else { return .wrong }
        try notify(db, account, .codeUsed, at: now)
        return .right
    }

    /// Whether it is an authenticator's code that is good now; nobody can use it again then.
    func takes(_ db: Database, _ factor: SecondFactorRow, _ code: String, of account: AccountRow, at now: Timestamp) throws -> Bool {
        guard let step = try step(of: code, factor, of: account, at: now) else { return false }
        var used = factor.used
        used.use(step)
        try table.save(db, account.number, used)
        return true
    }

    /// Of an authenticator's code that is good now; nil for any other. Takes nothing.
    private func step(of code: String, _ factor: SecondFactorRow, of account: AccountRow, at now: Timestamp) throws -> Int64? {
        guard let typed = OneTimePassword.typed(code) else { return nil }
        let secret = try vault.open(factor.secret, at: Self.place, of: account.subject)
        // All of them, so that the time tells nothing.
        let right = factor.used.open(at: now).filter { step in
            let mac = Digest.hmacSHA1(OneTimePassword.message(step), keyBytes: secret)
            return Digest.constantTimeEqual(Array(OneTimePassword.text(of: mac).utf8), Array(typed.utf8))
        }
        return right.first
    }

    /// Whether a session of the account is good for enrolling alone.
    func mustEnrol(_ db: Database, _ account: AccountRow) throws -> Bool {
        guard required.contains(account.subject.kind) else { return false }
        return try table.find(db, account.number)?.confirmedAt == nil
    }

    /// Of an account that has changed hands: whoever enrolled it then is not its owner.
    func forget(_ db: Database, _ account: AccountNumber) throws {
        try table.remove(db, account)
    }

    // MARK: Enrolling one

    func begin(_ db: Database, _ account: AccountRow, secret: [UInt8], at time: Timestamp) throws {
        try table.begin(db, account.number, secret: vault.seal(secret, at: Self.place, of: account.subject), at: time)
    }

    /// Reads whether the code confirms the factor that the account has begun to enrol.
    /// - Throws: `second-factor-wrong`, `second-factor-enrolled`.
    func requireConfirming(_ db: Database, _ account: AccountRow, _ code: String, at now: Timestamp) throws {
        guard try step(of: code, begun(db, account), of: account, at: now) != nil else { throw Problem.secondFactorWrong }
    }

    /// Takes the code and confirms the factor.
    /// - Throws: as `requireConfirming`.
    func confirm(_ db: Database, _ account: AccountRow, _ code: String, at now: Timestamp) throws {
        guard try takes(db, begun(db, account), code, of: account, at: now) else { throw Problem.secondFactorWrong }
        try table.confirm(db, account.number, at: now)
    }

    private func begun(_ db: Database, _ account: AccountRow) throws -> SecondFactorRow {
        guard let factor = try table.find(db, account.number) else { throw Problem.secondFactorWrong }
        guard factor.confirmedAt == nil else { throw Problem.secondFactorEnrolled }
        return factor
    }

    // MARK: Telling the owner

    enum Change: Sendable {
        case enrolled
        case removed
        case codesRenewed
        case codeUsed
    }

    func notify(_ db: Database, _ account: AccountRow, _ change: Change, at time: Timestamp) throws {
        let contact = try vault.contact(account)
        try outbox.enqueue(
            db,
            SendMessage(
                message: .random(), recipient: Recipient(person: account.subject.person, mail: contact.email.text), channels: [.mail],
                template: .secondFactorChanged, language: contact.language,
                values: ["name": contact.greeted, "time": time.rfc3339, "change": Self.words(change, contact.language)]))
    }

    private static func words(_ change: Change, _ language: Language) -> String {
        switch (change, language) {
        case (.enrolled, .english): "a second factor was enrolled: each log-in now asks for a code"
        case (.enrolled, .italian): "è stato aggiunto un secondo fattore: ogni accesso ora chiede un codice"
        case (.removed, .english): "the second factor was taken away"
        case (.removed, .italian): "il secondo fattore è stato tolto"
        case (.codesRenewed, .english): "new recovery codes were made; the earlier ones are worth nothing"
        case (.codesRenewed, .italian): "sono stati fatti nuovi codici di recupero; quelli di prima non valgono più"
        case (.codeUsed, .english): "somebody logged in with a recovery code in place of the authenticator"
        case (.codeUsed, .italian): "qualcuno ha avuto accesso con un codice di recupero al posto dell'autenticatore"
        }
    }
}

// MARK: Tables

/// One row of `second_factors`.
struct SecondFactorRow: Sendable {
    let account: AccountNumber
    /// Sealed under the key of whose account it is.
    let secret: [UInt8]
    /// When a first code showed that the authenticator has the secret; nil until then, and it asks nothing of anybody.
    let confirmedAt: Timestamp?
    /// The passwords that were taken: none of them is taken again.
    let used: UsedSteps
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

    /// The steps that were used after `last_step`, separated by spaces.
    static func addUsedSteps(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE second_factors ADD COLUMN used_steps TEXT NOT NULL DEFAULT '';
                UPDATE second_factors SET used_steps = last_step, last_step = 0 WHERE last_step > 0;
                """)
    }

    /// In place of one that nobody has confirmed.
    func begin(_ db: Database, _ account: AccountNumber, secret: [UInt8], at: Timestamp) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO second_factors (account, secret, made_at) VALUES (?, ?, ?)
                ON CONFLICT (account) DO UPDATE SET secret = excluded.secret, made_at = excluded.made_at WHERE confirmed_at IS NULL
                """
        ).execute(arguments: [account, Data(secret), at])
    }

    func find(_ db: Database, _ account: AccountNumber) throws -> SecondFactorRow? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT secret, confirmed_at, last_step, used_steps FROM second_factors WHERE account = ?"),
            arguments: [account]
        ).map { row in
            SecondFactorRow(
                account: account, secret: [UInt8](row[0] as Data), confirmedAt: row[1], used: UsedSteps(floor: row[2], written: row[3]))
        }
    }

    func confirm(_ db: Database, _ account: AccountNumber, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE second_factors SET confirmed_at = ? WHERE account = ?")
            .execute(arguments: [at, account])
    }

    func save(_ db: Database, _ account: AccountNumber, _ used: UsedSteps) throws {
        try db.cachedStatement(sql: "UPDATE second_factors SET last_step = ?, used_steps = ? WHERE account = ?")
            .execute(arguments: [used.floor, used.written, account])
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
