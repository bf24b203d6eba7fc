// SQL sentences over the rows of people, who are known here by keyed digests alone.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// One row, as it is kept.
struct CohortRow: Sendable {
    /// In place of an hour: nothing of any is kept.
    static let erasedWhole = Int(Int32.max)

    let row: Int
    let record: CohortRecord
    /// Hours since 1970; those before it are erased.
    let erasedUntil: Int
    /// When profile or opt-ins changed, or the person was erased.
    let changedAt: Timestamp
    let isErased: Bool
}

struct PopulationStore: Sendable {
    private let key: SymmetricKey
    private let pseudonyms: LookupKey
    private let erased: LookupKey

    /// - Parameter key: the service's own; pseudonyms are of its kind alone, and nobody without it can compute one.
    init(key: SymmetricKey) {
        self.key = key.derived(for: "cohort_rows")
        pseudonyms = LookupKey(key, purpose: "cohort_rows.pseudonym")
        erased = LookupKey(key, purpose: "cohort_erased.digest")
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE cohort_rows (
                    row INTEGER PRIMARY KEY,
                    -- Keyed digest of the person; NULL once the account is erased.
                    pseudonym BLOB UNIQUE,
                    sealed BLOB NOT NULL,
                    -- Hours since 1970.
                    erased_until INTEGER NOT NULL,
                    changed_at INTEGER NOT NULL,
                    CHECK (row >= 0)
                ) STRICT;
                CREATE TABLE cohort_erased (
                    digest BLOB PRIMARY KEY,
                    erased_at INTEGER NOT NULL,
                    -- Hours since 1970.
                    erased_until INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    // MARK: Finding

    /// Nil for somebody who has no row.
    func find(_ db: Database, _ person: PersonID) throws -> CohortRow? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT row, sealed, erased_until, changed_at, pseudonym IS NULL FROM cohort_rows WHERE pseudonym = ?"),
            arguments: [Data(pseudonyms.lookup(person.bytes))]
        ).map(opened)
    }

    /// As `find`, and a new row where there is none; nil for somebody whose account was erased, of whom nothing is kept any more.
    func findOrAdd(_ db: Database, _ person: PersonID) throws -> (found: CohortRow, isNew: Bool)? {
        if let found = try find(db, person) { return found.erasedUntil < CohortRow.erasedWhole ? (found, false) : nil }
        let until = try erasedUntil(db, person)
        guard until < CohortRow.erasedWhole else { return nil }
        let row = try Int.fetchOne(db.cachedStatement(sql: "SELECT coalesce(max(row), -1) + 1 FROM cohort_rows")) ?? 0
        let new = CohortRow(
            row: row, record: CohortRecord(), erasedUntil: until, changedAt: Timestamp(milliseconds: 0), isErased: false)
        try db.cachedStatement(
            sql: "INSERT INTO cohort_rows (row, pseudonym, sealed, erased_until, changed_at) VALUES (?, ?, ?, ?, 0)"
        ).execute(arguments: [row, Data(pseudonyms.lookup(person.bytes)), Data(try sealed(new)), until])
        return (new, true)
    }

    /// Ascending; less than `limit` are the last.
    func page(_ db: Database, after row: Int, limit: Int) throws -> [CohortRow] {
        try db.all("SELECT row, sealed, erased_until, changed_at, pseudonym IS NULL FROM cohort_rows WHERE row > ? ORDER BY row LIMIT ?") {
            $0.integer(row)
            $0.integer(limit)
        } read: { row in
            (
                number: Int(row.integer(0)), sealed: row.bytes(1), until: Int(row.integer(2)), changedAt: row.integer(3),
                isErased: row.integer(4) != 0
            )
        }.map { row in
            try opened(row.number, row.sealed, row.until, Timestamp(milliseconds: row.changedAt), isErased: row.isErased)
        }
    }

    /// How many rows there are, those of erased people among them.
    func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT coalesce(max(row), -1) + 1 FROM cohort_rows")) ?? 0
    }

    // MARK: Changing

    /// - Parameter changed: as the row shall be.
    func update(_ db: Database, _ changed: CohortRow) throws {
        try db.cachedStatement(sql: "UPDATE cohort_rows SET sealed = ?, erased_until = ?, changed_at = ? WHERE row = ?").execute(
            arguments: [Data(try sealed(changed)), changed.erasedUntil, changed.changedAt, changed.row])
    }

    /// From here on nothing of the person is taken that began before an hour, also where there is no row.
    /// - Parameter until: hours since 1970, or `CohortRow.erasedWhole`.
    func noteErased(_ db: Database, _ person: PersonID, at now: Timestamp, until: Int) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO cohort_erased (digest, erased_at, erased_until) VALUES (?, ?, ?)
                ON CONFLICT (digest) DO UPDATE SET erased_until = max(erased_until, excluded.erased_until)
                """
        ).execute(arguments: [Data(erased.lookup(person.bytes)), now, until])
    }

    /// 0 for somebody who was never erased.
    private func erasedUntil(_ db: Database, _ person: PersonID) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT erased_until FROM cohort_erased WHERE digest = ?"),
            arguments: [Data(erased.lookup(person.bytes))]) ?? 0
    }

    /// Nothing leads from the person to the row any more; it is never given to anybody else.
    func forget(_ db: Database, _ row: Int) throws {
        try db.cachedStatement(sql: "UPDATE cohort_rows SET pseudonym = NULL WHERE row = ?").execute(arguments: [row])
    }

    // MARK: Of a snapshot

    /// The key by which a snapshot's facts are told apart: a digest, since it lies in a table.
    func snapshotKey(_ person: PersonID) -> [UInt8] {
        pseudonyms.lookup(person.bytes)
    }

    /// Pseudonyms of everybody who has a row, ascending, the first ones after `key`.
    func snapshotKeys(_ db: Database, after key: [UInt8], limit: Int) throws -> [[UInt8]] {
        try Data.fetchAll(
            db, sql: "SELECT pseudonym FROM cohort_rows WHERE pseudonym > ? ORDER BY pseudonym LIMIT ?", arguments: [Data(key), limit]
        ).map(Array.init)
    }

    func find(_ db: Database, snapshotKey key: [UInt8]) throws -> CohortRow? {
        try Row.fetchOne(
            db, sql: "SELECT row, sealed, erased_until, changed_at, pseudonym IS NULL FROM cohort_rows WHERE pseudonym = ?",
            arguments: [Data(key)]
        ).map(opened)
    }

    // MARK: Seals

    private func context(_ row: Int) -> [UInt8] { Array("cohort_rows.sealed \(row)".utf8) }

    private func sealed(_ row: CohortRow) throws -> [UInt8] {
        try Seal.seal(row.record.bytes, key: key, context: context(row.row))
    }

    private func opened(_ row: Row) throws -> CohortRow {
        guard let number: Int = row.value(0), let sealed: Data = row.value(1), let until: Int = row.value(2),
            let changedAt: Timestamp = row.value(3), let isErased: Bool = row.value(4)
        else { throw CompactReader.Damaged() }
        return try opened(number, sealed, until, changedAt, isErased: isErased)
    }

    private func opened(
        _ number: Int, _ sealed: some Collection<UInt8>, _ until: Int, _ changedAt: Timestamp, isErased: Bool
    ) throws -> CohortRow {
        let record = try CohortRecord(bytes: Seal.open(sealed, key: key, context: context(number)))
        return CohortRow(row: number, record: record, erasedUntil: until, changedAt: changedAt, isErased: isErased)
    }
}
