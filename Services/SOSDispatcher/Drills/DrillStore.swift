// SQL sentences of the drills' table: which test emergencies there were, and what came of them.

import Contracts
import Foundation
import GRDB
import Logging
import Storage

struct DrillStore: Sendable {
    func add(_ db: Database, _ emergency: EmergencyID, to integrator: String, _ kind: RunDrill.Kind, at: Timestamp) throws {
        try db.execute(
            sql: "INSERT INTO drills (emergency, integrator, kind, at) VALUES (?, ?, ?, ?)",
            arguments: [emergency, integrator, kind.rawValue, at])
    }

    /// The first word counts.
    func end(_ db: Database, _ emergency: EmergencyID, _ outcome: String, after: Duration) throws {
        try db.execute(
            sql: "UPDATE drills SET outcome = ?, after_ms = ? WHERE emergency = ? AND outcome IS NULL",
            arguments: [outcome, after.wholeMilliseconds, emergency])
    }

    /// Newest first.
    func list(_ db: Database, of integrator: String?, limit: Int) throws -> [ReadDrills.Entry] {
        try Row.fetchAll(
            db, sql: "SELECT * FROM drills WHERE ?1 IS NULL OR integrator = ?1 ORDER BY at DESC LIMIT ?2", arguments: [integrator, limit]
        ).compactMap { row in
            guard let emergency: EmergencyID = row.value("emergency"), let kind = RunDrill.Kind(rawValue: row["kind"]) else { return nil }
            return ReadDrills.Entry(
                emergency: emergency, integrator: row["integrator"], kind: kind, at: row["at"],
                outcome: row["outcome"], afterMs: row["after_ms"])
        }
    }

    /// When each integrator last had one.
    func latest(_ db: Database) throws -> [String: Timestamp] {
        let rows = try Row.fetchAll(db, sql: "SELECT integrator, max(at) AS at FROM drills GROUP BY integrator")
        return Dictionary(uniqueKeysWithValues: rows.map { ($0["integrator"], Timestamp(milliseconds: $0["at"])) })
    }

    /// Whose answer is still waited for.
    func open(_ db: Database) throws -> [EmergencyID: String] {
        let rows = try Row.fetchAll(db, sql: "SELECT emergency, integrator FROM drills WHERE outcome IS NULL")
        return Dictionary(
            rows.compactMap { row in row.value("emergency", as: EmergencyID.self).map { ($0, row["integrator"]) } },
            uniquingKeysWith: { $1 })
    }
}

extension SOSStore {
    /// What came of a drill. Where it cannot be stored, that is logged: a drill holds up no call.
    func endDrill(_ emergency: EmergencyID, _ outcome: String, after: Duration) async {
        do {
            try await store.write { db in try DrillStore().end(db, emergency, outcome, after: after) }
        } catch {
            logger.error("what came of a drill could not be stored", metadata: ["reason": "\(error.logReason)"])
        }
    }
}
