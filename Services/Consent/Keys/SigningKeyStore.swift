// SQL sentences about the keys that sign access tokens; the secret halves are sealed.

import Contracts
import Foundation
import GRDB
import Sealing

/// One key with its times.
struct SigningKeyRow: Sendable {
    let period: KeyPeriod
    let publicKey: VerifyingKey
    /// Nil once it signs no more: then only the public half is left.
    let signing: SigningKey?

    var state: SigningKeyState {
        SigningKeyState(
            keyID: period.id, publicKey: Base64URL.encode(publicKey.bytes), notBefore: period.notBefore, notAfter: period.notAfter)
    }
}

/// `signing_keys`.
struct SigningKeyStore: Sendable {
    /// `runtime.key("signing")`.
    let key: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE signing_keys (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    key_id TEXT NOT NULL UNIQUE,
                    public_key BLOB NOT NULL,
                    seed BLOB,
                    not_before INTEGER NOT NULL,
                    signs_from INTEGER NOT NULL,
                    signs_until INTEGER NOT NULL,
                    not_after INTEGER NOT NULL
                ) STRICT;
                """)
    }

    func add(_ db: Database, _ period: KeyPeriod, _ signing: SigningKey) throws {
        let sealed = try Seal.seal(signing.seed(), key: key, context: Self.context(period.id))
        try db.execute(
            sql: """
                INSERT INTO signing_keys (key_id, public_key, seed, not_before, signs_from, signs_until, not_after)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                period.id, Data(signing.publicKey.bytes), Data(sealed), period.notBefore, period.signsFrom,
                period.signsUntil, period.notAfter,
            ])
    }

    /// In the order in which they were made.
    func all(_ db: Database) throws -> [SigningKeyRow] {
        try Row.fetchAll(
            db, sql: "SELECT key_id, public_key, seed, not_before, signs_from, signs_until, not_after FROM signing_keys ORDER BY number"
        ).map { row in
            let id: String = row[0]
            let seed = try (row[2] as Data?).map { try Seal.open($0, key: key, context: Self.context(id)) }
            return SigningKeyRow(
                period: KeyPeriod(id: id, notBefore: row[3], signsFrom: row[4], signsUntil: row[5], notAfter: row[6]),
                publicKey: try VerifyingKey(bytes: row[1] as Data), signing: try seed.map { try SigningKey(seed: $0) })
        }
    }

    /// Takes the secret half of those that sign no more, and forgets those that prove nothing any more.
    func retire(_ db: Database, at now: Timestamp) throws {
        try db.execute(
            sql: "UPDATE signing_keys SET seed = NULL WHERE signs_until <= ? AND seed IS NOT NULL", arguments: [now])
        try db.execute(sql: "DELETE FROM signing_keys WHERE not_after <= ?", arguments: [now])
    }

    private static func context(_ id: String) -> [UInt8] {
        Array("signing_keys \(id)".utf8)
    }
}
