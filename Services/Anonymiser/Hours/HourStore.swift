// SQL sentences over hours that are not closed yet, and over how far hours are closed.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

/// How far everything is.
struct CohortState: Hashable, Sendable {
    /// Hours before it are said in full: what comes later of them is dropped. Nil before the first.
    var saidThrough: Int?
    /// Hours before it are closed.
    var closedThrough: Int?
    /// How often opt-ins ended or began anew, or somebody was erased: what was read before such a change is not written after it.
    var rights: Int
    /// Rows of a copy that was restored, until those of them are cleared who share nothing any more; nil else.
    var restoredRows: Int?
}

struct HourStore: Sendable {
    private let key: SymmetricKey

    init(key: SymmetricKey) {
        self.key = key.derived(for: "cohort_open_hours")
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE cohort_open_hours (
                    -- Hours since 1970.
                    hour INTEGER NOT NULL,
                    row INTEGER NOT NULL,
                    sealed BLOB NOT NULL,
                    PRIMARY KEY (hour, row)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE cohort_state (
                    only INTEGER PRIMARY KEY CHECK (only = 1),
                    said_through INTEGER,
                    closed_through INTEGER,
                    rights INTEGER NOT NULL,
                    restored_rows INTEGER
                ) STRICT;
                INSERT INTO cohort_state (only, rights) VALUES (1, 0);
                """)
    }

    // MARK: State

    func state(_ db: Database) throws -> CohortState {
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT said_through, closed_through, rights, restored_rows FROM cohort_state"))
        return CohortState(
            saidThrough: row?.value(0), closedThrough: row?.value(1), rights: row?.value(2) ?? 0, restoredRows: row?.value(3))
    }

    static func addRestoredDay(in db: Database) throws {
        try db.execute(sql: "ALTER TABLE cohort_state ADD COLUMN restored_day INTEGER")
    }

    /// See `RestoredPeople`. - Parameter day: since 1970.
    static func noteRestored(_ db: Database, on day: Int) throws {
        try db.execute(
            sql: """
                UPDATE cohort_state SET restored_rows = (SELECT coalesce(max(row), -1) + 1 FROM cohort_rows),
                    restored_day = max(coalesce(restored_day, :day), :day)
                """, arguments: ["day": day])
    }

    /// The day, since 1970, on which the store was put back from a copy last. Of it and those before nobody knows what was released since
    /// the copy was made: which budgets are spent, and which groups were told. Nil where it never was.
    static func restoredDay(_ db: Database) throws -> Int? {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT restored_day FROM cohort_state"))
    }

    func endRestored(_ db: Database) throws {
        try db.execute(sql: "UPDATE cohort_state SET restored_rows = NULL")
    }

    /// Never goes back.
    func say(_ db: Database, through hour: Int) throws {
        try db.cachedStatement(sql: "UPDATE cohort_state SET said_through = max(coalesce(said_through, :hour), :hour)")
            .execute(arguments: ["hour": hour])
    }

    func close(_ db: Database, through hour: Int) throws {
        try db.cachedStatement(sql: "UPDATE cohort_state SET closed_through = ?").execute(arguments: [hour])
    }

    /// - Returns: the new number.
    func raiseRights(_ db: Database) throws -> Int {
        try db.cachedStatement(sql: "UPDATE cohort_state SET rights = rights + 1").execute()
        return try state(db).rights
    }

    // MARK: Open hours

    /// An hour of a person is said once, perhaps repeatedly, with the same numbers.
    func put(_ db: Database, _ hour: Int, row: Int, _ measured: PersonHour) throws {
        let sealed = try Seal.seal(measured.bytes, key: key, context: context(hour, row))
        try db.cachedStatement(
            sql: """
                INSERT INTO cohort_open_hours (hour, row, sealed) VALUES (?, ?, ?)
                ON CONFLICT (hour, row) DO UPDATE SET sealed = excluded.sealed
                """
        ).execute(arguments: [hour, row, Data(sealed)])
    }

    /// What people of some rows measured in an hour, ascending by row.
    func measured(_ db: Database, _ hour: Int, rows: Range<Int>) throws -> [(row: Int, measured: PersonHour)] {
        let cursor = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT row, sealed FROM cohort_open_hours WHERE hour = ? AND row >= ? AND row < ? ORDER BY row"),
            arguments: [hour, rows.lowerBound, rows.upperBound])
        var found: [(row: Int, measured: PersonHour)] = []
        while let row = try cursor.next() {
            guard let number: Int = row.value(0), let sealed: Data = row.value(1) else { throw CompactReader.Damaged() }
            let bytes = try Seal.open(sealed, key: key, context: context(hour, number))
            found.append((number, try PersonHour(bytes: bytes)))
        }
        return found
    }

    /// Nil where nothing is open.
    func firstOpen(_ db: Database) throws -> Int? {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT min(hour) FROM cohort_open_hours"))
    }

    /// Of hours that are closed, a slice.
    /// - Returns: how many; to be called again until it is none.
    func deleteClosed(_ db: Database, before hour: Int) throws -> Int {
        var slice = DeletionSlice()
        try slice.delete(db, from: "cohort_open_hours", key: "hour, row", where: "hour < ?", [hour])
        return slice.deleted
    }

    /// What somebody measured in open hours.
    /// - Parameter end: hours from it on stay.
    func delete(_ db: Database, row: Int, before end: Int = .max) throws -> Int {
        var deleted = 0
        // Few hours are open: each is looked for by itself, since no index knows rows alone.
        var hour = try firstOpen(db)
        while let open = hour, open < end {
            try db.cachedStatement(sql: "DELETE FROM cohort_open_hours WHERE hour = ? AND row = ?").execute(arguments: [open, row])
            deleted += db.changesCount
            hour = try Int.fetchOne(
                db.cachedStatement(sql: "SELECT min(hour) FROM cohort_open_hours WHERE hour > ?"), arguments: [open])
        }
        return deleted
    }

    private func context(_ hour: Int, _ row: Int) -> [UInt8] { Array("cohort_open_hours.sealed \(hour) \(row)".utf8) }
}

extension RestoredPeople {
    /// In the transaction in which the store begins anew.
    static func begin(_ db: Database) throws {
        try HourStore.noteRestored(db, on: Int(Timestamp.now.milliseconds / 86_400_000))
        try ConsumerPositions().forget(db, StreamFamily.cohortProfiles.streams + StreamFamily.accounts.streams)
    }
}
