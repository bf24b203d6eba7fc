// What was judged before it was stored, so that it is not judged again when it comes in its place (SOS-37: one upload is judged once).

import Contracts

/// Uploads that came on ingest's fast path, oldest first. In memory only: forgetting costs a second judgement, which finds the same
/// emergency.
struct EarlyUploads: Sendable {
    /// The fact itself comes within that time, or never.
    static let kept = Duration.seconds(600)
    static let most = 100_000
    /// What was measured that much later than the last is no repetition, whatever the wall clock showed: beyond how evenly two clocks go.
    static let surelyLater = Duration.seconds(1)

    struct Upload: Hashable, Sendable {
        let device: DeviceID
        /// Ingest's receipt: with the device it names the upload.
        let receivedAt: Timestamp
    }

    private var judged = RecentSet<Upload>(kept: Self.kept, most: Self.most)
    /// How many of them each device sent.
    private var counts: [DeviceID: Int] = [:]

    mutating func note(_ upload: Upload, at now: Timestamp) {
        guard !judged.contains(upload) else { return }
        for forgotten in judged.note(upload, at: now) {
            let left = (counts[forgotten.device] ?? 1) - 1
            counts[forgotten.device] = left == 0 ? nil : left
        }
        counts[upload.device, default: 0] += 1
    }

    func contains(_ upload: Upload) -> Bool { judged.contains(upload) }

    /// Whether something of the device was judged early lately: what the device sends again has been judged, though not under this name.
    func mayHaveJudged(of device: DeviceID) -> Bool { counts[device] != nil }
}

/// A critical reading by its source and own time. One that is sent again is told by it from one that comes out of order.
struct JudgedReading: Hashable, Sendable {
    let device: DeviceID
    let metric: Metric
    let at: Timestamp

    init(_ entry: Sample, of device: DeviceID) {
        (self.device, metric, at) = (device, entry.type, entry.at)
    }
}

extension Subscriber {
    /// Entries later than everything that this device has said of their metric, places, and critical readings that come out of order. What is
    /// sent again is not among them; what is measured after the wall clock was set back is.
    /// - Parameters:
    ///   - sentAt: as the upload says.
    ///   - received: the same moment as `receivedAt`, on the machine's time line.
    ///   - isUnjudged: whether an entry is critical and was not judged before.
    func news(
        in entries: [Sample], of device: DeviceID, receivedAt: Timestamp, sentAt: Timestamp? = nil, at received: Timestamp,
        isUnjudged: (Sample) -> Bool
    ) -> [Sample] {
        let known = supervision.sources["\(device)"]?.latest ?? [:]
        return entries.filter { entry in
            guard entry.value != nil, let last = known[entry.type] else { return true }
            let at = min(entry.at, Sample.ageEnd(receivedAt: receivedAt, sentAt: sentAt))
            let age = entry.age(receivedAt: receivedAt, sentAt: sentAt)
            if (last.at != at || last.value != entry.value) && isUnjudged(entry) { return true }
            return at > last.at || received - age > last.measured + EarlyUploads.surelyLater
        }
    }
}
