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
            db.cachedStatement(sql: "SELECT wrapped, destroyed_at FROM wrapped_keys WHERE subject = ?"), arguments: [subject])
        guard let row else { return .none }
        if let at = row[1] as Timestamp? { return .destroyed(at: at) }
        return .wrapped(try row.bytes(0))
    }

    /// A living key as it was stored, and when it was made: one that took the place of a destroyed key was made later.
    package struct Living: Hashable, Sendable {
        /// Whose it is by its row, whose bytes may be damaged.
        package let subject: [UInt8]
        package let madeAt: Timestamp
        package let wrapped: [UInt8]

        package var person: PersonID? { PersonID(bytes: subject) }
    }

    package func living(_ db: Database, of subject: PersonID) throws -> Living? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT subject, made_at, wrapped FROM wrapped_keys WHERE subject = ? AND wrapped IS NOT NULL"),
            arguments: [subject])
        return try row.map { try Self.key(in: $0) }
    }

    /// Those living keys that are wanted, after one look at each.
    package func living(_ db: Database, where isWanted: (Living) throws -> Bool) throws -> [Living] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT subject, made_at, wrapped FROM wrapped_keys WHERE wrapped IS NOT NULL"))
        var found: [Living] = []
        while let row = try rows.next() {
            let key = try Self.key(in: row)
            if try isWanted(key) { found.append(key) }
        }
        return found
    }

    private static func key(in row: Row) throws -> Living {
        Living(subject: try row.bytes(0), madeAt: row[1], wrapped: try row.bytes(2))
    }

    /// Keeps `wrapped` unless the person has, or has had, a key.
    /// - Returns: what now stands, which may be another's.
    package func make(_ db: Database, of subject: PersonID, wrapped: [UInt8], at: Timestamp) throws -> Entry {
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO wrapped_keys (subject, made_at, wrapped) VALUES (?, ?, ?)")
            .execute(arguments: [subject, at, Data(wrapped)])
        return try find(db, of: subject)
    }

    /// Puts back the same key where `damaged` stands for it; changes nothing where the key was destroyed or made anew since.
    /// - Parameter madeAt: nil leaves what stands.
    /// - Returns: whether it was restored.
    package func restore(
        _ db: Database, of subject: PersonID, wrapped: [UInt8], madeAt: Timestamp? = nil, inPlaceOf damaged: [UInt8]
    ) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE wrapped_keys SET wrapped = ?, made_at = coalesce(?, made_at) WHERE subject = ? AND wrapped = ?"
        ).execute(arguments: [Data(wrapped), madeAt, subject, Data(damaged)])
        return db.changesCount == 1
    }

    /// Gives a key back to the person whose it is, where damage made another id of whose it was; changes nothing where that person has,
    /// or has had, another key.
    /// - Returns: whether it was given back.
    package func giveBack(_ db: Database, _ key: Living, to subject: PersonID) throws -> Bool {
        try db.cachedStatement(sql: "UPDATE OR IGNORE wrapped_keys SET subject = ? WHERE subject = ? AND wrapped = ?")
            .execute(arguments: [subject, Data(key.subject), Data(key.wrapped)])
        return db.changesCount == 1
    }

    /// Without the mark of a destroyed key: nobody has the id that stands there.
    package func remove(_ db: Database, _ key: Living) throws {
        try db.cachedStatement(sql: "DELETE FROM wrapped_keys WHERE subject = ? AND wrapped = ?")
            .execute(arguments: [Data(key.subject), Data(key.wrapped)])
    }

    /// Also for a person without a key, who then never gets one. The first time counts.
    package func destroy(_ db: Database, of subject: PersonID, at: Timestamp) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO wrapped_keys (subject, made_at, wrapped, destroyed_at) VALUES (?, ?, NULL, ?)
                ON CONFLICT (subject) DO UPDATE SET wrapped = NULL, destroyed_at = coalesce(destroyed_at, excluded.destroyed_at)
                """
        ).execute(arguments: [subject, at, at])
    }

    /// A new key in the place of a destroyed one: the person's data were erased, the account goes on. Changes nothing where there is
    /// a living key, or never was one.
    /// - Returns: what now stands.
    package func renew(_ db: Database, of subject: PersonID, wrapped: [UInt8], at: Timestamp) throws -> Entry {
        try db.cachedStatement(
            sql: "UPDATE wrapped_keys SET wrapped = ?, made_at = ?, destroyed_at = NULL WHERE subject = ? AND wrapped IS NULL"
        ).execute(arguments: [Data(wrapped), at, subject])
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
            arguments: [subject.map { Data($0.bytes) } ?? Data(), limit])
        return try rows.compactMap { row in try row.value(0, as: PersonID.self).map { ($0, try row.bytes(1)) } }
    }
}
