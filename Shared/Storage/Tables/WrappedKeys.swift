// Each person's key, wrapped: the one table of a service's `<service>-keys.db`, which is backed up apart.

package import Contracts
import Foundation
package import GRDB

/// SQL sentences over `wrapped_keys`. Destroying a key erases what it sealed; the row stays, so that no other key is made for the
/// same person by accident. After destroying, `Store.emptyLog` takes the old bytes out of the write-ahead log.
package struct WrappedKeys: Sendable {
    package init() {}

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE wrapped_keys (
                    subject BLOB PRIMARY KEY,
                    made_at INTEGER NOT NULL,
                    wrapped BLOB,
                    destroyed_at INTEGER,
                    CHECK ((wrapped IS NULL) = (destroyed_at IS NOT NULL))
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// What stands for a person: nothing yet, a living key, or the mark of a destroyed one.
    package enum Entry: Hashable, Sendable {
        case none
        case wrapped([UInt8])
        case destroyed(at: Timestamp)
    }

    /// A key is given as it was stored; that it can be unwrapped is not known yet.
    package func find(_ db: Database, of subject: PersonID) throws -> Entry {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT wrapped, destroyed_at FROM wrapped_keys WHERE subject = ?"), arguments: [subject.blob])
        guard let row else { return .none }
        if let at = row[1] as Int64? { return .destroyed(at: Timestamp(milliseconds: at)) }
        return .wrapped(try row.bytes(0))
    }

    /// The living key as it was stored, and when it was made: one that took the place of a destroyed key was made later.
    package func living(_ db: Database, of subject: PersonID) throws -> (wrapped: [UInt8], madeAt: Timestamp)? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT wrapped, made_at FROM wrapped_keys WHERE subject = ? AND wrapped IS NOT NULL"),
            arguments: [subject.blob])
        return try row.map { (try $0.bytes(0), Timestamp(milliseconds: $0[1])) }
    }

    /// Keeps `wrapped` unless the person has, or has had, a key.
    /// - Returns: what now stands, which may be another's.
    package func make(_ db: Database, of subject: PersonID, wrapped: [UInt8], at: Timestamp) throws -> Entry {
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO wrapped_keys (subject, made_at, wrapped) VALUES (?, ?, ?)")
            .execute(arguments: [subject.blob, at.milliseconds, Data(wrapped)])
        return try find(db, of: subject)
    }

    /// Puts back the same key where `damaged` stands for it; changes nothing where the key was destroyed or made anew since.
    /// - Returns: whether it was put back.
    package func restore(_ db: Database, of subject: PersonID, wrapped: [UInt8], inPlaceOf damaged: [UInt8]) throws -> Bool {
        try db.cachedStatement(sql: "UPDATE wrapped_keys SET wrapped = ? WHERE subject = ? AND wrapped = ?")
            .execute(arguments: [Data(wrapped), subject.blob, Data(damaged)])
        return db.changesCount == 1
    }

    /// Puts the same key under another key-encryption key; changes nothing where there is none.
    package func rewrap(_ db: Database, of subject: PersonID, wrapped: [UInt8]) throws {
        try db.cachedStatement(sql: "UPDATE wrapped_keys SET wrapped = ? WHERE subject = ? AND wrapped IS NOT NULL")
            .execute(arguments: [Data(wrapped), subject.blob])
    }

    /// Also for a person without a key, who then never gets one. The first time counts.
    package func destroy(_ db: Database, of subject: PersonID, at: Timestamp) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO wrapped_keys (subject, made_at, wrapped, destroyed_at) VALUES (?, ?, NULL, ?)
                ON CONFLICT (subject) DO UPDATE SET wrapped = NULL, destroyed_at = coalesce(destroyed_at, excluded.destroyed_at)
                """
        ).execute(arguments: [subject.blob, at.milliseconds, at.milliseconds])
    }

    /// A new key in the place of a destroyed one: the person's data were erased, the account goes on. Changes nothing where there is
    /// a living key, or never was one.
    /// - Returns: what now stands.
    package func renew(_ db: Database, of subject: PersonID, wrapped: [UInt8], at: Timestamp) throws -> Entry {
        try db.cachedStatement(
            sql: "UPDATE wrapped_keys SET wrapped = ?, made_at = ?, destroyed_at = NULL WHERE subject = ? AND wrapped IS NULL"
        ).execute(arguments: [Data(wrapped), at.milliseconds, subject.blob])
        return try find(db, of: subject)
    }

    /// Whether there is a row at all, of a living key or of a destroyed one.
    package func isAnybodyKnown(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM wrapped_keys)") ?? false
    }

    /// The living keys after `subject` in the order of ids, at most `limit`: for a change of the key-encryption key.
    package func page(_ db: Database, after subject: PersonID?, limit: Int) throws -> [(subject: PersonID, wrapped: [UInt8])] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT subject, wrapped FROM wrapped_keys WHERE subject > ? AND wrapped IS NOT NULL ORDER BY subject LIMIT ?"),
            arguments: [subject?.blob ?? Data(), limit])
        return try rows.compactMap { row in try PersonID(blob: row[0]).map { ($0, try row.bytes(1)) } }
    }
}
