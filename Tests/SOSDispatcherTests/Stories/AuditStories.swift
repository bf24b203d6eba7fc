// Whoever changes the record of emergencies is found out by what is kept elsewhere.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Audit anchors, whole service", .timeLimit(.minutes(3)))
struct AuditStories {
    /// What is done to the file of the stopped first dispatcher.
    enum Change: String, CaseIterable, Sendable {
        case tailCut, allRowsDeleted, tableDeletedAndMadeAnew, chainRecomputed, emergencyEdited

        func make(_ db: Database) throws {
            switch self {
            case .tailCut: try db.execute(sql: "DELETE FROM audit WHERE sequence > (SELECT max(sequence) FROM audit) - 2")
            case .allRowsDeleted: try db.execute(sql: "DELETE FROM audit")
            case .tableDeletedAndMadeAnew:
                try db.execute(
                    sql: """
                        DROP TABLE audit;
                        CREATE TABLE audit (sequence INTEGER PRIMARY KEY, entry TEXT NOT NULL, previous BLOB NOT NULL, hash BLOB NOT NULL,
                            object TEXT NOT NULL) STRICT;
                        """)
            case .chainRecomputed:
                let notes = try String.fetchAll(db, sql: "SELECT entry FROM audit ORDER BY sequence")
                    .map { try JSONDecoder().decode(AuditEntry.self, from: Data($0.utf8)) }
                    .map { AuditNote(at: $0.at, actor: "nobody", action: $0.action, object: $0.object, detail: $0.detail) }
                try db.execute(sql: "DELETE FROM audit")
                try AuditStore.append(notes, db)
            case .emergencyEdited: try db.execute(sql: "UPDATE emergencies SET dispatched_at = dispatched_at - 60000")
            }
            // Nor does its own memory of anchors help: whoever changes the one changes the other.
            try db.execute(sql: "DELETE FROM audit_anchors WHERE peer = 'sos-dispatcher'")
        }
    }

    @Test(
        "R13, SOS-42: a cut tail, all rows deleted, a recomputed chain and edited emergencies verified \"ok\": now the other dispatcher and the file know",
        arguments: Change.allCases)
    func found(change: Change) async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let file = stage.folder.appendingPathComponent("anchors.jsonl")
            var first = try await stage.start(["TRACKME_SOS_AUDIT_ANCHOR_FILE": file.path])
            let second = try await stage.start(role: .second, lead: .seconds(1))
            let person = try await stage.subscriber()
            try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.askForHelp(person)
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            try await first.parts.journal.commit()
            try await first.parts.anchors.anchor(at: .now)
            let rows = try await stage.question(VerifyAudit()).rows
            let told = try await eventually("the second knows it") {
                let lines = try await stage.question(VerifyAudit(), of: .second).anchorsOfOther ?? []
                return lines.contains { AuditAnchor(line: $0)?.rows == rows } ? lines : nil
            }
            let kept = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
            #expect(kept.contains { AuditAnchor(line: $0)?.rows == rows }, "at the emergency, and each minute")
            let sound = try await stage.question(VerifyAudit(anchors: told + kept))
            #expect(sound.firstBroken == nil && sound.faults == [] && (sound.checked ?? 0) >= 2)
            #expect(sound.given == told.count + kept.count, "beside those that it keeps itself")
            await first.stop()

            let path = stage.folder.appendingPathComponent("sos-dispatcher/sos-dispatcher.db")
            let store = try Store.open(path, applicationID: Migrations.applicationID, migrations: Migrations.all, logger: Running.quiet)
            try await store.write { try change.make($0) }
            await store.close()
            first = try await stage.start()
            for anchors in [told, kept] {
                let verdict = try await stage.question(VerifyAudit(anchors: anchors))
                let faults = verdict.faults ?? []
                #expect(!faults.isEmpty, "\(change): \(verdict.firstBroken ?? 0)")
                if change == .emergencyEdited { #expect(faults.contains { $0.contains("dispatched_at") }) }
            }
        }
    }

    @Test("SOS-42: an anchor that this suite's key has not signed counts for nothing and is named")
    func forged() async throws {
        try await Stage.playStarted { stage, dispatcher in
            var anchor = AuditAnchor(at: .now, head: "00", number: 9, peer: "sos-dispatcher", rows: 9000)
            anchor.signature = "AAAA"
            let verdict = try await stage.question(VerifyAudit(anchors: [try anchor.line(), "no anchor"]))
            #expect(verdict.faults == ["1 anchors are not signed by this suite's key"])
            #expect(verdict.given == 0)
        }
    }
}
