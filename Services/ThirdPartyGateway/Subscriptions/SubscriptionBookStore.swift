// What other subjects of the gateway say about subscriptions, inside their own transactions: paid, so it begins; over, so it ends.

import Contracts
import GRDB
import ServiceKit

struct SubscriptionBook: Sendable {
    /// What the gateway knows of a granted request; nil where there is no grant.
    typealias Scope = @Sendable (Database, RequestID) throws -> FeedScope?

    /// Shorter than items are kept, so that what was delivered is known again.
    private static let lookBack = Duration.seconds(60 * 3600)

    let scope: Scope
    let queue: WebhookQueue
    let hub: FeedHub
    let clock: @Sendable () -> Timestamp
    private let feeds = FeedTable()
    private let grants = KnownGrantTable()
    private let news = FeedNewsTable()

    init(queue: WebhookQueue, hub: FeedHub, clock: @escaping @Sendable () -> Timestamp, scope: @escaping Scope) {
        (self.queue, self.hub, self.clock, self.scope) = (queue, hub, clock, scope)
    }

    /// The amount due is paid: from here on everything new is delivered. Once is as good as often; nothing happens where the request
    /// is no subscription.
    func begin(_ db: Database, _ request: RequestID) throws {
        guard let scope = try scope(db, request), scope.isSubscription, let person = scope.person else { return }
        let now = clock()
        let known = try grants.find(db, scope.grant)
        let types = scope.types.filter { known?.types.contains($0) ?? true }
        let isInForce = known?.isActive ?? true
        guard try feeds.begin(db, scope, of: person, types: types, state: isInForce ? .running : .held, at: now),
            let feed = try feeds.find(db, request)
        else { return }
        // What came before is downloaded; here only what a download at this moment could not hold yet.
        let first = feed.steps.atBeginning(now.milliseconds, window: feed.window)
        for metric in types where !first.isEmpty { try news.mark(db, feed, metric, first) }
        db.afterNextTransaction { [hub] _ in hub.somethingToRead() }
    }

    /// Nothing more is delivered from this transaction's commit on, and the third party's software is told so. Once is as good as often.
    func end(_ db: Database, _ request: RequestID, _ why: SubscriptionEnding) throws {
        let now = clock()
        guard let feed = try feeds.find(db, request) else {
            // A single delivery, or one that was never paid: there is no log, but the end is told.
            guard why == .revoked || why == .erased, let scope = try scope(db, request) else { return }
            return try queue.tell(db, .over(scope, why), to: scope.organisation, at: now)
        }
        guard feed.state != .over else { return }
        try feeds.end(db, feed.number, why, at: now)
        let ended = try feeds.find(db, feed.number) ?? feed
        try queue.tell(db, .over(ended, why), to: feed.organisation, at: now)
        db.afterNextTransaction { [hub] _ in hub.ended(feed.number, of: feed.organisation) }
    }

    /// The organisation is gone: nothing more is delivered, and its addresses and what waited for them are deleted. Consent ends its
    /// requests, which ends the subscriptions.
    func closed(_ db: Database, _ organisation: OrganisationID) throws {
        for feed in try feeds.running(db, of: organisation) {
            try feeds.hold(db, feed.number)
            db.afterNextTransaction { [hub] _ in hub.ended(feed.number, of: organisation) }
        }
        try queue.forget(db, organisation)
    }

    /// What consent says of a grant: the first word about a withdrawal, and the only one about single types.
    func heard(_ db: Database, _ state: GrantState) throws {
        guard try grants.save(db, state), let feed = try feeds.find(db, grant: state.grant) else { return }
        try follow(db, feed, isActive: state.active, types: state.types)
    }

    /// A snapshot says everything: a grant that is not in it is over.
    func heardAll(_ db: Database, _ states: [GrantState]) throws {
        try grants.forgetAll(db)
        let known = Dictionary(states.map { ($0.grant, $0) }) { $0.version > $1.version ? $0 : $1 }
        for state in known.values { _ = try grants.save(db, state) }
        for feed in try feeds.open(db) {
            let state = known[feed.grant]
            try follow(db, feed, isActive: state?.active ?? false, types: state?.types ?? [])
        }
    }

    private func follow(_ db: Database, _ feed: Feed, isActive: Bool, types: [Metric]) throws {
        guard feed.state == .running else { return }
        guard isActive else {
            try feeds.hold(db, feed.number)
            return db.afterNextTransaction { [hub] _ in hub.ended(feed.number, of: feed.organisation) }
        }
        let (left, gone) = (feed.types.filter(types.contains), feed.types.filter { !types.contains($0) })
        guard !gone.isEmpty else { return }
        try feeds.narrow(db, feed.number, to: left)
        try news.drop(db, feed.number, types: gone)
        try queue.tell(db, .narrowed(feed, gone: gone), to: feed.organisation, at: clock())
        db.afterNextTransaction { [hub] _ in hub.ended(feed.number, of: feed.organisation) }
    }

    /// Something of the person arrived at ingest.
    func arrived(_ db: Database, _ person: PersonID, _ fact: DataArrived) throws {
        guard fact.from < fact.to else { return }
        for feed in try feeds.running(db, of: person, fact.metric) {
            try news.mark(db, feed, fact.metric, fact.from.milliseconds..<fact.to.milliseconds)
        }
    }

    /// What arrived for a while is not known: ingest's log begins anew, or this is the first look at it. All of the last days is read
    /// again; what has not changed is not delivered twice.
    func lostTrack(_ db: Database) throws {
        let now = clock()
        for feed in try feeds.open(db) where feed.state == .running {
            let since = max(feed.begunAt, now - Self.lookBack).milliseconds
            let first = feed.steps.atBeginning(since, window: feed.window).lowerBound
            let range = first..<max(first, feed.steps.atBeginning(now.milliseconds, window: feed.window).upperBound)
            for metric in feed.types where !range.isEmpty { try news.mark(db, feed, metric, range) }
        }
    }
}
