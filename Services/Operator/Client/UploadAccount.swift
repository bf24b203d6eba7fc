// What became of everything that was to be sent.

import Contracts

struct UploadAccount: Hashable, Sendable {
    var uploads = 0
    var accepted = 0
    var duplicates = 0
    var rejected = 0
    /// Entries in batches that were refused as a whole.
    var refused = 0
    var pauses = 0
    /// Uploads whose answer asked for more measurements, because the person was alerted.
    var alerted = 0
    /// Reasons of rejected entries and refused batches, by their stable names.
    var reasons: [String: Int] = [:]
    var stopped: [String: String] = [:]

    mutating func count(_ event: UploadEvent) {
        switch event {
        case .acknowledged(_, let answer, _):
            uploads += 1
            if answer.supervision?.state == "alerted" { alerted += 1 }
            accepted += answer.accepted
            duplicates += answer.duplicates.count
            rejected += answer.rejected.count
            for rejection in answer.rejected { reasons[rejection.type, default: 0] += 1 }
        case .waiting: pauses += 1
        case .refused(let batch, let status, let problem):
            refused += batch.entries.count
            reasons["\(status) \(problem)", default: 0] += batch.entries.count
        case .stopped(let partition, let reason): stopped[partition] = reason
        }
    }

    /// Entries that the server has answered.
    var answered: Int { accepted + duplicates + rejected + refused }

    var lines: [String] {
        var lines = ["\(accepted) accepted, \(duplicates) duplicates, \(rejected) rejected, \(refused) refused in \(uploads) uploads"]
        if alerted > 0 { lines.append("  \(alerted) uploads were answered by an alert: measure more often") }
        lines += reasons.sorted { $0.key < $1.key }.map { "  \($0.value) × \($0.key)" }
        lines += stopped.values.sorted().map { "  stopped: \($0)" }
        return lines
    }
}
