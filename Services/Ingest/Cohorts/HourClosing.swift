// Closes hours for group data: sums them up once they are over, for everybody who shares anonymously, and says that they are complete.

import Contracts
import Logging
import Metrics
import ServiceKit
import Storage

/// Looks at what was measured only when an hour is over, so that uploads pay nothing for it. What is delivered of an hour after its
/// person's turn is not said any more.
struct HourClosing: Sendable {
    private static let pollInterval = Duration.seconds(10)
    private static let backoff = Backoff(.seconds(1), upTo: .seconds(60))
    /// Uploads come first: it rests so many times as long as it worked, so that it takes a quarter of one core.
    private static let restsPerWork = 3

    let store: Store
    let people: CohortPeopleStore
    let sums: HourSumStore
    let events: CohortEventStore
    /// How long after its end an hour waits for what comes late.
    let watermark: Duration
    /// How long ago everything that consent had published of people was known: whoever shares nothing any more is not told of.
    let silence: @Sendable () -> Duration
    let logger: Logger
    private let clock = DeadlineClock()
    private let lag = Gauge(label: "ingest_cohort_lag_seconds")

    init(
        store: Store, people: CohortPeopleStore, sums: HourSumStore, events: CohortEventStore, watermark: Duration,
        silence: @escaping @Sendable () -> Duration, logger: Logger
    ) {
        (self.store, self.people, self.sums, self.events) = (store, people, sums, events)
        (self.watermark, self.silence, self.logger) = (watermark, silence, logger)
    }

    /// Runs until it is cancelled.
    func run() async throws {
        let loop = WorkLoop(every: Self.pollInterval, backoff: Self.backoff) { [logger] error in
            logger.warning("hours for group data cannot be summed up; retrying", metadata: ["error": "\(error.logReason)"])
        }
        // A clock that leaps ahead for a moment closes no hours that are still to come.
        try await loop.poll { [self] in try await round(now: clock.now) }
    }

    /// Says all hours that are over, and that they are closed. Stops while consent is silent.
    func round(now: Timestamp) async throws {
        let hour = CohortHour.firstOpen(at: now, after: watermark)
        let (oldest, closed) = try await store.read { [people] db in (try people.oldest(db), try people.closed(db)) }
        lag.record(oldest.map { max(0, (now.milliseconds - $0) / 1000) } ?? 0)
        // Until somebody has shared something there is nothing to close.
        guard oldest != nil || closed != nil, min(oldest ?? .max, closed ?? .min) < hour else { return }
        while silence() <= StreamFamily.grantSilence {
            let begun = ContinuousClock.now
            let found = try await store.read { [sums] db in try sums.find(db, before: hour) }
            guard !found.isEmpty else {
                return try await store.write { [events] db in try events.close(db, before: hour, at: .now) }
            }
            try await store.write { [events] db in try events.say(db, found, at: .now) }
            try await Task.sleep(for: (ContinuousClock.now - begun) * Self.restsPerWork)
        }
    }
}
