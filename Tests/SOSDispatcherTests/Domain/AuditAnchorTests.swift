// What an anchor proves of a chain, and what the chain proves of an emergency's row.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Audit anchors")
struct AuditAnchorTests {
    private let at = Timestamp(milliseconds: 1_800_000_000_000)

    @Test("SOS-42: a shorter chain was cut, one with another head was written anew, a longer one with the same head holds")
    func faults() throws {
        let anchor = AuditAnchor(at: at, head: "aa", number: 3, peer: "sos-dispatcher", rows: 10)
        #expect(anchor.fault(rows: 10, head: "aa") == nil && anchor.fault(rows: 99, head: "aa") == nil)
        #expect(anchor.fault(rows: 9, head: nil)?.contains("cut off") == true)
        #expect(anchor.fault(rows: 0, head: nil)?.contains("cut off") == true)
        #expect(anchor.fault(rows: 10, head: "ab")?.contains("anew") == true)
        #expect(AuditAnchor(line: try anchor.line()) == anchor)
        #expect(AuditAnchor(line: "{}") == nil)
    }

    private func entry(_ action: String, _ second: Int64) -> AuditEntry {
        AuditEntry(sequence: 1, at: at + .seconds(second), actor: "dispatcher", action: action, object: "emg_x", detail: "")
    }

    @Test("SOS-42: each edited column of an emergency's row is named, and a row as it was written is not")
    func rows() {
        var record = EmergencyRecord(id: EmergencyID(bits: 1), person: PersonID(bits: 2), t0: at)
        var entries = [entry("alerted", 0), entry("confirmed", 3), entry("dispatched", 4), entry("acknowledged", 5)]
        record.follow(.dispatched(.unanswered), at: at + .seconds(4))
        record.follow(.acknowledged, at: at + .seconds(5))
        #expect(EmergencyProof.faults(record, entries) == [])
        record.follow(.closed, at: at + .seconds(200))
        #expect(EmergencyProof.faults(record, entries) == ["closed_at", "state"])
        entries.append(entry("closed", 200))
        #expect(EmergencyProof.faults(record, entries) == [])
        for (change, column) in [
            ({ $0.dispatchedAt = at + .seconds(3) }, "dispatched_at"), ({ $0.dispatchedAt = nil }, "dispatched_at"),
            ({ $0.acknowledgedAt = at - .seconds(9) }, "acknowledged_at"), ({ $0.closedAt = nil }, "closed_at"),
            ({ $0.closedAt = at + .seconds(199) }, "closed_at"), ({ $0.state = .stoodDown }, "state"), ({ $0.state = .muted }, "state"),
        ] as [((inout EmergencyRecord) -> Void, String)] {
            var edited = record
            change(&edited)
            #expect(EmergencyProof.faults(edited, entries) == [column])
        }
        // Taken up again: open as before.
        entries.append(entry("alerted", 300))
        record.follow(.opened, at: at + .seconds(300))
        #expect(EmergencyProof.faults(record, entries) == [])
    }
}
