// What operators see of a store.

import Metrics

/// Labelled with the store's name, which is its file's name without extension.
struct StoreMetrics: Sendable {
    private let commits: Counter
    private let commitTime: Timer
    private let bodies: Recorder
    private let queueDepth: Gauge
    private let logSize: Gauge

    init(store: String) {
        let dimensions = [("store", store)]
        commits = Counter(label: "store_commits_total", dimensions: dimensions)
        commitTime = Timer(label: "store_commit_seconds", dimensions: dimensions)
        bodies = Recorder(label: "store_bodies_per_commit", dimensions: dimensions)
        queueDepth = Gauge(label: "store_queue_depth", dimensions: dimensions)
        logSize = Gauge(label: "store_wal_bytes", dimensions: dimensions)
    }

    func committed(bodies count: Int) {
        commits.increment()
        bodies.record(count)
    }

    /// From the transaction's begin to its flush.
    func commit(took duration: Duration) {
        commitTime.recordNanoseconds(duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000)
    }

    func queued(_ depth: Int) {
        queueDepth.record(depth)
    }

    func log(bytes: Int) {
        logSize.record(bytes)
    }
}
