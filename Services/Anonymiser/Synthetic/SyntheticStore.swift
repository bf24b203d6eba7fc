// That a store holds people who are made up, and no others: SQL about one row.

import GRDB
import ServiceKit
import Storage

/// What was made up in a store.
struct SyntheticMark: Hashable, Sendable {
    var plan: SyntheticPlan
    /// Whether all of it was applied.
    var isComplete: Bool
}

struct SyntheticStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE synthetic_population (
                    number INTEGER PRIMARY KEY CHECK (number = 1),
                    people INTEGER NOT NULL,
                    seed INTEGER NOT NULL,
                    first_day INTEGER NOT NULL,
                    last_day INTEGER NOT NULL,
                    is_complete INTEGER NOT NULL
                ) STRICT;
                """)
    }

    static let note = TableNote(
        "synthetic_population", holds: "that everybody here is made up, how many and from which seed; empty where people exist",
        kept: "for ever", erasure: .impersonal)

    /// Nil for a store of real people.
    func mark(_ db: Database) throws -> SyntheticMark? {
        let row = try Row.fetchOne(db, sql: "SELECT people, seed, first_day, last_day, is_complete FROM synthetic_population")
        guard let row else { return nil }
        let (people, seed, first, last, isComplete): (Int, Int64, Int, Int, Int) = (row[0], row[1], row[2], row[3], row[4])
        guard first < last else { return nil }
        return SyntheticMark(
            plan: SyntheticPlan(people: people, seed: UInt64(bitPattern: seed), days: first..<last), isComplete: isComplete != 0)
    }

    func set(_ db: Database, _ mark: SyntheticMark) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO synthetic_population (number, people, seed, first_day, last_day, is_complete) VALUES (1, ?, ?, ?, ?, ?)
                ON CONFLICT (number) DO UPDATE SET is_complete = excluded.is_complete
                """
        ).execute(arguments: [
            mark.plan.people, Int64(bitPattern: mark.plan.seed), mark.plan.days.lowerBound, mark.plan.days.upperBound,
            mark.isComplete ? 1 : 0,
        ])
    }
}
