// What the demo must have shown, judged from the suite's and the desk's own accounts.

import Contracts

/// What the demo saw.
struct DemoEvidence: Sendable {
    var failing: PersonID
    var healthy: PersonID
    var emergencies: [ListEmergencies.Entry]
    var deskLog: [DeskEntry]
    var audit: VerifyAudit.Reply
    /// Entries that were sent and are not acknowledged.
    var waiting: Int
    var refused: Int
}

enum DemoVerdict {
    /// From the first critical entry to the acknowledgement (SOS-15).
    static let deadline = Duration.seconds(5)

    /// Each thing that must hold, and whether it does.
    static func judge(_ evidence: DemoEvidence) -> [(claim: String, holds: Bool)] {
        let ofFailing = evidence.emergencies.filter { $0.person == evidence.failing }
        let emergency = ofFailing.first
        let took = emergency.flatMap { one in one.acknowledgedAt.map { $0 - one.t0 } }
        let alerts = evidence.deskLog.filter { $0.kind == "alert" }
        let belongs = emergency.map { one in
            !alerts.isEmpty && evidence.deskLog.allSatisfy { $0.messageId.hasPrefix(one.emergency.description) }
        }
        return [
            ("exactly one emergency, of the failing heart", ofFailing.count == 1 && evidence.emergencies.count == 1),
            ("acknowledged less than 5 s after the first critical entry", took.map { $0 < deadline && $0 > .zero } ?? false),
            ("the desk's ledger has one alert, of this emergency", Set(alerts.map(\.messageId)).count == 1 && belongs == true),
            (
                "the desk verified every message with both signatures",
                !evidence.deskLog.isEmpty && evidence.deskLog.allSatisfy { $0.verified && $0.v1 == true && $0.v1a == true }
            ),
            ("repeats were the same bytes", Set(alerts.map(\.sha256)).count == 1),
            ("nobody was called for the healthy heart", !evidence.emergencies.contains { $0.person == evidence.healthy }),
            ("every entry was acknowledged", evidence.waiting == 0 && evidence.refused == 0),
            ("the audit chain is whole", evidence.audit.firstBroken == nil && evidence.audit.rows > 0),
        ]
    }
}
