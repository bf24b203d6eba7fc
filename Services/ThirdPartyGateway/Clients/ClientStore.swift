// SQL sentences about an organisation's programs and their tokens. Neither secrets nor tokens are here, only their digests.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

struct ClientRow: Sendable {
    let id: ClientID
    let organisation: OrganisationID
    var label: String
    var rights: Set<Right>
    let secret: [UInt8]
    /// Of the secret before, while it is still good.
    let oldSecret: [UInt8]?
    let oldUntil: Timestamp?
    let createdAt: Timestamp
    /// When it last got a token; nil where it never did.
    let usedAt: Timestamp?
}

/// What an access token opens.
struct TokenRow: Hashable, Sendable {
    let client: ClientID
    let organisation: OrganisationID
    let rights: Set<Right>
    let until: Timestamp
}

struct ClientStore: Sendable {
    /// `runtime.key("organisations")`.
    let key: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE api_clients (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    client BLOB NOT NULL UNIQUE,
                    organisation BLOB NOT NULL REFERENCES organisations (organisation) ON DELETE CASCADE,
                    label BLOB NOT NULL,
                    scopes TEXT NOT NULL,
                    secret BLOB NOT NULL,
                    old_secret BLOB,
                    old_until INTEGER,
                    created_at INTEGER NOT NULL,
                    used_at INTEGER,
                    CHECK ((old_secret IS NULL) = (old_until IS NULL))
                ) STRICT;
                CREATE INDEX api_clients_by_organisation ON api_clients (organisation, number);
                CREATE TABLE api_tokens (
                    digest BLOB PRIMARY KEY,
                    client BLOB NOT NULL REFERENCES api_clients (client) ON DELETE CASCADE,
                    scopes TEXT NOT NULL,
                    until INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX api_tokens_by_client ON api_tokens (client, until);
                CREATE INDEX api_tokens_by_time ON api_tokens (until);
                """)
    }

    // MARK: Clients

    func add(_ db: Database, _ row: ClientRow) throws {
        try db.cachedStatement(
            sql: "INSERT INTO api_clients (client, organisation, label, scopes, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            row.id, row.organisation, Data(try seal(row.label, of: row.id)), Right.written(row.rights), Data(row.secret), row.createdAt,
        ])
    }

    func setName(_ db: Database, _ id: ClientID, label: String, rights: Set<Right>) throws {
        try db.cachedStatement(sql: "UPDATE api_clients SET label = ?, scopes = ? WHERE client = ?")
            .execute(arguments: [Data(try seal(label, of: id)), Right.written(rights), id])
    }

    /// The secret in force becomes the old one; that before ends.
    func rotate(_ db: Database, _ id: ClientID, to secret: [UInt8], oldUntil: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE api_clients SET old_secret = secret, old_until = ?, secret = ? WHERE client = ?")
            .execute(arguments: [oldUntil, Data(secret), id])
    }

    func used(_ db: Database, _ id: ClientID, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE api_clients SET used_at = ? WHERE client = ?").execute(arguments: [at, id])
    }

    /// Its tokens go with it.
    func delete(_ db: Database, _ id: ClientID) throws {
        try db.cachedStatement(sql: "DELETE FROM api_clients WHERE client = ?").execute(arguments: [id])
    }

    static func deleteAll(_ db: Database, of organisation: OrganisationID) throws {
        try db.cachedStatement(sql: "DELETE FROM api_clients WHERE organisation = ?").execute(arguments: [organisation])
    }

    func find(_ db: Database, _ id: ClientID) throws -> ClientRow? {
        try rows(db, "client = ?", [id]).first?.row
    }

    /// Nil for another organisation's: it does not exist for this one.
    func find(_ db: Database, _ id: ClientID, of organisation: OrganisationID) throws -> ClientRow? {
        try rows(db, "client = ? AND organisation = ?", [id, organisation]).first?.row
    }

    func page(
        _ db: Database, of organisation: OrganisationID, after: Int64, limit: Int
    ) throws -> [(number: Int64, row: ClientRow)] {
        try rows(db, "organisation = ? AND number > ? ORDER BY number LIMIT ?", [organisation, after, limit])
    }

    func count(_ db: Database, of organisation: OrganisationID) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM api_clients WHERE organisation = ?"), arguments: [organisation]) ?? 0
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [(number: Int64, row: ClientRow)] {
        let columns = """
            SELECT number, client, organisation, label, scopes, secret, old_secret, old_until, created_at, used_at FROM api_clients
            """
        return try Row.fetchAll(db.cachedStatement(sql: "\(columns) WHERE \(condition)"), arguments: arguments).map { row in
            guard let id: ClientID = row.value(1), let organisation: OrganisationID = row.value(2) else { throw UnreadableOrganisation() }
            let label = try Seal.open(row[3] as Data, key: key, context: Self.context(id))
            return (
                row[0],
                ClientRow(
                    id: id, organisation: organisation, label: String(decoding: label, as: UTF8.self), rights: Self.rights(row[4]),
                    secret: [UInt8](row[5] as Data), oldSecret: (row[6] as Data?).map { [UInt8]($0) }, oldUntil: row[7], createdAt: row[8],
                    usedAt: row[9])
            )
        }
    }

    // MARK: Tokens

    func addToken(_ db: Database, digest: [UInt8], of client: ClientID, rights: Set<Right>, until: Timestamp) throws {
        try db.cachedStatement(sql: "INSERT INTO api_tokens (digest, client, scopes, until) VALUES (?, ?, ?, ?)")
            .execute(arguments: [Data(digest), client, Right.written(rights), until])
    }

    /// How many of the client's tokens are good.
    func tokens(_ db: Database, of client: ClientID, at now: Timestamp) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM api_tokens WHERE client = ? AND until > ?"),
            arguments: [client, now]) ?? 0
    }

    func token(_ db: Database, digest: [UInt8]) throws -> TokenRow? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT client, organisation, api_tokens.scopes, until FROM api_tokens JOIN api_clients USING (client) WHERE digest = ?
                    """), arguments: [Data(digest)])
        guard let row, let client: ClientID = row.value(0), let organisation: OrganisationID = row.value(1) else { return nil }
        return TokenRow(client: client, organisation: organisation, rights: Self.rights(row[2]), until: row[3])
    }

    /// Of this client alone.
    func deleteToken(_ db: Database, digest: [UInt8], of client: ClientID) throws {
        try db.cachedStatement(sql: "DELETE FROM api_tokens WHERE digest = ? AND client = ?")
            .execute(arguments: [Data(digest), client])
    }

    func deleteTokens(_ db: Database, of client: ClientID) throws {
        try db.cachedStatement(sql: "DELETE FROM api_tokens WHERE client = ?").execute(arguments: [client])
    }

    /// Forgets tokens and old secrets that are good no more.
    func expire(_ db: Database, at now: Timestamp) throws {
        try db.cachedStatement(sql: "DELETE FROM api_tokens WHERE until <= ?").execute(arguments: [now])
        try db.cachedStatement(sql: "UPDATE api_clients SET old_secret = NULL, old_until = NULL WHERE old_until <= ?")
            .execute(arguments: [now])
    }

    private static func rights(_ written: String) -> Set<Right> {
        Right.named(by: Set(written.split(separator: " ").map(String.init)))
    }

    private func seal(_ label: String, of id: ClientID) throws -> [UInt8] {
        try Seal.seal(Array(label.utf8), key: key, context: Self.context(id))
    }

    private static func context(_ id: ClientID) -> [UInt8] {
        Array("api_clients.label \(id)".utf8)
    }
}
