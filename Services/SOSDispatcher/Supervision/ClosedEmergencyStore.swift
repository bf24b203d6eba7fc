// Tables of emergencies that are over: apart, so that neither a start nor the canary walks past them.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// `closed_emergencies`, `closed_outbox` and `closed_lines` hold what `emergencies`, `dispatch_outbox` and `dispatch_lines` held, row for row.
/// The views `every_emergency`, `every_message` and `every_line` show both.
enum ClosedEmergencyStore {
    /// How long after its closing an emergency is moved: as long as a rejection opens it anew.
    static let after = Duration.seconds(3600)
    /// Emergencies in one step, so that nobody waits long for the writer.
    static let step = 100

    private static let emergency = "emergency, person, state, t0, dispatched_at, acknowledged_at, closed_at"
    private static let message = "emergency, sequence, person, kind, sealed, created_at"
    private static let line = "emergency, sequence, integrator, created_at, attempts, last_attempt_at, texts, ended"
    private static let tables = [
        (open: "emergencies", closed: "closed_emergencies", every: "every_emergency", columns: emergency),
        (open: "dispatch_outbox", closed: "closed_outbox", every: "every_message", columns: message),
        (open: "dispatch_lines", closed: "closed_lines", every: "every_line", columns: line),
    ]

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                -- What the canary deletes, and what a start asks of one person.
                CREATE INDEX emergencies_by_person ON emergencies (person, t0);
                CREATE INDEX emergencies_by_closing ON emergencies (closed_at);
                CREATE INDEX dispatch_outbox_by_person ON dispatch_outbox (person);
                -- Emergencies that are over, as they were in the tables of the same columns.
                CREATE TABLE closed_emergencies (
                    emergency BLOB PRIMARY KEY,
                    person BLOB NOT NULL,
                    state TEXT NOT NULL,
                    t0 INTEGER NOT NULL,
                    dispatched_at INTEGER,
                    acknowledged_at INTEGER,
                    closed_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX closed_emergencies_by_time ON closed_emergencies (t0);
                CREATE INDEX closed_emergencies_by_person ON closed_emergencies (person, t0);
                CREATE INDEX closed_emergencies_by_closing ON closed_emergencies (closed_at);
                CREATE TABLE closed_outbox (
                    emergency BLOB NOT NULL,
                    sequence INTEGER NOT NULL,
                    person BLOB NOT NULL,
                    kind TEXT NOT NULL,
                    sealed BLOB NOT NULL,
                    created_at INTEGER NOT NULL,
                    PRIMARY KEY (emergency, sequence)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX closed_outbox_by_person ON closed_outbox (person);
                CREATE TABLE closed_lines (
                    emergency BLOB NOT NULL,
                    sequence INTEGER NOT NULL,
                    integrator TEXT NOT NULL,
                    created_at INTEGER NOT NULL,
                    attempts INTEGER NOT NULL,
                    last_attempt_at INTEGER,
                    texts INTEGER NOT NULL DEFAULT 0,
                    ended TEXT,
                    PRIMARY KEY (emergency, sequence, integrator)
                ) STRICT, WITHOUT ROWID;
                """)
        for table in tables {
            try db.execute(
                sql: """
                    CREATE VIEW \(table.every) AS
                    SELECT \(table.columns) FROM \(table.open) UNION ALL SELECT \(table.columns) FROM \(table.closed)
                    """)
        }
    }

    /// Moves what is over at most `step` emergencies further; gives how many.
    static func move(_ db: Database, closedBefore time: Timestamp) throws -> Int {
        let emergencies = try Data.fetchAll(db, sql: EmergencyQuery.over.sql, arguments: [time.milliseconds, step])
        var over = emergencies
        // Drills have messages alone. Looked for where little else is left to walk past.
        if emergencies.count < step {
            over += try Data.fetchAll(db, sql: EmergencyQuery.drillsOver.sql, arguments: [time.milliseconds, step - emergencies.count])
        }
        for emergency in over {
            for table in tables { try carry(db, emergency, table.columns, from: table.open, to: table.closed) }
        }
        return over.count
    }

    /// Something is written of these: they come back first. Costs one look-up where they were never moved.
    static func bringBack(_ db: Database, _ emergencies: Set<EmergencyID>) throws {
        for emergency in emergencies {
            let known = try Row.fetchOne(db.cachedStatement(sql: EmergencyQuery.moved.sql), arguments: [emergency.data])
            guard known != nil else { continue }
            for table in tables { try carry(db, emergency.data, table.columns, from: table.closed, to: table.open) }
        }
    }

    private static func carry(_ db: Database, _ emergency: Data, _ columns: String, from: String, to: String) throws {
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO \(to) (\(columns)) SELECT \(columns) FROM \(from) WHERE emergency = ?")
            .execute(arguments: [emergency])
        try db.cachedStatement(sql: "DELETE FROM \(from) WHERE emergency = ?").execute(arguments: [emergency])
    }
}

/// What is asked of emergencies and their messages every few seconds, at a start or for a list. In one place, so that a test explains
/// what runs and not a copy of it.
enum EmergencyQuery: String, CaseIterable {
    // What the canary leaves behind, every ten seconds; in this order.
    case canaryLines = "DELETE FROM dispatch_lines WHERE emergency IN (SELECT emergency FROM dispatch_outbox WHERE person = ?)"
    case canaryMessages = "DELETE FROM dispatch_outbox WHERE person = ?"
    case canaryEmergencies = "DELETE FROM emergencies WHERE person = ?"
    // A start.
    case begunAt = "SELECT * FROM every_emergency WHERE person = ? AND t0 = ?"
    /// What has no line was decided and, because of a crash, given to nobody.
    case unfinished = """
        SELECT * FROM dispatch_outbox WHERE emergency IN (
            SELECT emergency FROM dispatch_lines WHERE ended IS NULL UNION SELECT emergency FROM emergencies WHERE closed_at IS NULL
            UNION SELECT emergency FROM dispatch_outbox AS lost WHERE NOT EXISTS (
                SELECT 1 FROM dispatch_lines AS line WHERE line.emergency = lost.emergency AND line.sequence = lost.sequence))
        """
    case open = "SELECT * FROM emergencies WHERE person = ? AND closed_at IS NULL"
    case sequences = "SELECT sequence FROM dispatch_outbox WHERE emergency = ?"
    case openOrClosedAfter = "SELECT * FROM every_emergency WHERE closed_at IS NULL OR closed_at > ?"
    // One emergency.
    case one = "SELECT * FROM every_emergency WHERE emergency = ?"
    case messages = "SELECT * FROM every_message WHERE emergency = ?"
    case message = "SELECT * FROM every_message WHERE emergency = ? AND sequence = ?"
    case lines = "SELECT * FROM every_line WHERE emergency = ? ORDER BY sequence"
    case openBeside = "SELECT emergency FROM emergencies WHERE person = ? AND closed_at IS NULL AND emergency <> ?"
    case moved = """
        SELECT 1 FROM closed_emergencies WHERE emergency = ?1
        UNION ALL SELECT 1 FROM closed_outbox WHERE emergency = ?1 LIMIT 1
        """
    // Lists.
    case newest = "SELECT * FROM every_emergency WHERE person IS NOT ? AND person IS NOT ? ORDER BY t0 DESC LIMIT ?"
    case newestOfPerson = "SELECT * FROM every_emergency WHERE person = ? ORDER BY t0 DESC LIMIT ?"
    case earlierOfPerson = "SELECT * FROM every_emergency WHERE person = ? AND t0 < ? ORDER BY t0 DESC LIMIT ?"
    case unseen = """
        SELECT * FROM every_emergency AS passed WHERE person = ? AND state = ? AND closed_at > ?
        AND NOT EXISTS (SELECT 1 FROM seen_alerts WHERE emergency = passed.emergency) ORDER BY t0 DESC LIMIT ?
        """
    // What is to be moved, once a minute.
    case over = """
        SELECT emergency FROM emergencies AS over WHERE closed_at < ?
        AND NOT EXISTS (SELECT 1 FROM dispatch_lines WHERE emergency = over.emergency AND ended IS NULL)
        ORDER BY closed_at LIMIT ?
        """
    case drillsOver = """
        SELECT DISTINCT emergency FROM dispatch_outbox AS over
        WHERE EXISTS (SELECT 1 FROM drills WHERE emergency = over.emergency AND outcome IS NOT NULL AND at < ?)
        AND NOT EXISTS (SELECT 1 FROM dispatch_lines WHERE emergency = over.emergency AND ended IS NULL) LIMIT ?
        """

    var sql: String { rawValue }
}

extension SOSStore {
    /// Moves emergencies that are over out of the way; runs until it is cancelled.
    func moveClosed() async throws {
        while true {
            var moved: Int
            repeat {
                moved = try await store.write { db in
                    try ClosedEmergencyStore.move(db, closedBefore: Timestamp.now - ClosedEmergencyStore.after)
                }
                // Others have the writer in between.
                try await Task.sleep(for: .milliseconds(20))
            } while moved == ClosedEmergencyStore.step
            try await Task.sleep(for: .seconds(60))
        }
    }
}
