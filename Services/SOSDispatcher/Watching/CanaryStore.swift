// SQL sentences over the canary: who it is, and what came of its emergencies.

import Contracts
import Foundation
import GRDB
import Storage

struct CanaryStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                -- The synthetic subscriber whose emergencies test this very chain.
                CREATE TABLE canary (
                    one INTEGER PRIMARY KEY CHECK (one = 1),
                    person BLOB NOT NULL,
                    since INTEGER NOT NULL,
                    last_at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE canary_hours (
                    hour INTEGER PRIMARY KEY,
                    ok INTEGER NOT NULL DEFAULT 0,
                    late INTEGER NOT NULL DEFAULT 0,
                    missed INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                """)
    }

    struct Known: Sendable {
        var person: PersonID
        var since: Timestamp
        /// When the last one flew.
        var lastAt: Timestamp
    }

    func load(_ db: Database) throws -> Known? {
        guard let row = try Row.fetchOne(db, sql: "SELECT person, since, last_at FROM canary"), let person: PersonID = row.value(0)
        else { return nil }
        return Known(person: person, since: row[1], lastAt: row[2])
    }

    func save(_ db: Database, _ known: Known) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO canary VALUES (1, ?, ?, ?)", arguments: [known.person, known.since, known.lastAt])
    }

    /// Counts what came of one, and forgets what is too old to be asked for.
    func count(_ db: Database, _ counts: [Int64: CanaryCounts], at now: Timestamp) throws {
        for (hour, counts) in counts {
            try db.execute(
                sql: """
                    INSERT INTO canary_hours VALUES (?, ?, ?, ?)
                    ON CONFLICT (hour) DO UPDATE SET ok = ok + excluded.ok, late = late + excluded.late, missed = missed + excluded.missed
                    """, arguments: [hour, counts.ok, counts.late, counts.missed])
        }
        try db.execute(sql: "UPDATE canary SET last_at = ?", arguments: [now])
        try db.execute(sql: "DELETE FROM canary_hours WHERE hour < ?", arguments: [CanaryPlan.hour(of: now) - CanaryPlan.keptHours])
    }

    /// Everything since that hour.
    func counts(_ db: Database, since hour: Int64) throws -> CanaryCounts {
        let row = try Row.fetchOne(
            db, sql: "SELECT total(ok), total(late), total(missed) FROM canary_hours WHERE hour >= ?", arguments: [hour])
        guard let row else { return CanaryCounts() }
        return CanaryCounts(ok: Int(row[0] as Double), late: Int(row[1] as Double), missed: Int(row[2] as Double))
    }

    /// Nothing of its emergencies stays: they would outnumber everybody's.
    static func forgetEmergencies(_ db: Database, of person: PersonID) throws {
        for query in [EmergencyQuery.canaryLines, .canaryMessages, .canaryEmergencies] {
            try db.cachedStatement(sql: query.sql).execute(arguments: [person])
        }
    }

    /// Nor its supervision, of which a snapshot would tell.
    static func forgetEverything(_ db: Database, of person: PersonID) throws {
        try forgetEmergencies(db, of: person)
        try db.execute(sql: "DELETE FROM subscribers WHERE person = ?", arguments: [person])
    }
}

extension SOSStore {
    /// What a start needs to know. A test emergency that a crash has cut off is not gone on with: nobody is to be called in earnest.
    /// Both dispatchers' are forgotten, and the one that an earlier release had been given by ingest.
    func loadWithoutCanary(_ pair: PairState, _ synthetic: SyntheticPeople) async throws -> Memory {
        let former = try await store.read({ try CanaryStore().load($0) })?.person
        let nobody = synthetic.all.union([former].compactMap(\.self))
        // Its open emergency would stand in the way of the next one's, and of everybody's that is stored in one batch with it.
        try await store.write { db in
            for person in nobody { try CanaryStore.forgetEverything(db, of: person) }
        }
        for person in nobody { pair.keepSecret(person) }
        return try load()
    }
}
