// Who is heard ahead of what was said before: while a dispatcher catches up, an alarm waits for nothing.

import Contracts

/// People of whom an upload was judged before its turn in ingest's log, and how far that reaches: what the log still has of before comes
/// late. In memory only; one entry for each of them.
struct HeardAhead: Sendable {
    private struct Reach: Sendable {
        /// Of the newest upload that was judged, by ingest's own clock.
        var receivedAt: Timestamp
        /// When that was, on the machine's time line.
        var at: Timestamp
    }

    private var reaches: [PersonID: Reach] = [:]

    func contains(_ person: PersonID) -> Bool { reaches[person] != nil }

    mutating func note(_ person: PersonID, receivedAt: Timestamp, at now: Timestamp) {
        reaches[person] = Reach(receivedAt: max(receivedAt, reaches[person]?.receivedAt ?? receivedAt), at: now)
    }

    /// Whether later ones were judged before this upload, whose turn it is. Where none were, the person is heard in order from here on; so
    /// it is after a while in any case, since ingest's clock may have been set back.
    mutating func hasOvertaken(_ receivedAt: Timestamp, of person: PersonID, at now: Timestamp) -> Bool {
        guard let reach = reaches[person] else { return false }
        if receivedAt < reach.receivedAt, now - reach.at <= EarlyUploads.kept { return true }
        reaches[person] = nil
        return false
    }

    mutating func forget(_ person: PersonID) {
        reaches[person] = nil
    }
}

extension Supervision {
    /// Whether an upload may be what somebody is to be called for: it tells of a call for help, a fall or shaking, or of a fresh value that
    /// is beyond its bound.
    func mayAlarm(_ recorded: SamplesRecorded) -> Bool {
        let thresholds = thresholds
        return recorded.samples.contains { entry in
            let age = entry.age(receivedAt: recorded.receivedAt, sentAt: recorded.sentAt)
            if entry.type == .help || entry.type == .fall { return age <= SupervisionRules.oldestEvent }
            guard age <= rules.maximumAge else { return false }
            if entry.type == .shaking { return state.shaking == true }
            return entry.value.flatMap { thresholds.passed(entry.type, $0) } != nil
        }
    }
}

extension Supervision.Upload {
    /// The upload as if its device had sent it so much later: its entries are that much older by then, and measured when they were.
    func delayed(by delay: Duration) -> Self {
        var upload = self
        upload.at = at + delay
        upload.receivedAt = receivedAt + delay
        upload.sentAt = sentAt.map { $0 + delay }
        return upload
    }
}
