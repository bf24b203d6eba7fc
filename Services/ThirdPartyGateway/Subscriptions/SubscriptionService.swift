// Subscriptions as their organisations see them: which there are, and what is new in each.

import Contracts
import ServiceKit
import Storage

struct SubscriptionService: Sendable {
    /// How long a page is waited for at most.
    static let longestWait = 30
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(1)

    let store: Store
    let keys: PersonKeys
    let gate: FeedGate
    let hub: FeedHub
    let clock: @Sendable () -> Timestamp
    /// Asks consent to end the request.
    let stop: @Sendable (EndRequest, _ trace: String) async throws -> Void
    private let feeds = FeedStore()
    private let items = FeedItemStore()

    init(
        store: Store, keys: PersonKeys, gate: FeedGate, hub: FeedHub, clock: @escaping @Sendable () -> Timestamp,
        stop: @escaping @Sendable (EndRequest, _ trace: String) async throws -> Void
    ) {
        (self.store, self.keys, self.gate, self.hub) = (store, keys, gate, hub)
        (self.clock, self.stop) = (clock, stop)
    }

    func page(of organisation: OrganisationID, after: Int64, limit: Int) async throws -> (feeds: [Feed], next: Int64?) {
        let found = try await store.read { [feeds] db in try feeds.page(db, of: organisation, after: after, limit: limit + 1) }
        let page = Array(found.prefix(limit))
        return (page, found.count > limit ? page.last?.number : nil)
    }

    /// nil for one that is not the organisation's.
    func find(_ request: RequestID, of organisation: OrganisationID) async throws -> Feed? {
        try await store.read { [feeds] db in try feeds.find(db, request) }.flatMap { $0.organisation == organisation ? $0 : nil }
    }

    /// The items after a number, oldest first; judged at each call, since the person may have withdrawn a moment ago.
    /// - Throws: `FeedRefusal`.
    func items(of feed: Int64, after: Int64, limit: Int) async throws -> (feed: Feed, items: [FeedItem]) {
        try await store.read { [feeds, items, keys, gate] db in
            guard let feed = try feeds.find(db, feed) else { throw FeedRefusal.over(nil) }
            try gate.check(feed)
            guard let person = feed.person, let key = try keys.key(of: person) else {
                guard feed.newest == nil, feed.person != nil else { throw FeedRefusal.over(feed.ending) }
                try FeedGate.check(feed, after: after)
                return (feed, [])
            }
            try FeedGate.check(feed, after: after)
            return (feed, try items.items(db, of: feed, after: after, limit: limit, key: key))
        }
    }

    /// As the other, and where there is nothing new yet it waits for it, at most so long.
    /// - Returns: nil where as many listen to the subscription as may.
    func items(
        of feed: Int64, after: Int64, limit: Int, wait: Duration
    ) async throws -> (feed: Feed, items: [FeedItem])? {
        let end = ContinuousClock.now + wait
        var found = try await items(of: feed, after: after, limit: limit)
        guard found.items.isEmpty, wait > .zero else { return found }
        guard let listener = hub.watch(feed: feed, of: found.feed.organisation) else { return nil }
        while !Task.isCancelled {
            // Looked at once more now that it listens: nothing comes unheard in between.
            found = try await items(of: feed, after: after, limit: limit)
            let left = end - .now
            guard found.items.isEmpty, left > .zero else { break }
            await listener.wait(atMost: min(left, Self.pollInterval))
        }
        return found
    }

    /// The third party wants no more of it (SHR-25).
    func end(_ feed: Feed, trace: String) async throws {
        guard feed.state == .running else { return }
        try await stop(EndRequest(organisation: feed.organisation, request: feed.request), trace)
    }
}
