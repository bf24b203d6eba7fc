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

    private var judged: Set<Upload> = []
    private var latest: [DeviceID: Timestamp] = [:]
    private var order: [(upload: Upload, at: Timestamp)] = []
    private var first = 0

    mutating func note(_ upload: Upload, at now: Timestamp) {
        while first < order.count, order[first].at < now - EarlyUploads.kept || judged.count >= EarlyUploads.most { forgetFirst() }
        guard judged.insert(upload).inserted else { return }
        latest[upload.device] = now
        order.append((upload, now))
    }

    func contains(_ upload: Upload) -> Bool { judged.contains(upload) }

    /// Whether something of the device was judged early lately: what the device sends again has been judged, though not under this name.
    func mayHaveJudged(of device: DeviceID) -> Bool { latest[device] != nil }

    private mutating func forgetFirst() {
        let (upload, at) = order[first]
        judged.remove(upload)
        if latest[upload.device] == at { latest[upload.device] = nil }
        first += 1
        // Given up in bulk, so that forgetting one does not move the rest.
        guard first >= 1024 || first == order.count else { return }
        order.removeFirst(first)
        first = 0
    }
}

extension Subscriber {
    /// Entries later than everything that this device has said of their metric, and places. What is sent again is not among them; what is
    /// measured after the wall clock was set back is.
    /// - Parameter received: the same moment as `receivedAt`, on the machine's time line.
    func news(in entries: [Sample], of device: DeviceID, receivedAt: Timestamp, at received: Timestamp) -> [Sample] {
        let known = supervision.sources["\(device)"]?.latest ?? [:]
        return entries.filter { entry in
            guard entry.value != nil, let last = known[entry.type] else { return true }
            let at = min(entry.at, receivedAt)
            return at > last.at || received - (receivedAt - at) > last.measured + EarlyUploads.surelyLater
        }
    }
}
