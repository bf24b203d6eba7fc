// SQL sentences about who shares anonymously, which hours of theirs are said, and which hours are closed for everybody.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

/// Somebody who shares at least one type.
struct CohortPerson: Sendable {
    let person: PersonID
    /// The beginning of the first hour that is not said yet.
    let through: Int64
    /// What is shared, sealed.
    let sealed: [UInt8]
}

/// A person may share before anything of theirs was measured, and has no key here then: what is shared is sealed under a key of the
/// service's own, and goes with the row.
struct CohortPeopleStore: Sendable {
    private let key: SymmetricKey

    init(sealedUnder key: SymmetricKey) {
        self.key = key
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE cohort_people (
                    person BLOB PRIMARY KEY,
                    through INTEGER NOT NULL,
                    shares BLOB NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX cohort_people_by_through ON cohort_people (through);
                CREATE TABLE cohort_hours (
                    one INTEGER PRIMARY KEY CHECK (one = 1),
                    closed INTEGER NOT NULL
                ) STRICT;
                """)
    }

    // MARK: What consent publishes

    /// One fact of `consent.people`. Whoever begins to share begins with the hour of the first opt-in, but with none that is closed.
    /// - Returns: by what `known` knows the person; nil for whoever shares nothing.
    @discardableResult
    func apply(_ db: Database, _ event: StreamEvent, _ keys: PersonKeys) throws -> [UInt8]? {
        guard let state = try event.fact(PersonState.self, type: PersonState.type) else { return nil }
        let shares = state.active ? state.sharesAnonymously ?? [] : []
        guard let since = shares.map(\.since.milliseconds).min() else {
            _ = try Self.delete(db, state.person)
            return nil
        }
        let sealed = Data(try Seal.seal(shares.bytes, key: key, context: Self.context(state.person)))
        try db.cachedStatement(sql: "UPDATE cohort_people SET shares = ? WHERE person = ?").execute(arguments: [sealed, state.person])
        if db.changesCount > 0 { return state.person.bytes }
        // It may come later than the order to erase the person.
        guard try !keys.isDestroyed(state.person) else { return nil }
        let first = max(CohortHour.start(of: max(0, since)), try closed(db) ?? 0)
        try db.cachedStatement(sql: "INSERT INTO cohort_people (person, through, shares) VALUES (?, ?, ?)")
            .execute(arguments: [state.person, first, sealed])
        return state.person.bytes
    }

    /// Whoever shares something, in order, the first ones after `after`.
    func known(_ db: Database, after: [UInt8], limit: Int) throws -> [[UInt8]] {
        try db.all("SELECT person FROM cohort_people WHERE person > ? ORDER BY person LIMIT ?") { row in
            row.bytes(after)
            row.integer(limit)
        } read: {
            $0.bytes(0)
        }
    }

    /// - Returns: how many rows.
    static func delete(_ db: Database, _ person: PersonID) throws -> Int {
        try db.run("DELETE FROM cohort_people WHERE person = ?") { $0.bytes(person.bytes) }
        return db.changesCount
    }

    // MARK: Hours

    /// Those who have hours before `hour` that are not said, whoever is furthest behind first.
    func behind(_ db: Database, before hour: Int64, limit: Int) throws -> [CohortPerson] {
        try db.all("SELECT person, through, shares FROM cohort_people WHERE through < ? ORDER BY through, person LIMIT ?") { row in
            row.integer(hour)
            row.integer(limit)
        } read: { row in
            PersonID(bytes: row.bytes(0)).map { CohortPerson(person: $0, through: row.integer(1), sealed: row.bytes(2)) }
        }.compactMap(\.self)
    }

    /// Nil where what is stored is damaged.
    func shares(of row: CohortPerson) throws -> [CohortOptIn]? {
        do {
            let plain = try Seal.open(row.sealed, key: key, context: Self.context(row.person))
            return try plain.withUnsafeBytes { try [CohortOptIn](decoding: $0) }
        } catch let error where error is CorruptBytes || error as? SealingError == .cannotOpen {
            return nil
        }
    }

    /// The person's hours before `hour` are said, in this transaction.
    /// - Returns: false where the row is no longer as it was read: nothing that rests on it may be said.
    func move(_ db: Database, _ row: CohortPerson, to hour: Int64) throws -> Bool {
        try db.run("UPDATE cohort_people SET through = ? WHERE person = ? AND through = ? AND shares = ?") { values in
            values.integer(hour)
            values.bytes(row.person.bytes)
            values.integer(row.through)
            values.bytes(row.sealed)
        }
        return db.changesCount == 1
    }

    /// The first hour of anybody that is not said yet; nil where nobody shares anything.
    func oldest(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT min(through) FROM cohort_people"))
    }

    /// Before which hour all are closed; nil where none ever was.
    func closed(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT closed FROM cohort_hours"))
    }

    /// Closes all hours before `hour`.
    /// - Returns: false where they are closed already, or somebody's are not said yet.
    func close(_ db: Database, before hour: Int64) throws -> Bool {
        guard try oldest(db) ?? .max >= hour, try closed(db) ?? .min < hour else { return false }
        try db.run("INSERT INTO cohort_hours (one, closed) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET closed = excluded.closed") {
            $0.integer(hour)
        }
        return true
    }

    private static func context(_ person: PersonID) -> [UInt8] {
        Array("cohort_people.shares ".utf8) + person.bytes
    }
}
