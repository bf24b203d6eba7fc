// Lets the logs of subscriptions forget: what is old, and everything of what is over.

import Contracts
import Logging
import ServiceKit
import Storage

struct FeedUpkeep: Sendable {
    private static let interval = Duration.seconds(60)

    let store: Store
    let keep: Duration
    let clock: @Sendable () -> Timestamp
    let logger: Logger
    private let items = FeedItemStore()

    init(store: Store, keep: Duration, clock: @escaping @Sendable () -> Timestamp, logger: Logger) {
        (self.store, self.keep, self.clock, self.logger) = (store, keep, clock, logger)
    }

    /// Runs until it is cancelled.
    func run() async throws {
        let loop = WorkLoop(every: Self.interval) { [logger] error in
            guard error is StoreError else { throw error }
            logger.warning("old items could not be removed; retrying")
        }
        try await loop.poll { try await turn() }
    }

    func turn() async throws {
        let before = clock() - keep
        for (feed, isOver) in try await store.read({ [items] db in try items.outworn(db, before: before) }) {
            // Nothing of what is over may leave any more, so that there is no use in keeping it.
            let limit = isOver ? Timestamp(milliseconds: .max) : before
            while try await store.write({ [items] db in try items.release(db, feed, before: limit) }) == FeedItemStore.slice {}
        }
    }
}
