// SQL sentences about passwords: one salted hash for each account, and the run of wrong log-ins.

import Contracts
import Foundation
import GRDB
import Sealing

/// What an account logs in with.
struct Credential: Hashable, Sendable {
    /// PHC string of a salted hash.
    let hash: String
    /// Of a password that the suite made (ACC-08): until then it is good for choosing another. Nil for one of the owner's own.
    let temporaryUntil: Timestamp?
}

/// `credentials`. Hashes are sealed as well, under a key that is not in the file: whoever steals only that cannot even begin to guess.
struct CredentialStore: Sendable {
    let key: SymmetricKey

    /// - Parameter key: `runtime.key("credentials")`.
    init(key: SymmetricKey) {
        self.key = key
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE credentials (
                    account INTEGER PRIMARY KEY REFERENCES accounts (number) ON DELETE CASCADE,
                    hash BLOB NOT NULL,
                    temporary_until INTEGER,
                    changed_at INTEGER NOT NULL
                ) STRICT;
                """)
    }

    /// In place of whatever there was.
    /// - Parameters:
    ///   - hash: by `PasswordHasher.hash`.
    ///   - temporaryUntil: where the suite made the password; nil where its owner chose it.
    func set(_ db: Database, account: AccountNumber, hash: String, temporaryUntil: Timestamp?, at: Timestamp) throws {
        let sealed = try Seal.seal(Array(hash.utf8), key: key, context: Self.context(account))
        try db.cachedStatement(
            sql: """
                INSERT INTO credentials (account, hash, temporary_until, changed_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (account) DO UPDATE
                SET hash = excluded.hash, temporary_until = excluded.temporary_until, changed_at = excluded.changed_at
                """
        ).execute(arguments: [account, Data(sealed), temporaryUntil, at])
    }

    /// The same password under today's costs: what else is known of it stays.
    /// - Parameter old: another one, stored meanwhile, is left alone.
    func rehash(_ db: Database, account: AccountNumber, from old: String, to hash: String) throws {
        guard try find(db, account: account)?.hash == old else { return }
        let sealed = try Seal.seal(Array(hash.utf8), key: key, context: Self.context(account))
        try db.cachedStatement(sql: "UPDATE credentials SET hash = ? WHERE account = ?").execute(arguments: [Data(sealed), account])
    }

    /// Nil where the account has no password yet: its owner has not followed the invitation.
    func find(_ db: Database, account: AccountNumber) throws -> Credential? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT hash, temporary_until FROM credentials WHERE account = ?"), arguments: [account])
        guard let row else { return nil }
        let hash = try Seal.open(row[0] as Data, key: key, context: Self.context(account))
        return Credential(hash: String(decoding: hash, as: UTF8.self), temporaryUntil: row[1])
    }

    private static func context(_ account: AccountNumber) -> [UInt8] {
        Array("credentials \(account)".utf8)
    }
}

/// `log_in_runs`: wrong log-ins in a row. A subject is the keyed digest of an account's number, of an identifier that nobody has, or
/// of a remote address, so that those who have an account and those who have none leave the same trace.
struct LogInRuns: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE log_in_runs (
                    subject BLOB PRIMARY KEY,
                    count INTEGER NOT NULL,
                    last_at INTEGER NOT NULL,
                    owner_told INTEGER NOT NULL DEFAULT 0
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX log_in_runs_by_time ON log_in_runs (last_at);
                """)
    }

    /// A last try that lies ahead is kept as made now: else its wait would begin anew with each question until the clock has caught up.
    func find(_ db: Database, _ subject: [UInt8], at now: Timestamp) throws -> FailureRun? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT count, last_at FROM log_in_runs WHERE subject = ?"), arguments: [Data(subject)])
        guard var run = row.map({ FailureRun(count: $0[0], last: $0[1]) }) else { return nil }
        let last = run.last.notAhead(of: now)
        if run.last != last {
            run.last = last
            try db.cachedStatement(sql: "UPDATE log_in_runs SET last_at = ? WHERE subject = ?").execute(arguments: [now, Data(subject)])
        }
        return run
    }

    func save(_ db: Database, _ subject: [UInt8], _ run: FailureRun) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO log_in_runs (subject, count, last_at) VALUES (?, ?, ?)
                ON CONFLICT (subject) DO UPDATE
                SET owner_told = owner_told AND excluded.count > count, count = excluded.count, last_at = excluded.last_at
                """
        ).execute(arguments: [Data(subject), run.count, run.last])
    }

    /// True for the first call in a run that has reached `count`: then the owner is to be told (ACC-12).
    func isOwnerToBeNotified(_ db: Database, _ subject: [UInt8], from count: Int) throws -> Bool {
        try db.cachedStatement(sql: "UPDATE log_in_runs SET owner_told = 1 WHERE subject = ? AND count >= ? AND owner_told = 0")
            .execute(arguments: [Data(subject), count])
        return db.changesCount == 1
    }

    func end(_ db: Database, _ subject: [UInt8]) throws {
        try db.cachedStatement(sql: "DELETE FROM log_in_runs WHERE subject = ?").execute(arguments: [Data(subject)])
    }

    /// One try that turned out to be right: it does not count.
    func takeBack(_ db: Database, _ subject: [UInt8]) throws {
        try db.cachedStatement(sql: "UPDATE log_in_runs SET count = count - 1 WHERE subject = ?").execute(arguments: [Data(subject)])
    }

    /// Forgets runs that count no more.
    func expire(_ db: Database, before: Timestamp) throws {
        try db.cachedStatement(sql: "DELETE FROM log_in_runs WHERE last_at < ?").execute(arguments: [before])
    }
}
