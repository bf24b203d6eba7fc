// Attempts of strangers, counted each and logged now and then.

import Logging
import Metrics
import Synchronization

/// A stranger knocks many times a second: the log gets one line a second, the metric every attempt.
final class RefusalLog: Sendable {
    private let last = Mutex<ContinuousClock.Instant?>(nil)
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func refused(_ publicKey: String, at door: String) {
        guard !StrangerProbe.isOwn(publicKey) else { return }
        BusMetrics.refused("stranger").increment()
        let now = ContinuousClock.now
        let isDue = last.withLock { last in
            if let last, now - last < .seconds(1) { return false }
            last = now
            return true
        }
        guard isDue else { return }
        logger.warning("refused a key that may not connect here", metadata: ["door": "\(door)", "key": "\(publicKey)"])
    }
}
