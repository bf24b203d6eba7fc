// Looks each second whether the chain holds, and says loudly where it does not.

import Bus
import Contracts
import Logging
import ServiceKit

/// What is beyond its bound is logged as critical when it begins, once a minute while it lasts, and once when it is over.
struct Watchman: Sendable {
    private static let look = Duration.seconds(1)
    private static let reminder = Duration.seconds(60)

    let samples: StreamFreshness
    let link: PairLink
    let dispatcher: Dispatcher
    let settings: WatchSettings
    let metrics: WatchMetrics
    let logger: Logger

    /// One thing that is measured.
    private struct Bound {
        let what: String
        let limit: Duration
        var told: ContinuousClock.Instant?

        mutating func look(_ value: Duration, _ logger: Logger) {
            let now = ContinuousClock.now
            guard value > limit else {
                if told != nil { logger.notice("\(what): within its bound again") }
                told = nil
                return
            }
            guard told.map({ now - $0 >= Watchman.reminder }) ?? true else { return }
            told = now
            logger.critical(
                "\(what): beyond its bound", metadata: ["ms": "\(value.wholeMilliseconds)", "bound_ms": "\(limit.wholeMilliseconds)"])
        }
    }

    /// Runs until it is cancelled.
    func run() async throws {
        let begun = ContinuousClock.now
        var lag = Bound(what: "entries of ingest are not received", limit: settings.lagBound)
        var age = Bound(what: "a call is not acknowledged", limit: settings.outboxBound)
        while true {
            // Nothing heard yet counts from the start.
            let behind = samples.age ?? ContinuousClock.now - begun
            metrics.lagging(behind)
            lag.look(behind, logger)
            age.look(await dispatcher.oldestWaiting, logger)
            if let silence = link.silentFor { metrics.silent(silence) }
            try await Task.sleep(for: Watchman.look)
        }
    }
}
