// Who waits for what: the reader for new data, event streams for items and windows, delivery workers for messages.

import Contracts
import ServiceKit
import Synchronization

/// In memory only: whoever is woken reads the store. Notified after commits, so that what is read for is there.
final class FeedHub: Sendable {
    /// Those who listen to one subscription, of a person's data or a group's, at once.
    static let mostOfSubscription = 5
    /// Those who listen to all subscriptions of one organisation, so that none takes up all of the door's connections.
    static let mostOfOrganisation = 400

    /// Notified when there is something to read from ingest.
    let reading = WakeUpSignal()
    private let subscriptions = Watchers<Subscription>(limit: FeedHub.mostOfSubscription)
    /// Counts the listeners of all subscriptions of an organisation; each is woken by its own.
    private let permits = Watchers<OrganisationID>(limit: FeedHub.mostOfOrganisation)
    private let deliveries = Watchers<OrganisationID>()
    private let ends = Mutex<(@Sendable (Int64, OrganisationID) -> Void)?>(nil)

    /// What is listened to.
    fileprivate enum Subscription: Hashable, Sendable {
        case feed(Int64)
        case group(GroupRequestID)
    }

    /// Whoever listens to one subscription, until it is let go.
    struct Listener: Sendable {
        private let watcher: Watchers<Subscription>.Watcher
        private let permit: Watchers<OrganisationID>.Watcher

        fileprivate init(_ watcher: Watchers<Subscription>.Watcher, _ permit: Watchers<OrganisationID>.Watcher) {
            (self.watcher, self.permit) = (watcher, permit)
        }

        /// - Returns: whether there is news.
        @discardableResult
        func wait(atMost limit: Duration) async -> Bool {
            await watcher.wait(atMost: limit)
        }
    }

    /// Nil where as many listen to the subscription, or for the organisation, as may.
    func watch(feed: Int64, of organisation: OrganisationID) -> Listener? {
        watch(.feed(feed), of: organisation)
    }

    /// As the other.
    func watch(group: GroupRequestID, of organisation: OrganisationID) -> Listener? {
        watch(.group(group), of: organisation)
    }

    private func watch(_ subscription: Subscription, of organisation: OrganisationID) -> Listener? {
        guard let permit = permits.watch(organisation), let watcher = subscriptions.watch(subscription) else { return nil }
        return Listener(watcher, permit)
    }

    /// For delivery workers: messages for the organisation's endpoints, and everything that its feeds say.
    func watch(organisation: OrganisationID) -> Watchers<OrganisationID>.Watcher {
        deliveries.watchUnbounded(organisation)
    }

    /// How many event streams are open of one subscription.
    func watchers(of feed: Int64) -> Int {
        subscriptions.count(of: .feed(feed))
    }

    // MARK: What happened

    func somethingToRead() {
        reading.notify()
    }

    /// There are new items.
    func grew(_ feed: Int64, of organisation: OrganisationID) {
        subscriptions.notify(.feed(feed))
        deliveries.notify(organisation)
    }

    /// A window of the subscription to a group is told.
    func told(_ group: GroupRequestID) {
        subscriptions.notify(.group(group))
    }

    /// Nothing more of it, or less of it, may leave: what is on its way is called back.
    func ended(_ feed: Int64, of organisation: OrganisationID) {
        ends.withLock { $0 }?(feed, organisation)
        grew(feed, of: organisation)
    }

    /// There is a message for the organisation's endpoints.
    func notify(_ organisation: OrganisationID) {
        deliveries.notify(organisation)
    }

    func whenEnded(_ ends: @escaping @Sendable (Int64, OrganisationID) -> Void) {
        self.ends.withLock { $0 = ends }
    }
}
