// The head of an audit chain at one moment, signed, as it is kept where whoever changes the chain does not reach.

import Contracts
import Foundation

/// Written as one line of JSON, keys sorted. The chain up to row `rows` had the hash `head`: nothing before can have changed since unseen.
struct AuditAnchor: Codable, Hashable, Sendable {
    var at: Timestamp
    /// In hex.
    var head: String
    /// 1, 2, 3, … for each dispatcher.
    var number: Int64
    /// Whose chain.
    var peer: String
    var rows: Int64
    /// Ed25519 by the suite's own key, over `content`; base64url.
    var signature = ""

    /// What is signed.
    var content: [UInt8] {
        Array("audit-anchor|\(peer)|\(number)|\(rows)|\(head)|\(at.milliseconds)".utf8)
    }

    func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// nil for what is no anchor.
    init?(line: String) {
        guard let read = try? JSONDecoder().decode(AuditAnchor.self, from: Data(line.utf8)) else { return nil }
        self = read
    }

    init(at: Timestamp, head: String, number: Int64, peer: String, rows: Int64) {
        (self.at, self.head, self.number, self.peer, self.rows) = (at, head, number, peer, rows)
    }

    /// What is wrong with a chain of so many rows that had this head where it had as many rows as here; nil where they agree.
    func fault(rows found: Int64, head foundHead: String?) -> String? {
        let known = "anchor \(number) of \(at.rfc3339) knows \(rows) rows"
        if found < rows { return "\(known), there are \(found): the end was cut off" }
        return foundHead == head ? nil : "\(known) with another head: what was before was written anew"
    }
}

/// Whether a row of `emergencies` says what the audit says.
enum EmergencyProof {
    /// What an acknowledgement's entry may be later than the row says: both are written one after the other.
    private static let slack = Duration.seconds(5)

    /// The columns that disagree with the entries about this emergency, in order; empty where none does.
    static func faults(_ record: EmergencyRecord, _ entries: [AuditEntry]) -> [String] {
        var faults: [String] = []
        let dispatched = entries.first { $0.action == "dispatched" }?.at
        if record.dispatchedAt != dispatched { faults.append("dispatched_at") }
        if let at = record.acknowledgedAt, !entries.contains(where: { $0.action == "acknowledged" && $0.at <= at + slack }) {
            faults.append("acknowledged_at")
        }
        let end = entries.last { ["alerted", "asked-again", "dispatched", "transient", "muted", "closed"].contains($0.action) }
        let isEnded = end.map { !["alerted", "asked-again", "dispatched"].contains($0.action) } ?? false
        if record.closedAt != (isEnded ? end?.at : nil) { faults.append("closed_at") }
        let needed: String? =
            switch record.state {
            case .closed, .transient, .muted, .confirmed, .askedAgain: record.state.rawValue
            case .dispatching: "dispatched"
            case .stoodDown: "cancelled"
            case .alerted, .dispatched: nil
            }
        if let needed, !entries.contains(where: { $0.action == needed }) { faults.append("state") }
        return faults
    }
}
