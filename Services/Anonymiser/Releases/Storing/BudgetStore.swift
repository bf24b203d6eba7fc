// SQL sentences about budgets: what each organisation has spent of each day of data, and how often everybody's days took part.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// What a release of statistics costs.
struct ReleaseCharge: Sendable {
    /// By day, what the organisation has spent of it now.
    var organisation: [Int: Int] = [:]
    /// By day, whose counters go up by one.
    var people: [Int: Bitmap] = [:]
}

struct BudgetStore: Sendable {
    /// Days of which one erasure's step clears a row.
    static let step = 64

    /// The service's own.
    let key: SymmetricKey
    private var chunks: ChunkSeal { ChunkSeal(key: key, table: "group_day_chunks.sealed") }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE group_organisation_days (
                    organisation BLOB NOT NULL,
                    day INTEGER NOT NULL,
                    micro_rho INTEGER NOT NULL,
                    PRIMARY KEY (organisation, day)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE group_days (
                    day INTEGER PRIMARY KEY,
                    additions INTEGER NOT NULL,
                    size INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE group_day_chunks (
                    day INTEGER NOT NULL,
                    slice INTEGER NOT NULL,
                    chunk INTEGER NOT NULL,
                    sealed BLOB NOT NULL,
                    PRIMARY KEY (day, slice, chunk)
                ) STRICT;
                """)
    }

    // MARK: Organisations

    /// By day, in millionths of ρ.
    func spent(_ db: Database, by organisation: OrganisationID, _ days: Range<Int>) throws -> [Int: Int] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT day, micro_rho FROM group_organisation_days WHERE organisation = ? AND day >= ? AND day < ?"),
            arguments: [organisation, days.lowerBound, days.upperBound])
        let days = try rows.map { row -> (Int, Int) in
            guard let day: Int = row.value(0), let spent: Int = row.value(1) else { throw DamagedRelease(table: "group_organisation_days") }
            return (day, spent)
        }
        return Dictionary(days, uniquingKeysWith: max)
    }

    func charge(_ db: Database, _ charge: ReleaseCharge, to organisation: OrganisationID) throws {
        for (day, spent) in charge.organisation {
            try db.cachedStatement(
                sql: """
                    INSERT INTO group_organisation_days (organisation, day, micro_rho) VALUES (?, ?, ?)
                    ON CONFLICT (organisation, day) DO UPDATE SET micro_rho = excluded.micro_rho
                    """
            ).execute(arguments: [organisation, day, spent])
        }
        for (day, members) in charge.people {
            let old = try counters(db, day)
            var new = old ?? DayCounters(size: members.size)
            if new.size < members.size { new.grow(to: members.size) }
            new.add(members.resized(to: new.size))
            try write(db, new, of: day, before: old)
        }
    }

    // MARK: People

    /// The days of a range on which somebody may have reached the cap.
    func fullDays(_ db: Database, _ days: Range<Int>, cap: Int) throws -> [Int] {
        try Int.fetchAll(
            db.cachedStatement(sql: "SELECT day FROM group_days WHERE day >= ? AND day < ? AND additions >= ?"),
            arguments: [days.lowerBound, days.upperBound, cap])
    }

    /// Nil for a day of which nothing was released.
    func counters(_ db: Database, _ day: Int) throws -> DayCounters? {
        let head = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT additions, size FROM group_days WHERE day = ?"), arguments: [day])
        guard let head else { return nil }
        guard let additions: Int = head.value(0), let size: Int = head.value(1), Bitmap.keptSizes.contains(size) else {
            throw DamagedRelease(table: "group_days")
        }
        var read = [[BitmapChunk]](repeating: Array(repeating: .absent, count: Bitmap.chunkCount(size)), count: Self.slices)
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT slice, chunk, sealed FROM group_day_chunks WHERE day = ?"), arguments: [day])
        while let row = try rows.next() {
            guard let slice: Int = row.value(0), let chunk: Int = row.value(1), let sealed: Data = row.value(2),
                read.indices.contains(slice), read[slice].indices.contains(chunk)
            else { throw DamagedRelease(table: "group_day_chunks") }
            read[slice][chunk] = try chunks.open(sealed, at: Self.place(day, slice, chunk))
        }
        return DayCounters(slices: try read.map { try Bitmap(size: size, chunks: $0) }, additions: additions)
    }

    private static let slices = 4

    private static func place(_ day: Int, _ slice: Int, _ chunk: Int) -> String { "\(day) \(slice) \(chunk)" }

    /// Writes what is not as it was.
    private func write(_ db: Database, _ new: DayCounters, of day: Int, before old: DayCounters?) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO group_days (day, additions, size) VALUES (?, ?, ?)
                ON CONFLICT (day) DO UPDATE SET additions = excluded.additions, size = excluded.size
                """
        ).execute(arguments: [day, new.additions, new.size])
        for slice in new.slices.indices {
            let before = old?.slices[slice].chunks ?? []
            for (place, chunk) in new.slices[slice].chunks.enumerated() {
                let was = place < before.count ? before[place] : .absent
                if chunk != was { try write(db, chunk, day, slice, place) }
            }
        }
    }

    private func write(_ db: Database, _ chunk: BitmapChunk, _ day: Int, _ slice: Int, _ place: Int) throws {
        if chunk == .absent {
            try db.cachedStatement(sql: "DELETE FROM group_day_chunks WHERE day = ? AND slice = ? AND chunk = ?")
                .execute(arguments: [day, slice, place])
        } else {
            let sealed = try chunks.seal(chunk, at: Self.place(day, slice, place))
            try db.cachedStatement(
                sql: """
                    INSERT INTO group_day_chunks (day, slice, chunk, sealed) VALUES (?, ?, ?, ?)
                    ON CONFLICT (day, slice, chunk) DO UPDATE SET sealed = excluded.sealed
                    """
            ).execute(arguments: [day, slice, place, Data(sealed)])
        }
    }

    /// Clears an erased person's row in the counters of some days after one.
    /// - Returns: the last one that was looked at; nil where no more are left.
    func erase(_ db: Database, row: Int, after day: Int) throws -> Int? {
        let days = try Int.fetchAll(
            db.cachedStatement(sql: "SELECT day FROM group_days WHERE day > ? ORDER BY day LIMIT \(Self.step)"), arguments: [day])
        let place = row / BitmapChunk.rows
        for day in days {
            let rows = try Row.fetchAll(
                db.cachedStatement(sql: "SELECT slice, sealed FROM group_day_chunks WHERE day = ? AND chunk = ?"),
                arguments: [day, place])
            for found in rows {
                guard let slice: Int = found.value(0), let sealed: Data = found.value(1) else {
                    throw DamagedRelease(table: "group_day_chunks")
                }
                let chunk = try chunks.open(sealed, at: Self.place(day, slice, place))
                if chunk.contains(row: row) { try write(db, chunk.without(row: row), day, slice, place) }
            }
        }
        return days.count == Self.step ? days.last : nil
    }
}
