// SQL sentences about erasures: ordered, confirmed by each service, completed. What names the person goes with the completion.

import Contracts
import Foundation
import GRDB
import Storage

/// Whom to tell of the end of an erasure, though there may be no account any more. Sealed until then.
struct ErasureContact: Hashable, Codable, Sendable {
    var email: String
    var language: Language
}

/// One erasure as the store has it.
struct ErasureRow: Sendable {
    let number: Int64
    /// Nil once it is completed.
    let person: PersonID?
    let erased: ErasureCase
    let contact: [UInt8]?
    let certificate: String?
}

struct ErasureStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE erasures (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    erasure BLOB NOT NULL UNIQUE,
                    person BLOB,
                    scope TEXT NOT NULL,
                    ordered_at INTEGER NOT NULL,
                    completed_at INTEGER,
                    reminded_at INTEGER,
                    -- Keyed digest of what its person holds to read the certificate.
                    capability_lookup BLOB NOT NULL UNIQUE,
                    -- Sealed under a key of the service.
                    contact BLOB,
                    -- A compact JWS.
                    certificate TEXT,
                    CHECK ((completed_at IS NULL) = (person IS NOT NULL)),
                    CHECK ((completed_at IS NULL) = (certificate IS NULL))
                ) STRICT;
                CREATE INDEX erasures_open ON erasures (ordered_at) WHERE completed_at IS NULL;
                CREATE UNIQUE INDEX erasures_of_one ON erasures (person, scope) WHERE person IS NOT NULL;
                CREATE TABLE erasure_confirmations (
                    erasure INTEGER NOT NULL REFERENCES erasures (number),
                    service TEXT NOT NULL,
                    stores TEXT NOT NULL,
                    PRIMARY KEY (erasure, service)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    // MARK: Writing

    func add(_ db: Database, _ order: PersonErased, capability: [UInt8], contact: [UInt8]) throws {
        try db.execute(
            sql: "INSERT INTO erasures (erasure, person, scope, ordered_at, capability_lookup, contact) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [order.erasure, order.person, order.scope.rawValue, order.orderedAt, Data(capability), Data(contact)])
    }

    /// The first word of a service counts.
    func confirm(_ db: Database, _ number: Int64, by service: Peer, _ stores: [ErasedStore]) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO erasure_confirmations (erasure, service, stores) VALUES (?, ?, ?)",
            arguments: [number, service.name, String(decoding: try JSONEncoder().encode(stores), as: UTF8.self)])
    }

    /// From here on nothing in the row says whose it was.
    func complete(_ db: Database, _ number: Int64, at now: Timestamp, certificate: String) throws {
        try db.execute(
            sql: "UPDATE erasures SET completed_at = ?, person = NULL, contact = NULL, certificate = ? WHERE number = ?",
            arguments: [now, certificate, number])
    }

    func reminded(_ db: Database, _ number: Int64, at now: Timestamp) throws {
        try db.execute(sql: "UPDATE erasures SET reminded_at = ? WHERE number = ?", arguments: [now, number])
    }

    // MARK: Reading

    func find(_ db: Database, _ erasure: ErasureID) throws -> ErasureRow? {
        try rows(db, "erasure = ?", [erasure]).first
    }

    func find(_ db: Database, capability: [UInt8]) throws -> ErasureRow? {
        try rows(db, "capability_lookup = ?", [Data(capability)]).first
    }

    /// One that is under way for the person and takes in this scope.
    func running(_ db: Database, of person: PersonID, scope: ErasureScope) throws -> ErasureRow? {
        try rows(db, "person = ? AND scope IN (?, 'account')", [person, scope.rawValue]).first
    }

    /// Whether another order about the person is not completed.
    func isPending(_ db: Database, _ person: PersonID) throws -> Bool {
        try !rows(db, "person = ?", [person]).isEmpty
    }

    /// Not completed, oldest first.
    func open(_ db: Database, after number: Int64 = 0, limit: Int = 1000) throws -> [ErasureRow] {
        try rows(db, "completed_at IS NULL AND number > ? ORDER BY number LIMIT ?", [number, limit])
    }

    /// Newest first, those before `number`.
    func page(_ db: Database, before number: Int64, limit: Int) throws -> [ErasureRow] {
        try rows(db, "number < ? ORDER BY number DESC LIMIT ?", [number, limit])
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [ErasureRow] {
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT number, erasure, person, scope, ordered_at, completed_at, reminded_at, contact, certificate FROM erasures
                WHERE \(condition)
                """, arguments: arguments)
        return try found.compactMap { row in
            guard let erasure: ErasureID = row.value(1), let scope = ErasureScope(rawValue: row[3]) else { return nil }
            let number: Int64 = row[0]
            let erased = ErasureCase(
                erasure: erasure, scope: scope, orderedAt: row[4], confirmed: try confirmations(db, number), completedAt: row[5],
                remindedAt: row[6])
            return ErasureRow(
                number: number, person: row.value(2), erased: erased, contact: (row[7] as Data?).map { [UInt8]($0) }, certificate: row[8])
        }
    }

    private func confirmations(_ db: Database, _ number: Int64) throws -> [Peer: [ErasedStore]] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT service, stores FROM erasure_confirmations WHERE erasure = ?", arguments: [number])
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (Peer(row[0]), try JSONDecoder().decode([ErasedStore].self, from: Data((row[1] as String).utf8)))
            })
    }
}
