// Subscriptions as their organisations see them: which there are, and what is new in each.

import Contracts
import ServiceKit
import Storage

struct SubscriptionService: Sendable {
    /// Event streams of one subscription at once.
    static let mostStreams = 5

    let store: Store
    let keys: PersonKeys
    let gate: FeedGate
    let hub: FeedHub
    let clock: @Sendable () -> Timestamp
    /// Asks consent to end the request.
    let stop: @Sendable (EndRequest, _ trace: String) async throws -> Void
    private let feeds = FeedTable()
    private let items = FeedItemTable()

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
                guard feed.head == 0, feed.person != nil else { throw FeedRefusal.over(feed.ending) }
                return (feed, [])
            }
            guard after >= feed.released else { throw FeedRefusal.released(through: feed.released) }
            return (feed, try items.items(db, of: feed, after: after, limit: limit, key: key))
        }
    }

    /// The third party wants no more of it (SHR-25).
    func end(_ feed: Feed, trace: String) async throws {
        guard feed.state == .running else { return }
        try await stop(EndRequest(organisation: feed.organisation, request: feed.request), trace)
    }
}
