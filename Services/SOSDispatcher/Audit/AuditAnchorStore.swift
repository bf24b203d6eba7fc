// SQL sentences over anchors of both dispatchers' audit chains, and over what proves or disproves a chain.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

enum AuditAnchorStore {
    /// Kept of each dispatcher: at one a minute, those of ten weeks.
    static let kept: Int64 = 100_000
    /// Told to whoever verifies: the newest.
    static let told = 2000

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                -- Heads of this dispatcher's audit chain and of the other's, signed. What this one keeps of the other proves that one's chain.
                CREATE TABLE audit_anchors (
                    peer TEXT NOT NULL,
                    number INTEGER NOT NULL,
                    line TEXT NOT NULL,
                    PRIMARY KEY (peer, number)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// One that is there stays as it is: an anchor that could be replaced would prove nothing.
    static func keep(_ db: Database, _ anchor: AuditAnchor) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO audit_anchors (peer, number, line) VALUES (?, ?, ?)",
            arguments: [anchor.peer, anchor.number, try anchor.line()])
        try db.execute(sql: "DELETE FROM audit_anchors WHERE peer = ? AND number <= ?", arguments: [anchor.peer, anchor.number - kept])
    }

    static func newest(_ db: Database, of peer: String) throws -> AuditAnchor? {
        try String.fetchOne(db, sql: "SELECT line FROM audit_anchors WHERE peer = ? ORDER BY number DESC LIMIT 1", arguments: [peer])
            .flatMap(AuditAnchor.init(line:))
    }

    static func lines(_ db: Database, of peer: String) throws -> [String] {
        try String.fetchAll(
            db, sql: "SELECT line FROM audit_anchors WHERE peer = ? ORDER BY number DESC LIMIT ?", arguments: [peer, told])
    }

    /// How many rows the chain has, and its head in hex.
    static func head(_ db: Database) throws -> (rows: Int64, head: String) {
        let last = try Row.fetchOne(db.cachedStatement(sql: "SELECT * FROM audit ORDER BY sequence DESC LIMIT 1")).map(AuditRow.init)
        return (last?.sequence ?? 0, Hex.encode(last?.hash ?? AuditChain.beginning))
    }

    /// Rows of emergencies that disagree with the chain, at most `limit`.
    static func disagreements(_ db: Database, except synthetic: SyntheticPeople, limit: Int) throws -> [String] {
        var faults: [String] = []
        let entries = try db.cachedStatement(sql: "SELECT entry FROM audit WHERE object = ? ORDER BY sequence")
        let rows = try Row.fetchCursor(
            db, sql: "SELECT * FROM every_emergency WHERE person IS NOT ? AND person IS NOT ? ORDER BY t0",
            arguments: [synthetic.first, synthetic.second])
        while faults.count < limit, let row = try rows.next() {
            guard let record = EmergencyRecord(row) else {
                faults.append("a row of emergencies cannot be read")
                continue
            }
            let told = try String.fetchAll(entries, arguments: ["\(record.id)"])
                .compactMap { try? JSONDecoder().decode(AuditEntry.self, from: Data($0.utf8)) }
            let columns = EmergencyProof.faults(record, told)
            if !columns.isEmpty { faults.append("\(record.id): \(columns.joined(separator: ", ")) of emergencies and the audit disagree") }
        }
        return faults
    }
}
