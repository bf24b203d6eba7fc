// SQL sentences over what a service must know to check access tokens by itself: keys, ended sessions, people who are gone.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// The public keys and refusals that consent has told, in the service's own store: a restart does not make it forget them.
struct TokenTables: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE token_keys (
                    key_id TEXT PRIMARY KEY,
                    public_key BLOB NOT NULL,
                    not_before INTEGER NOT NULL,
                    not_after INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE token_sessions_ended (
                    session BLOB PRIMARY KEY,
                    until INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE token_people_gone (
                    person BLOB PRIMARY KEY,
                    at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    func keep(_ db: Database, _ key: SigningKeyState) throws {
        let bytes = Data(Base64URL.decode(key.publicKey) ?? [])
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO token_keys (key_id, public_key, not_before, not_after) VALUES (?, ?, ?, ?)")
            .execute(arguments: [key.keyID, bytes, key.notBefore, key.notAfter])
    }

    func keep(_ db: Database, _ ended: SessionEnded) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO token_sessions_ended (session, until) VALUES (?, ?)")
            .execute(arguments: [ended.session, ended.until])
    }

    func hasEnded(_ db: Database, _ session: SessionID) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM token_sessions_ended WHERE session = ?)"), arguments: [session]) ?? false
    }

    func keep(_ db: Database, gone person: PersonID, at: Timestamp) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO token_people_gone (person, at) VALUES (?, ?)")
            .execute(arguments: [person, at])
    }

    func keys(_ db: Database, after: String, limit: Int) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(sql: "SELECT key_id FROM token_keys WHERE key_id > ? ORDER BY key_id LIMIT ?"), arguments: [after, limit])
    }

    func drop(_ db: Database, key: String) throws {
        try db.cachedStatement(sql: "DELETE FROM token_keys WHERE key_id = ?").execute(arguments: [key])
    }

    /// Forgets what no token that is still valid can meet.
    func expire(_ db: Database, now: Timestamp) throws {
        try db.cachedStatement(sql: "DELETE FROM token_keys WHERE not_after < ?").execute(arguments: [now])
        try db.cachedStatement(sql: "DELETE FROM token_sessions_ended WHERE until < ?").execute(arguments: [now])
        let before = now - TokenRules.longestLife
        try db.cachedStatement(sql: "DELETE FROM token_people_gone WHERE at < ?").execute(arguments: [before])
    }

    func load(_ db: Database) throws -> TokenRules {
        var rules = TokenRules()
        for row in try Row.fetchAll(db, sql: "SELECT key_id, public_key, not_before, not_after FROM token_keys") {
            let bytes = row[1] as Data
            rules.learn(
                SigningKeyState(
                    keyID: row[0], publicKey: Base64URL.encode(bytes), notBefore: row[2], notAfter: row[3]))
        }
        for row in try Row.fetchAll(db, sql: "SELECT session, until FROM token_sessions_ended") {
            guard let session: SessionID = row.value(0) else { continue }
            rules.learn(SessionEnded(session: session, until: row[1]))
        }
        for row in try Row.fetchAll(db, sql: "SELECT person, at FROM token_people_gone") {
            guard let person: PersonID = row.value(0) else { continue }
            rules.learn(gone: person, at: row[1])
        }
        return rules
    }
}
