// Who waits for what: the reader for news, event streams for items, couriers for messages.

import Contracts
import ServiceKit
import Synchronization

/// In memory only: whoever is woken looks at the store. Rung after commits, so that what is looked for is there.
final class FeedHub: Sendable {
    private struct State {
        var next = 0
        var feeds: [Int64: [Int: Bell]] = [:]
        var organisations: [OrganisationID: [Int: Bell]] = [:]
        /// How many listen to subscriptions for each organisation.
        var listeners: [OrganisationID: Int] = [:]
        var ends: (@Sendable (Int64, OrganisationID) -> Void)?
    }

    /// Rung when there is something to read from ingest.
    let reading = Bell()
    private let state = Mutex(State())

    /// A place at a bell, until it is given back.
    struct Seat: Sendable {
        let bell = Bell()
        fileprivate let number: Int
        fileprivate let feed: Int64?
        fileprivate let organisation: OrganisationID?
    }

    /// Those who listen to one subscription at once.
    static let mostOfSubscription = 5
    /// Those who listen to all subscriptions of one organisation, so that none takes up all of the door's connections.
    static let mostOfOrganisation = 400

    /// Nil where as many listen to the subscription, or for the organisation, as may.
    func watch(feed: Int64, of organisation: OrganisationID) -> Seat? {
        state.withLock { state in
            guard state.feeds[feed]?.count ?? 0 < Self.mostOfSubscription,
                state.listeners[organisation] ?? 0 < Self.mostOfOrganisation
            else { return nil }
            state.next += 1
            let seat = Seat(number: state.next, feed: feed, organisation: organisation)
            state.feeds[feed, default: [:]][seat.number] = seat.bell
            state.listeners[organisation, default: 0] += 1
            return seat
        }
    }

    func watch(organisation: OrganisationID) -> Seat {
        state.withLock { state in
            state.next += 1
            let seat = Seat(number: state.next, feed: nil, organisation: organisation)
            state.organisations[organisation, default: [:]][seat.number] = seat.bell
            return seat
        }
    }

    func leave(_ seat: Seat) {
        state.withLock { state in
            if let feed = seat.feed {
                guard state.feeds[feed]?.removeValue(forKey: seat.number) != nil else { return }
                if state.feeds[feed]?.isEmpty ?? false { state.feeds[feed] = nil }
                guard let organisation = seat.organisation, let count = state.listeners[organisation] else { return }
                state.listeners[organisation] = count > 1 ? count - 1 : nil
            } else if let organisation = seat.organisation {
                state.organisations[organisation]?[seat.number] = nil
                if state.organisations[organisation]?.isEmpty ?? false { state.organisations[organisation] = nil }
            }
        }
    }

    /// How many event streams are open of one subscription.
    func watchers(of feed: Int64) -> Int {
        state.withLock { $0.feeds[feed]?.count ?? 0 }
    }

    // MARK: What happened

    func somethingToRead() {
        reading.ring()
    }

    /// There are new items.
    func grew(_ feed: Int64, of organisation: OrganisationID) {
        for bell in bells(feed, organisation) { bell.ring() }
    }

    /// Nothing more of it, or less of it, may leave: what is on its way is called back.
    func ended(_ feed: Int64, of organisation: OrganisationID) {
        state.withLock { $0.ends }?(feed, organisation)
        for bell in bells(feed, organisation) { bell.ring() }
    }

    /// There is a message for the organisation's endpoints.
    func told(_ organisation: OrganisationID) {
        for bell in state.withLock({ Array($0.organisations[organisation, default: [:]].values) }) { bell.ring() }
    }

    func whenEnded(_ ends: @escaping @Sendable (Int64, OrganisationID) -> Void) {
        state.withLock { $0.ends = ends }
    }

    private func bells(_ feed: Int64, _ organisation: OrganisationID) -> [Bell] {
        state.withLock { state in
            Array(state.feeds[feed, default: [:]].values) + Array(state.organisations[organisation, default: [:]].values)
        }
    }
}
