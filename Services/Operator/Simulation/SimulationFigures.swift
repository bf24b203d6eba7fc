// What a simulation has done so far.

import Contracts
import Synchronization

struct SimulationFigures: Sendable {
    /// Entries put into the queue.
    var measured = 0
    var account = UploadAccount()
    var waiting = 0
    var latency = LatencyHistogram()
    var breaches = 0

    var line: String {
        func milliseconds(_ share: Double) -> String { String(Int(latency.percentile(share).rounded())) }
        return "\(measured) measured, \(account.accepted + account.duplicates) acknowledged, \(waiting) waiting, "
            + "\(account.rejected + account.refused) refused; upload p50 \(milliseconds(0.5)) p99 \(milliseconds(0.99)) "
            + "max \(Int(latency.longest.rounded())) ms; \(breaches) breaches"
    }
}

/// The figures of many tasks.
final class SimulationMeter: Sendable {
    private let figures = Mutex(SimulationFigures())

    func change(_ body: (inout SimulationFigures) -> Void) {
        figures.withLock { body(&$0) }
    }

    var now: SimulationFigures { figures.withLock { $0 } }
}
