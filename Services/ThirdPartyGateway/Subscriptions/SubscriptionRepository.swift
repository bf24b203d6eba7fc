// What other subjects of the gateway say about subscriptions, inside their own transactions: paid, so it begins; over, so it ends.

import Contracts
import GRDB
import ServiceKit
import Storage

struct SubscriptionRepository: Sendable {
    /// Items are removed a little late and never early; clocks of two machines differ a little.
    private static let upkeepMargin = Duration.seconds(3600)

    let bills: BillStore
    let queue: WebhookQueueStore
    let clock: @Sendable () -> Timestamp
    /// How long items are kept.
    let keep: Duration
    private let requests = RequestStore()
    private let feeds = FeedStore()
    private let grants = GrantProjection()
    private let events = FeedEventStore()
    private let items = FeedItemStore()

    init(bills: BillStore, queue: WebhookQueueStore, keep: Duration, clock: @escaping @Sendable () -> Timestamp) {
        (self.bills, self.queue, self.keep, self.clock) = (bills, queue, keep, clock)
    }

    private var hub: FeedHub { queue.hub }

    /// What is known of a granted request; nil where there is no grant.
    private func scope(_ db: Database, _ id: RequestID) throws -> FeedScope? {
        guard let made = try requests.find(db, id), let grant = made.grant else { return nil }
        return FeedScope(
            request: made.id, organisation: made.organisation, person: made.person, grant: grant, types: made.types,
            from: made.from, to: made.to, granularity: made.granularity, isSubscription: made.isSubscription)
    }

    /// Whether a request is approved and nothing is due for it.
    private func isReleased(_ db: Database, _ id: RequestID) throws -> Bool {
        try requests.find(db, id)?.status == .approved && bills.isPaid(db, id)
    }

    /// The amount due is paid: from here on everything new is delivered. Once is as good as often; nothing happens where the request
    /// is no subscription.
    func begin(_ db: Database, _ request: RequestID) throws {
        guard let scope = try scope(db, request), scope.isSubscription, let person = scope.person else { return }
        let now = clock()
        let known = try grants.find(db, scope.grant)
        let types = scope.types.filter { known?.types.contains($0) ?? true }
        let isInForce = known?.active ?? true
        let isNew = try feeds.begin(db, scope, of: person, types: types, state: isInForce ? .running : .held, at: now)
        guard let feed = try feeds.find(db, request) else { return }
        guard isNew else { return isInForce ? try goOn(db, feed, types, at: now) : () }
        // What came before is downloaded; here only what a download at this moment could not hold yet.
        let first = feed.steps.atBeginning(now.milliseconds, window: feed.window)
        for metric in types where !first.isEmpty { try events.mark(db, feed, metric, first) }
        db.afterCommit { [hub] in hub.somethingToRead() }
    }

    /// Nothing is delivered until it begins again. Once is as good as often.
    func hold(_ db: Database, _ request: RequestID) throws {
        guard let feed = try feeds.find(db, request), feed.state == .running else { return }
        try feeds.hold(db, feed.number)
        db.afterCommit { [hub] in hub.ended(feed.number, of: feed.organisation) }
    }

    /// After a hold: what has come since the last entry that was delivered is delivered now.
    private func goOn(_ db: Database, _ feed: Feed, _ types: [Metric], at now: Timestamp) throws {
        guard feed.state == .held else { return }
        try feeds.goOn(db, feed.number)
        // What was withdrawn meanwhile stays withdrawn.
        let left = feed.types.filter(types.contains)
        try feeds.narrow(db, feed.number, to: left)
        let since = max(feed.begunAt, feed.newest ?? feed.begunAt).milliseconds
        let first = feed.steps.atBeginning(since, window: feed.window).lowerBound
        let range = first..<max(first, feed.steps.atBeginning(now.milliseconds, window: feed.window).upperBound)
        for metric in left where !range.isEmpty { try events.mark(db, feed, metric, range) }
        db.afterCommit { [hub] in hub.somethingToRead() }
    }

    /// Nothing more is delivered from this transaction's commit on, and the third party's software is told so. Once is as good as often.
    func end(_ db: Database, _ request: RequestID, _ why: SubscriptionEnding) throws {
        let now = clock()
        guard let feed = try feeds.find(db, request) else {
            // A single delivery, or one that was never paid: there is no log, but the end is told.
            guard why == .revoked || why == .erased, let scope = try scope(db, request) else { return }
            return try queue.enqueue(db, .over(scope, why), to: scope.organisation, at: now)
        }
        guard feed.state != .over else { return }
        try feeds.end(db, feed.number, why, at: now)
        let ended = try feeds.find(db, feed.number) ?? feed
        try queue.enqueue(db, .over(ended, why), to: feed.organisation, at: now)
        db.afterCommit { [hub] in hub.ended(feed.number, of: feed.organisation) }
    }

    /// The organisation is gone: nothing more is delivered, and its addresses and what waited for them are deleted. Consent ends its
    /// requests, which ends the subscriptions.
    func closed(_ db: Database, _ organisation: OrganisationID) throws {
        for feed in try feeds.running(db, of: organisation) {
            try feeds.hold(db, feed.number)
            db.afterCommit { [hub] in hub.ended(feed.number, of: organisation) }
        }
        try queue.forget(db, organisation)
    }

    /// What consent publishes of a grant: the first word about a withdrawal, and the only one about single types. What counts is what the
    /// projection makes of it.
    func receive(_ db: Database, _ published: GrantState) throws {
        let state = try grants.save(db, published)
        if let feed = try feeds.find(db, grant: state.grant) { try follow(db, feed, state) }
    }

    /// A snapshot says everything: a grant that is not in it is over. One that was given while the snapshot was on its way is not in it either;
    /// its fact comes next, and the subscription goes on with it.
    func ended(_ db: Database, _ grant: GrantID) throws {
        _ = try grants.end(db, grant)
        if let feed = try feeds.find(db, grant: grant) { try follow(db, feed, try grants.find(db, grant)) }
    }

    /// The grants that are known, or that a subscription rests on, in order.
    func known(_ db: Database, after: [UInt8], limit: Int) throws -> [GrantID] {
        try feeds.grants(db, after: after, limit: limit)
    }

    private func follow(_ db: Database, _ feed: Feed, _ grant: GrantState?) throws {
        guard feed.state == .running else {
            // Held for want of a grant, it has one again. What is held for its payment waits for that.
            if feed.state == .held, grant?.active ?? false, try isReleased(db, feed.request) { try begin(db, feed.request) }
            return
        }
        guard let grant, grant.active else {
            try feeds.hold(db, feed.number)
            return db.afterCommit { [hub] in hub.ended(feed.number, of: feed.organisation) }
        }
        let gone = feed.types.filter { !grant.types.contains($0) }
        guard !gone.isEmpty else { return }
        try feeds.narrow(db, feed.number, to: feed.types.filter(grant.types.contains))
        try events.drop(db, feed.number, types: gone)
        try queue.enqueue(db, .narrowed(feed, gone: gone), to: feed.organisation, at: clock())
        db.afterCommit { [hub] in hub.ended(feed.number, of: feed.organisation) }
    }

    /// Something of the person arrived at ingest.
    func arrived(_ db: Database, _ person: PersonID, _ fact: DataArrived) throws {
        guard fact.from < fact.to else { return }
        for feed in try feeds.running(db, of: person, fact.metric) {
            try events.mark(db, feed, fact.metric, fact.from.milliseconds..<fact.to.milliseconds)
        }
    }

    /// What arrived for a while is not known: ingest's log holds it no longer, or this is the first look at it. All that can have come is
    /// read again, and what has not changed is not delivered twice. Where what was delivered is not kept any more it cannot be told from what
    /// is new: late entries about those times are not read, and an item says so.
    func lostTrack(_ db: Database) throws {
        let now = clock()
        let comparable = (now - keep + Self.upkeepMargin).milliseconds
        for var feed in try feeds.open(db) where feed.state == .running {
            let begun = feed.steps.atBeginning(feed.begunAt.milliseconds, window: feed.window).lowerBound
            let end = feed.steps.atBeginning(now.milliseconds, window: feed.window).upperBound
            var unread = begun
            for metric in feed.types {
                // Nothing was delivered after the newest; before it can be told only what is kept.
                let newest = try items.newest(db, feed.number, metric) ?? feed.newest?.milliseconds
                let undelivered = newest.map { feed.steps.floor($0) + feed.steps.width } ?? begun
                let first = max(begun, min(undelivered, feed.steps.floor(comparable)))
                unread = max(unread, first)
                if first < end { try events.mark(db, feed, metric, first..<end) }
            }
            guard unread > begun else { continue }
            try items.append(db, .gap(before: Timestamp(milliseconds: unread)), to: &feed, at: now)
            try feeds.advance(db, feed)
            db.afterCommit { [hub, feed] in hub.grew(feed.number, of: feed.organisation) }
        }
        db.afterCommit { [hub] in hub.somethingToRead() }
    }
}
