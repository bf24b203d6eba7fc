// SQL sentences over what a service has been told to erase, and how far it is with each.

import Contracts
import Foundation
import GRDB
import Storage

/// `erasure_duties`: a row stays after its end without the person, so that the same order heard again erases nothing twice.
struct ErasureJobs: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE erasure_duties (
                    erasure BLOB PRIMARY KEY,
                    person BLOB,
                    scope TEXT NOT NULL,
                    ordered_at INTEGER NOT NULL,
                    -- JSON, once nothing is left to erase.
                    stores TEXT,
                    confirmed_at INTEGER,
                    CHECK ((person IS NULL) = (confirmed_at IS NOT NULL))
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// One that is not confirmed yet.
    struct Job: Sendable {
        let order: PersonErased
        /// What was erased where; nil while something is left.
        let stores: [ErasedStore]?
    }

    /// False where it is known already.
    func add(_ db: Database, _ order: PersonErased) throws -> Bool {
        try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO erasure_duties (erasure, person, scope, ordered_at) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [order.erasure, order.person, order.scope.rawValue, order.orderedAt])
        return db.changesCount == 1
    }

    /// Oldest first.
    func open(_ db: Database) throws -> [Job] {
        try Row.fetchAll(
            db, sql: "SELECT erasure, person, scope, ordered_at, stores FROM erasure_duties WHERE confirmed_at IS NULL ORDER BY ordered_at"
        ).compactMap { row in
            guard let erasure: ErasureID = row.value(0), let person: PersonID = row.value(1),
                let scope = ErasureScope(rawValue: row[2])
            else { return nil }
            let stores = try (row[4] as String?).map { try JSONDecoder().decode([ErasedStore].self, from: Data($0.utf8)) }
            return Job(order: PersonErased(erasure: erasure, person: person, scope: scope, orderedAt: row[3]), stores: stores)
        }
    }

    func erased(_ db: Database, _ erasure: ErasureID, stores: [ErasedStore]) throws {
        try db.execute(
            sql: "UPDATE erasure_duties SET stores = ? WHERE erasure = ?",
            arguments: [String(decoding: try JSONEncoder().encode(stores), as: UTF8.self), erasure])
    }

    func confirmed(_ db: Database, _ erasure: ErasureID, at now: Timestamp) throws {
        try db.execute(
            sql: "UPDATE erasure_duties SET person = NULL, stores = NULL, confirmed_at = ? WHERE erasure = ?",
            arguments: [now, erasure])
    }
}
