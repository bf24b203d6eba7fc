// SQL sentences about a new count of every subscription's items, once this store was restored from a copy.

import Contracts
import GRDB

/// What was delivered after the copy was made is not known here: numbers that it had are never given again, so that no receiver takes
/// something new for what it has.
struct FeedEpochStore: Sendable {
    /// SQL that makes another name at each use.
    static let random = "lower(hex(randomblob(8)))"

    private let feeds = FeedStore()
    private let items = FeedItemStore()

    /// Every subscription that is not over begins a new epoch, above every number that can have been given, with an item that says so.
    func renew(_ db: Database, at now: Timestamp) throws {
        for var feed in try feeds.open(db) {
            let through = feed.head
            try db.cachedStatement(sql: "UPDATE feeds SET epoch = \(Self.random) WHERE number = ?").execute(arguments: [feed.number])
            guard let epoch = try feeds.find(db, feed.number)?.epoch else { continue }
            feed.head = FeedEpoch.start(at: now, after: through)
            try items.append(db, .restored(through: through, epoch: epoch), to: &feed, at: now)
            try feeds.advance(db, feed)
        }
    }
}
