// SQL sentences about days: which have new entries, and the sealed minutes of those that were summed up.

import Contracts
import Foundation
import GRDB
import Storage

/// One day of one series.
struct DayKey: Hashable, Sendable {
    let series: Series
    /// UTC, since 1970.
    let day: Int64
}

/// A day as the store has it.
struct DayState: Sendable {
    let day: Int64
    /// The sealed minutes hold every chunk up to this id.
    let rolledThrough: Int64
    /// Whether there may be chunks with a higher id.
    let isDirty: Bool
    let minutes: [UInt8]?
}

struct DayStore: Sendable {
    /// Shared by all who write days of one store.
    let noted = NotedDays()

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE days (
                    person INTEGER NOT NULL REFERENCES people (number),
                    metric INTEGER NOT NULL,
                    day INTEGER NOT NULL,
                    rolled_through INTEGER NOT NULL DEFAULT 0,
                    dirty INTEGER NOT NULL DEFAULT 1,
                    compacted INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (person, metric, day)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX days_dirty ON days (day) WHERE dirty = 1;
                CREATE INDEX days_loose ON days (day) WHERE compacted = 0 AND dirty = 0;
                CREATE TABLE roll_ups (
                    person INTEGER NOT NULL,
                    metric INTEGER NOT NULL,
                    day INTEGER NOT NULL,
                    body BLOB NOT NULL,
                    UNIQUE (person, metric, day),
                    FOREIGN KEY (person, metric, day) REFERENCES days ON DELETE CASCADE
                ) STRICT;
                """)
    }

    /// Ninth step: the unique index of `roll_ups` is called its primary key. In the file both are the same index under the same name, so
    /// only the declaration is changed: to copy everybody's minutes would keep a large store from starting for minutes (decision 0042).
    static func declareKey(in db: Database) throws {
        let version = try Int.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
        try db.execute(sql: "PRAGMA writable_schema = ON")
        defer { try? db.execute(sql: "PRAGMA writable_schema = OFF") }
        try db.execute(
            sql: """
                UPDATE sqlite_schema SET sql = replace(sql, 'UNIQUE (person, metric, day)', 'PRIMARY KEY (person, metric, day)')
                WHERE type = 'table' AND name = 'roll_ups' AND instr(sql, 'UNIQUE (person, metric, day)') > 0
                """)
        // Elsewhere the table would stay without a key, and nobody would know.
        guard db.changesCount == 1 else { throw StoreError.tableNotStrict("roll_ups") }
        // Makes every connection read the declarations again.
        try db.execute(sql: "PRAGMA schema_version = \(version + 1)")
    }

    /// Notes that a chunk has come with entries of that day. Most days are known to be noted already; then the store is not asked.
    /// - Returns: what `noted` receives after the commit; nil where it was known.
    func touch(_ db: Database, _ key: DayKey) throws -> NotedDays.Written? {
        guard !noted.has(key) else { return nil }
        try db.run(
            """
            INSERT INTO days (person, metric, day) VALUES (?, ?, ?)
            ON CONFLICT DO UPDATE SET dirty = 1, compacted = 0 WHERE dirty = 0
            """
        ) { row in
            row.integer(key.series.person)
            row.integer(Int64(key.series.metric.number))
            row.integer(key.day)
        }
        return noted.written(key)
    }

    func state(_ db: Database, _ key: DayKey) throws -> DayState? {
        try states(db, of: key.series, key.day...key.day, limit: 1).first
    }

    /// The first days of the series within `days` that have entries, in order.
    func states(_ db: Database, of series: Series, _ days: ClosedRange<Int64>, limit: Int) throws -> [DayState] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT day, rolled_through, dirty, body FROM days LEFT JOIN roll_ups USING (person, metric, day)
                    WHERE person = ? AND metric = ? AND day BETWEEN ? AND ? ORDER BY day LIMIT ?
                    """),
            arguments: [series.person, Int64(series.metric.number), days.lowerBound, days.upperBound, limit])
        var states: [DayState] = []
        while let row = try rows.next() {
            states.append(
                DayState(day: row[0], rolledThrough: row[1], isDirty: row[2], minutes: (row[3] as Data?).map { [UInt8]($0) }))
        }
        return states
    }

    /// Keeps the day's sealed minutes, which hold every chunk up to `through`.
    func keep(_ db: Database, _ key: DayKey, minutes: [UInt8], through: Int64, isDirty: Bool) throws {
        noted.forget(key.series)
        let number = Int64(key.series.metric.number)
        try db.cachedStatement(
            sql: "UPDATE days SET rolled_through = ?, dirty = ? WHERE person = ? AND metric = ? AND day = ?"
        ).execute(arguments: [through, isDirty, key.series.person, number, key.day])
        try db.cachedStatement(
            sql: """
                INSERT INTO roll_ups (person, metric, day, body) VALUES (?, ?, ?, ?)
                ON CONFLICT (person, metric, day) DO UPDATE SET body = excluded.body
                """
        ).execute(arguments: [key.series.person, number, key.day, Data(minutes)])
    }

    /// The day has nothing to sum up: its person's key is gone.
    func giveUp(_ db: Database, _ key: DayKey) throws {
        noted.forget(key.series)
        try db.cachedStatement(sql: "UPDATE days SET dirty = 0, compacted = 1 WHERE person = ? AND metric = ? AND day = ?")
            .execute(arguments: [key.series.person, Int64(key.series.metric.number), key.day])
    }

    /// The person's days before `day`, with what was summed up of them.
    func forget(_ db: Database, of person: Int64, before day: Int64) throws {
        noted.forget(person: person)
        try db.cachedStatement(sql: "DELETE FROM days WHERE person = ? AND day < ?").execute(arguments: [person, day])
    }

    /// All of the person's days.
    /// - Returns: how many.
    /// - Returns: how many; `limit` means that there may be more.
    func erase(_ db: Database, of person: Int64, limit: Int) throws -> Int {
        noted.forget(person: person)
        try db.cachedStatement(
            sql: "DELETE FROM days WHERE (person, metric, day) IN (SELECT person, metric, day FROM days WHERE person = ? LIMIT ?)"
        ).execute(arguments: [person, limit])
        return db.changesCount
    }

    /// The day's chunks have been merged; the highest id of the day is now `through`.
    func noteCompacted(_ db: Database, _ key: DayKey, through: Int64) throws {
        noted.forget(key.series)
        try db.cachedStatement(
            sql: """
                UPDATE days SET compacted = 1, rolled_through = max(rolled_through, ?)
                WHERE person = ? AND metric = ? AND day = ?
                """
        ).execute(arguments: [through, key.series.person, Int64(key.series.metric.number), key.day])
    }

    /// Days before `day` that have new entries, oldest first.
    func dirty(_ db: Database, before day: Int64, limit: Int) throws -> [DayKey] {
        try keys(db, sql: "SELECT person, metric, day FROM days WHERE dirty = 1 AND day < ? ORDER BY day LIMIT ?", [day, limit])
    }

    /// Days before `day` that are summed up but not merged, oldest first.
    func loose(_ db: Database, before day: Int64, limit: Int) throws -> [DayKey] {
        try keys(
            db, sql: "SELECT person, metric, day FROM days WHERE compacted = 0 AND dirty = 0 AND day < ? ORDER BY day LIMIT ?",
            [day, limit])
    }

    private func keys(_ db: Database, sql: String, _ arguments: StatementArguments) throws -> [DayKey] {
        try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments).compactMap { row in
            UInt8(exactly: row[1] as Int64).flatMap(Metric.init(number:)).map { metric in
                DayKey(series: Series(person: row[0], metric: metric), day: row[2])
            }
        }
    }
}
