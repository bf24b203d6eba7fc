// SQL sentences about sessions: who is logged in where, until when, and which have ended lately.

import Contracts
import Foundation
import GRDB
import Storage

/// One row of `sessions`.
struct SessionRow: Sendable {
    let number: Int64
    let session: SessionID
    let account: AccountNumber
    /// What the device calls itself, sealed.
    let label: [UInt8]
    let createdAt: Timestamp
    /// When it began, was last refreshed or proved anew: none of its access tokens was made later, so that it goes back with no clock.
    let usedAt: Timestamp
    /// Logged in by a temporary password that is to be changed first (ACC-08).
    let mustChange: Bool
    /// Logged in without the second factor that the account must have: good for enrolling one.
    let mustEnrol: Bool
    /// The latest proof; nil where the session began before it was kept.
    let authentication: Authentication?
    /// Digest of the secret half of the refresh token that is good now.
    let secret: [UInt8]
    let lastRefresh: LastRefresh?
    /// The store was restored from a copy, and it was not refreshed since.
    let isRestored: Bool

    /// What its access tokens are limited to; nil for everything.
    var scope: String? {
        mustChange ? AccessTokenClaims.passwordChangeOnly : mustEnrol ? AccessTokenClaims.enrolmentOnly : nil
    }

    /// The refresh before, for whoever did not hear its answer.
    struct LastRefresh: Hashable, Sendable {
        let secret: [UInt8]
        let at: Timestamp
        /// Sealed under the token that was spent.
        let answer: [UInt8]
    }
}

/// `sessions` holds those that live; `ended_sessions` those whose last access token has not expired everywhere.
struct SessionStore: Sendable {
    /// Sessions that one account may have; one more ends the one that was not used for longest.
    static let perAccount = 50

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE sessions (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    session BLOB NOT NULL UNIQUE,
                    account INTEGER NOT NULL REFERENCES accounts (number) ON DELETE CASCADE,
                    label BLOB NOT NULL,
                    address BLOB NOT NULL,
                    created_at INTEGER NOT NULL,
                    used_at INTEGER NOT NULL,
                    must_change INTEGER NOT NULL,
                    family BLOB NOT NULL UNIQUE,
                    secret BLOB NOT NULL,
                    spent_secret BLOB,
                    spent_at INTEGER,
                    spent_key BLOB,
                    spent_answer BLOB
                ) STRICT;
                CREATE INDEX sessions_by_account ON sessions (account);
                CREATE INDEX sessions_by_use ON sessions (used_at);
                CREATE TABLE ended_sessions (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    session BLOB NOT NULL UNIQUE,
                    until INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX ended_sessions_by_time ON ended_sessions (until);
                """)
    }

    static func addAuthentication(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE sessions ADD COLUMN must_enrol INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE sessions ADD COLUMN authenticated_at INTEGER;
                ALTER TABLE sessions ADD COLUMN authenticated_by TEXT NOT NULL DEFAULT '';
                """)
    }

    /// When a session will be over unless it is refreshed. Nil for those of before, until they are.
    static func createEnds(in db: Database) throws {
        try db.execute(
            sql: "ALTER TABLE sessions ADD COLUMN ends_at INTEGER; CREATE INDEX sessions_by_end ON sessions (ends_at)")
    }

    /// Whether an end is held against what the session set up.
    static func addLapsed(in db: Database) throws {
        try db.execute(sql: "ALTER TABLE ended_sessions ADD COLUMN lapsed INTEGER NOT NULL DEFAULT 0")
    }

    // MARK: Living ones

    /// - Parameters:
    ///   - label: sealed.
    ///   - address: keyed digest of the remote address that it began at.
    ///   - limits: what stands before everything else.
    func add(
        _ db: Database, _ session: SessionID, account: AccountNumber, label: [UInt8], address: [UInt8],
        limits: (mustChange: Bool, mustEnrol: Bool), authentication: Authentication, token: RefreshToken,
        endsAt: Timestamp
    ) throws {
        let at = authentication.at
        try db.cachedStatement(
            sql: """
                INSERT INTO sessions
                (session, account, label, address, created_at, used_at, must_change, must_enrol, authenticated_at, authenticated_by, family,
                secret, ends_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            session, account, Data(label), Data(address), at, at, limits.mustChange, limits.mustEnrol, at, authentication.written,
            Data(token.familyDigest), Data(token.secretDigest), endsAt,
        ])
    }

    /// - Parameters:
    ///   - spent: the token that was shown.
    ///   - answer: what the refresh was answered with, sealed under that one.
    func refresh(
        _ db: Database, _ row: SessionRow, from spent: RefreshToken, to token: RefreshToken, answer: [UInt8], at: Timestamp,
        endsAt: Timestamp
    ) throws {
        try db.cachedStatement(
            sql: """
                UPDATE sessions SET secret = ?, used_at = max(used_at, ?), ends_at = ?, spent_secret = ?, spent_at = ?, spent_key = NULL,
                spent_answer = ?, restored = 0
                WHERE number = ?
                """
        ).execute(arguments: [Data(token.secretDigest), at, endsAt, Data(spent.secretDigest), at, Data(answer), row.number])
    }

    /// The owner has chosen a password: the session may do everything from its next access token on.
    func passwordChosen(_ db: Database, _ session: SessionID) throws {
        try db.cachedStatement(sql: "UPDATE sessions SET must_change = 0 WHERE session = ?").execute(arguments: [session])
    }

    /// Whoever holds the session has just proved who they are.
    func authenticated(_ db: Database, _ session: SessionID, _ proof: Authentication) throws {
        try db.cachedStatement(
            sql: "UPDATE sessions SET used_at = max(used_at, ?), authenticated_at = ?, authenticated_by = ? WHERE session = ?"
        ).execute(arguments: [proof.at, proof.at, proof.written, session])
    }

    /// As `authenticated`, by the code that confirmed a new factor: the session may do everything.
    func enrolled(_ db: Database, _ session: SessionID, _ proof: Authentication) throws {
        try authenticated(db, session, proof)
        try db.cachedStatement(sql: "UPDATE sessions SET must_enrol = 0 WHERE session = ?").execute(arguments: [session])
    }

    func find(_ db: Database, _ session: SessionID) throws -> SessionRow? {
        try row(db, "session = ?", [session])
    }

    /// Whose session it is; nil where it is over.
    func owner(_ db: Database, _ session: SessionID) throws -> AccountRow? {
        try find(db, session).flatMap { try AccountStore().find(db, number: $0.account) }
    }

    /// By the half of a refresh token that stays the same.
    func find(_ db: Database, family digest: [UInt8]) throws -> SessionRow? {
        try row(db, "family = ?", [Data(digest)])
    }

    /// Last used first.
    func all(_ db: Database, of account: AccountNumber) throws -> [SessionRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE account = ? ORDER BY used_at DESC, number DESC"), arguments: [account]
        ).compactMap(SessionRow.init)
    }

    /// Some of the account's, or of everybody's.
    func page(_ db: Database, of account: AccountNumber?, limit: Int) throws -> [SessionRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE account = coalesce(?, account) LIMIT ?"), arguments: [account, limit]
        ).compactMap(SessionRow.init)
    }

    /// Those that nobody has refreshed since then, at most `limit`.
    func unused(_ db: Database, since: Timestamp, limit: Int) throws -> [SessionRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE used_at < ? ORDER BY used_at LIMIT ?"), arguments: [since, limit]
        ).compactMap(SessionRow.init)
    }

    /// Those that are over by then, at most `limit`.
    func over(_ db: Database, at now: Timestamp, limit: Int) throws -> [SessionRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE ends_at <= ? ORDER BY ends_at LIMIT ?"), arguments: [now, limit]
        ).compactMap(SessionRow.init)
    }

    /// Whether the account is logged in from this address, so that it is no stranger's.
    func isKnown(_ db: Database, address: [UInt8], of account: AccountNumber) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM sessions WHERE account = ? AND address = ?)"),
            arguments: [account, Data(address)]) ?? false
    }

    func remove(_ db: Database, _ number: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM sessions WHERE number = ?").execute(arguments: [number])
    }

    /// After a restore, where it is not known which log-ins were ended since the copy was made, perhaps because of a thief: none may live
    /// again, so everybody logs in anew. What they set up stays, for a restore must not silence everybody's phones.
    func endAll(_ db: Database, at now: Timestamp) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO ended_sessions (session, until, lapsed) SELECT session, ?, 1 FROM sessions",
            arguments: [SessionLife.lastTokenExpires(lastUsed: now)])
        try db.execute(sql: "DELETE FROM sessions")
    }

    private static let columns = """
        SELECT number, session, account, label, created_at, used_at, must_change, secret, spent_secret, spent_at, spent_answer, must_enrol,
        authenticated_at, authenticated_by, restored FROM sessions
        """

    private func row(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> SessionRow? {
        try Row.fetchOne(db.cachedStatement(sql: "\(Self.columns) WHERE \(condition)"), arguments: arguments).flatMap(SessionRow.init)
    }

    // MARK: Ended ones

    func rememberEnded(_ db: Database, _ ended: SessionEnded) throws {
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO ended_sessions (session, until, lapsed) VALUES (?, ?, ?)")
            .execute(arguments: [ended.session, ended.until, ended.lapsed ?? false])
    }

    /// A page of those that some service might still believe, with the number to go on from.
    func ended(_ db: Database, after number: Int64, limit: Int, at now: Timestamp) throws -> [(number: Int64, ended: SessionEnded)] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT number, session, until, lapsed FROM ended_sessions WHERE number > ? AND until > ? ORDER BY number LIMIT ?"),
            arguments: [number, now, limit]
        ).compactMap { row in
            row.value(1, as: SessionID.self).map { (number: row[0], ended: SessionEnded(session: $0, until: row[2], lapsed: row[3])) }
        }
    }

    func forgetEnded(_ db: Database, at now: Timestamp) throws {
        try db.cachedStatement(sql: "DELETE FROM ended_sessions WHERE until <= ?").execute(arguments: [now])
    }
}

extension SessionRow {
    fileprivate init?(_ row: Row) {
        guard let session: SessionID = row.value(1) else { return nil }
        var last: LastRefresh?
        if let secret = row[8] as Data?, let at = row[9] as Timestamp?, let answer = row[10] as Data? {
            last = LastRefresh(secret: [UInt8](secret), at: at, answer: [UInt8](answer))
        }
        self.init(
            number: row[0], session: session, account: row[2], label: [UInt8](row[3] as Data),
            createdAt: row[4], usedAt: row[5], mustChange: row[6], mustEnrol: row[11],
            authentication: (row[12] as Timestamp?).map { Authentication(at: $0, written: row[13]) },
            secret: [UInt8](row[7] as Data), lastRefresh: last, isRestored: row[14])
    }
}
