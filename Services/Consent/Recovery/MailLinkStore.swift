// SQL sentences about mailed links: each opens one thing, once, for a time.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// What a link is good for; a link for one purpose is nothing for another.
enum MailLinkPurpose: String, CaseIterable, Sendable {
    case confirmAddress = "confirm-address"
    case recover
    case changeAddress = "change-address"
    /// To the address before: stops a change, or takes it back.
    case undoAddress = "undo-address"
    /// Given with the answer to a registration: another address, or the mail once more.
    case correctAddress = "correct-address"
    case guardian
    case invitation
}

/// What a token was found to open.
struct MailLink: Hashable, Sendable {
    let account: AccountNumber
    /// As it was given; empty where there was none.
    let payload: [UInt8]
    let madeAt: Timestamp
    let until: Timestamp
}

/// `mail_links`. A token is 256 random bits that only the mail shows: the store keeps its digest, and the payload is sealed under a
/// key derived from it, so that nobody but the holder of the link can open it, this service included.
struct MailLinkStore: Sendable {
    /// Base64url of 32 bytes.
    static let tokenCharacters = 43

    /// Before anything is read: what no link ever ended in costs no read.
    /// - Throws: `link-not-valid`.
    static func requireToken(_ text: String) throws(Problem) {
        guard isToken(text) else { throw .linkNotValid }
    }

    static func isToken(_ text: String) -> Bool {
        text.utf8.count == tokenCharacters
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE mail_links (
                    digest BLOB PRIMARY KEY,
                    purpose TEXT NOT NULL,
                    account INTEGER NOT NULL REFERENCES accounts (number) ON DELETE CASCADE,
                    payload BLOB NOT NULL,
                    made_at INTEGER NOT NULL,
                    until INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX mail_links_by_account ON mail_links (account, purpose);
                CREATE INDEX mail_links_by_time ON mail_links (until);
                """)
    }

    /// Makes a link's token, to be mailed and forgotten.
    func make(
        _ db: Database, purpose: MailLinkPurpose, account: AccountNumber, payload: [UInt8] = [], at: Timestamp, lasting: Duration
    ) throws -> String {
        let token = Base64URL.encode(Random.bytes(32))
        let sealed = try Seal.seal(payload, key: Self.payloadKey(token), context: Self.context(purpose, account))
        try db.cachedStatement(
            sql: "INSERT INTO mail_links (digest, purpose, account, payload, made_at, until) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [Data(Self.digest(token)), purpose.rawValue, account, Data(sealed), at, at + lasting])
        return token
    }

    /// What the link opens, without using it up: for the page that asks whether to go on. Nil for a token that was never made, has
    /// been used, is too old or is for another purpose: these are not told apart.
    func find(_ db: Database, _ token: String, purpose: MailLinkPurpose, at now: Timestamp) throws -> MailLink? {
        guard Self.isToken(token) else { return nil }
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT account, payload, made_at, until FROM mail_links WHERE digest = ? AND purpose = ? AND until > ?"),
            arguments: [Data(Self.digest(token)), purpose.rawValue, now])
        guard let row else { return nil }
        let account: AccountNumber = row[0]
        return MailLink(
            account: account, payload: try Seal.open(row[1] as Data, key: Self.payloadKey(token), context: Self.context(purpose, account)),
            madeAt: row[2], until: row[3])
    }

    /// As `find`, before what the link does: whoever has none that holds spends no turn in the queue of writes.
    /// - Throws: `link-not-valid`.
    func require(_ token: String, purpose: MailLinkPurpose, in store: Store, at now: Timestamp) async throws {
        try Self.requireToken(token)
        let link = try await store.readBriefly { db in try find(db, token, purpose: purpose, at: now) }
        guard link != nil else { throw Problem.linkNotValid }
    }

    /// As `find`, and nobody can use it again. Call in the transaction of what the link does.
    func use(_ db: Database, _ token: String, purpose: MailLinkPurpose, at now: Timestamp) throws -> MailLink? {
        guard let link = try find(db, token, purpose: purpose, at: now) else { return nil }
        try db.cachedStatement(sql: "DELETE FROM mail_links WHERE digest = ?").execute(arguments: [Data(Self.digest(token))])
        return link
    }

    /// How many links for this purpose the account was given within the hour before `now` and that still hold.
    func countLately(_ db: Database, account: AccountNumber, purpose: MailLinkPurpose, at now: Timestamp) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(
                sql: "SELECT count(*) FROM mail_links WHERE account = ? AND purpose = ? AND made_at > ? AND made_at <= ?"),
            arguments: [account, purpose.rawValue, now - .seconds(3600), now.latestCounted]) ?? 0
    }

    /// Ends the account's links for this purpose.
    func forget(_ db: Database, account: AccountNumber, purpose: MailLinkPurpose) throws {
        try db.cachedStatement(sql: "DELETE FROM mail_links WHERE account = ? AND purpose = ?").execute(
            arguments: [account, purpose.rawValue])
    }

    func expire(_ db: Database, at now: Timestamp) throws {
        try db.cachedStatement(sql: "DELETE FROM mail_links WHERE until <= ?").execute(arguments: [now])
    }

    // MARK: The token

    private static func digest(_ token: String) -> [UInt8] {
        Digest.sha256(Array("mail-link|\(token)".utf8))
    }

    private static func payloadKey(_ token: String) throws -> SymmetricKey {
        try SymmetricKey(bytes: Digest.sha256(Array("mail-link-payload|\(token)".utf8)))
    }

    private static func context(_ purpose: MailLinkPurpose, _ account: AccountNumber) -> [UInt8] {
        Array("mail_links \(purpose.rawValue) \(account)".utf8)
    }
}

/// `recovery_wishes`: addresses typed into "forgot password?", whether or not somebody has an account there, until they are looked at.
struct RecoveryRequests: Sendable {
    /// An address that somebody typed.
    struct Request: Sendable {
        let number: Int64
        let email: EmailAddress
        let language: Language
        let at: Timestamp
    }

    /// `runtime.key("recovery")`.
    let key: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE recovery_wishes (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    email BLOB NOT NULL,
                    language TEXT NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT;
                """)
    }

    func add(_ db: Database, _ email: EmailAddress, _ language: Language, at: Timestamp) throws {
        let sealed = try Seal.seal(Array(email.text.utf8), key: key, context: Self.context)
        try db.cachedStatement(sql: "INSERT INTO recovery_wishes (email, language, at) VALUES (?, ?, ?)")
            .execute(arguments: [Data(sealed), language.rawValue, at])
    }

    /// The number of the newest; 0 where none waits.
    func last(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(number) FROM recovery_wishes")) ?? 0
    }

    /// Oldest first.
    func waiting(_ db: Database, upTo last: Int64, limit: Int) throws -> [Request] {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT number, email, language, at FROM recovery_wishes WHERE number <= ? ORDER BY number LIMIT ?"),
            arguments: [last, limit])
        return try rows.compactMap { row in
            let text = String(decoding: try Seal.open(row[1] as Data, key: key, context: Self.context), as: UTF8.self)
            return EmailAddress(text).map {
                Request(number: row[0], email: $0, language: Language(rawValue: row[2]) ?? .english, at: row[3])
            }
        }
    }

    func remove(_ db: Database, _ number: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM recovery_wishes WHERE number = ?").execute(arguments: [number])
    }

    private static let context = Array("recovery_wishes.email".utf8)
}
