// Who may listen to subscriptions at once.

import Contracts
import Storage
import Synchronization
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions: who listens")
struct FeedHubTests {
    @Test("no subscription is listened to by more than five, and no organisation takes up the door with many of them")
    func limits() throws {
        let (hub, organisation) = (FeedHub(), OrganisationID.random())
        var seats = try (0..<FeedHub.mostOfSubscription).map { _ in try #require(hub.watch(feed: 1, of: organisation)) }
        #expect(hub.watch(feed: 1, of: organisation) == nil)
        var feed: Int64 = 1
        let group = GroupRequestID.random()
        for _ in 0..<FeedHub.mostOfSubscription { seats.append(try #require(hub.watch(group: group, of: organisation))) }
        #expect(hub.watch(group: group, of: organisation) == nil, "those to groups are counted alike")
        while seats.count < FeedHub.mostOfOrganisation {
            feed += 1
            seats.append(try #require(hub.watch(feed: feed, of: organisation)))
        }
        #expect(hub.watch(feed: feed + 1, of: organisation) == nil)
        #expect(hub.watch(feed: feed + 1, of: .random()) != nil, "others listen as ever")
        seats.removeLast()
        #expect(hub.watchers(of: feed) == 0)
        seats.append(try #require(hub.watch(feed: feed, of: organisation), "whoever goes makes room"))
        #expect(hub.watch(feed: feed + 1, of: organisation) == nil, "for one")
        withExtendedLifetime(seats) {}
    }

    private struct Undone: Error {}

    @Test("what was on its way of a subscription was called back for a hold that was undone")
    func undone() async throws {
        try await FeedHarness.run { harness in
            let (feed, repository) = (try await harness.subscribe(), harness.repository)
            let ends = Mutex<[Int64]>([])
            harness.hub.whenEnded { feed, _ in ends.withLock { $0.append(feed) } }
            await #expect(throws: Undone.self) {
                try await harness.store.write { db in
                    try repository.hold(db, feed.request)
                    throw Undone()
                }
            }
            #expect(ends.withLock { $0 } == [])
            try await harness.store.write { db in try repository.hold(db, feed.request) }
            #expect(ends.withLock { $0 } == [feed.number])
        }
    }
}
