// SQL sentences about the groups that organisations asked about: what the guard compares with, and what the quota counts.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// A group as an organisation asked about it.
struct CohortNote: Sendable {
    /// The filters' canonical bytes.
    let filters: [UInt8]
    let members: Bitmap
    let window: DayWindow
    /// Of the moment to which `members` belong.
    let at: Timestamp
    /// Days since 1970.
    let day: Int
    let isAdmitted: Bool
    /// Whether other days of it are other people, as where the filters name an area.
    let dependsOnDays: Bool
}

/// One that is kept, without its members.
struct KeptCohort: Sendable {
    let number: Int64
    let filters: [UInt8]
    let window: DayWindow
    let at: Timestamp
    /// Days since 1970 on which it was asked about first and last.
    let firstDay: Int
    let lastDay: Int
    let isAdmitted: Bool
    /// Of its members.
    let size: Int
}

struct CohortStore: Sendable {
    /// Cohorts of which one erasure's step clears a row.
    static let step = 64
    /// Since 1970, which windows can have.
    private static let days = -1_000_000...1_000_000

    /// The service's own.
    let key: SymmetricKey
    private var chunks: ChunkSeal { ChunkSeal(key: key, table: "group_cohort_chunks.sealed") }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE group_cohorts (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    organisation BLOB NOT NULL,
                    filters BLOB NOT NULL,
                    window_from INTEGER NOT NULL,
                    window_to INTEGER NOT NULL,
                    at INTEGER NOT NULL,
                    first_day INTEGER NOT NULL,
                    last_day INTEGER NOT NULL,
                    admitted INTEGER NOT NULL,
                    size INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX group_cohorts_by_organisation ON group_cohorts (organisation, last_day);
                CREATE INDEX group_cohorts_by_day ON group_cohorts (last_day);
                CREATE TABLE group_cohort_chunks (
                    cohort INTEGER NOT NULL,
                    chunk INTEGER NOT NULL,
                    sealed BLOB NOT NULL,
                    PRIMARY KEY (cohort, chunk)
                ) STRICT;
                """)
    }

    // MARK: Reading

    /// In the order in which they came. - Parameter day: those that were asked about after it.
    func rows(_ db: Database, of organisation: OrganisationID, after day: Int) throws -> [KeptCohort] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT number, filters, window_from, window_to, at, first_day, last_day, admitted, size FROM group_cohorts
                    WHERE organisation = ? AND last_day > ? ORDER BY number
                    """), arguments: [organisation, day])
        return try rows.map { row in
            guard let number: Int64 = row.value(0), let filters: Data = row.value(1), let from: Int = row.value(2),
                let to: Int = row.value(3), from < to, Self.days.contains(from), Self.days.contains(to), let at: Timestamp = row.value(4),
                let firstDay: Int = row.value(5), let lastDay: Int = row.value(6), let isAdmitted: Bool = row.value(7),
                let size: Int = row.value(8), Bitmap.keptSizes.contains(size)
            else { throw DamagedRelease(table: "group_cohorts") }
            return KeptCohort(
                number: number, filters: try Seal.open(filters, key: key, context: Self.context(organisation)),
                window: DayWindow(from..<to), at: at, firstDay: firstDay, lastDay: lastDay, isAdmitted: isAdmitted, size: size)
        }
    }

    func members(_ db: Database, of cohort: KeptCohort) throws -> Bitmap {
        var read = [BitmapChunk](repeating: .absent, count: Bitmap.chunkCount(cohort.size))
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT chunk, sealed FROM group_cohort_chunks WHERE cohort = ?"), arguments: [cohort.number])
        while let row = try rows.next() {
            guard let chunk: Int = row.value(0), let sealed: Data = row.value(1), read.indices.contains(chunk) else {
                throw DamagedRelease(table: "group_cohort_chunks")
            }
            read[chunk] = try chunks.open(sealed, at: "\(cohort.number) \(chunk)")
        }
        return try Bitmap(size: cohort.size, chunks: read)
    }

    private static func context(_ organisation: OrganisationID) -> [UInt8] {
        Array("group_cohorts.filters \(organisation)".utf8)
    }

    // MARK: Keeping

    func add(_ db: Database, _ note: CohortNote, of organisation: OrganisationID) throws -> KeptCohort {
        let sealed = try Seal.seal(note.filters, key: key, context: Self.context(organisation))
        try db.cachedStatement(
            sql: """
                INSERT INTO group_cohorts (organisation, filters, window_from, window_to, at, first_day, last_day, admitted, size)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                organisation, Data(sealed), note.window.days.lowerBound, note.window.days.upperBound, note.at, note.day, note.day,
                note.isAdmitted, note.members.size,
            ])
        let number = db.lastInsertedRowID
        try write(db, note.members, of: number)
        return KeptCohort(
            number: number, filters: note.filters, window: note.window, at: note.at, firstDay: note.day, lastDay: note.day,
            isAdmitted: note.isAdmitted, size: note.members.size)
    }

    /// It is asked about again: who is in it now, over the days of both, and admitted if it ever was.
    /// - Parameter firstDay: see `KeptCohort`.
    func replace(_ db: Database, _ cohort: KeptCohort, with note: CohortNote, firstDay: Int) throws -> KeptCohort {
        let from = min(cohort.window.days.lowerBound, note.window.days.lowerBound)
        let to = max(cohort.window.days.upperBound, note.window.days.upperBound)
        let isAdmitted = note.isAdmitted || cohort.isAdmitted
        try db.cachedStatement(
            sql: """
                UPDATE group_cohorts SET window_from = ?, window_to = ?, at = ?, first_day = ?, last_day = ?, admitted = ?, size = ?
                WHERE number = ?
                """
        ).execute(
            arguments: [
                from, to, note.at, firstDay, note.day, isAdmitted, note.members.size, cohort.number,
            ])
        try db.cachedStatement(sql: "DELETE FROM group_cohort_chunks WHERE cohort = ?").execute(arguments: [cohort.number])
        try write(db, note.members, of: cohort.number)
        return KeptCohort(
            number: cohort.number, filters: cohort.filters, window: DayWindow(from..<to), at: note.at, firstDay: firstDay,
            lastDay: note.day,
            isAdmitted: isAdmitted, size: note.members.size)
    }

    /// It counts as asked about today, with the people that it has.
    func touch(_ db: Database, _ cohort: KeptCohort, today: Int) throws {
        try db.cachedStatement(sql: "UPDATE group_cohorts SET last_day = max(last_day, ?) WHERE number = ?")
            .execute(arguments: [today, cohort.number])
    }

    private func write(_ db: Database, _ members: Bitmap, of cohort: Int64) throws {
        let statement = try db.cachedStatement(sql: "INSERT INTO group_cohort_chunks (cohort, chunk, sealed) VALUES (?, ?, ?)")
        for (place, chunk) in members.chunks.enumerated() where chunk != .absent {
            try statement.execute(arguments: [cohort, place, Data(try chunks.seal(chunk, at: "\(cohort) \(place)"))])
        }
    }

    // MARK: Forgetting

    /// Clears an erased person's row in some cohorts after one.
    /// - Returns: the last one that was looked at; nil where no more are left.
    func erase(_ db: Database, row: Int, after cohort: Int64) throws -> Int64? {
        let place = row / BitmapChunk.rows
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT cohort, sealed FROM group_cohort_chunks WHERE chunk = ? AND cohort > ? ORDER BY cohort LIMIT \(Self.step)"),
            arguments: [place, cohort])
        var last: Int64?
        for found in rows {
            guard let number: Int64 = found.value(0), let sealed: Data = found.value(1) else {
                throw DamagedRelease(table: "group_cohort_chunks")
            }
            last = number
            let chunk = try chunks.open(sealed, at: "\(number) \(place)")
            guard chunk.contains(row: row) else { continue }
            let left = chunk.without(row: row)
            if left == .absent {
                try db.cachedStatement(sql: "DELETE FROM group_cohort_chunks WHERE cohort = ? AND chunk = ?")
                    .execute(arguments: [number, place])
            } else {
                let sealed = try chunks.seal(left, at: "\(number) \(place)")
                try db.cachedStatement(sql: "UPDATE group_cohort_chunks SET sealed = ? WHERE cohort = ? AND chunk = ?")
                    .execute(arguments: [Data(sealed), number, place])
            }
        }
        return rows.count == Self.step ? last : nil
    }

    /// Forgets cohorts that nobody asked about after a day.
    /// - Returns: how many rows; to be called again until it is none.
    func expire(_ db: Database, through day: Int) throws -> Int {
        var slice = DeletionSlice()
        try slice.delete(
            db, from: "group_cohort_chunks", where: "cohort IN (SELECT number FROM group_cohorts WHERE last_day <= ?)", [day])
        // Once the slice has room left, no chunk of them is.
        try slice.delete(db, from: "group_cohorts", where: "last_day <= ?", [day])
        return slice.deleted
    }
}
