// What is damaged in the store is marked and set aside; what comes after it goes on, by every way.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions: what is damaged")
struct DamagedItemTests {
    private static func deliver(_ harness: FeedHarness, _ feed: Feed, _ count: Int) async throws {
        let now = harness.world.clock.now.milliseconds
        try await harness.upload(feed, (0..<count).map { (now + Int64($0) * 1000, 60) })
        harness.world.clock.advance(.seconds(Int64(count)))
        try await harness.readAll()
    }

    @Test("SHR-14: a damaged item stands as `unreadable` on pages and in messages, and holds up nothing behind it")
    func item() async throws {
        try await FeedHarness.run { harness in
            let (feed, receiver) = (try await harness.subscribe(), PlayedReceiver())
            let endpoint = try await harness.addEndpoint(feed.organisation)
            let worker = harness.worker(endpoint, transport: receiver.transport)
            try await Self.deliver(harness, feed, 3)
            try await harness.store.write { db in try db.execute(sql: "UPDATE feed_items SET sealed = x'00010203' WHERE number = 2") }
            let items = try await harness.items(feed)
            #expect(items.map(\.number) == [1, 2, 3] && items[1].json == #"{"number":2,"unreadable":true}"#)
            #expect(items[0].members != nil && items[2].members != nil)
            try await harness.drain(worker)
            try await Self.deliver(harness, feed, 2)
            try await harness.drain(worker)
            #expect(receiver.numbers(feed.request) == [1, 2, 3, 4, 5])
            #expect(try await harness.endpoint(endpoint.id).health.failuresInARow == 0)
        }
    }

    @Test("a damaged item is told anew as soon as its step is read again")
    func mended() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            try await Self.deliver(harness, feed, 3)
            try await harness.store.write { db in
                try db.execute(sql: "UPDATE feed_items SET sealed = x'00010203' WHERE number = 2")
                try harness.repository.lostTrack(db)
            }
            try await harness.readAll()
            let items = try await harness.items(feed)
            #expect(items.map(\.number) == [1, 2, 3, 4] && items[3].replaces == 2 && items[3].members?.hasSuffix(#""value":60"#) == true)
        }
    }

    @Test("a message that cannot be read becomes a dead letter that says so; its lane goes on, and data behind it arrive")
    func message() async throws {
        try await FeedHarness.run { harness in
            let (feed, receiver) = (try await harness.subscribe(), PlayedReceiver())
            let endpoint = try await harness.addEndpoint(feed.organisation)
            let worker = harness.worker(endpoint, transport: receiver.transport)
            try await Self.deliver(harness, feed, 2)
            receiver.play([.refuse(503)])
            try await harness.drain(worker)
            try await harness.store.write { db in try db.execute(sql: "UPDATE webhook_messages SET content = '{\"items\":'") }
            harness.world.clock.advance(.seconds(60))
            try await Self.deliver(harness, feed, 1)
            try await harness.drain(worker)
            #expect(receiver.numbers(feed.request) == [3])
            #expect(receiver.taken.last?.message.data.batches?.first?.after == 2, "whoever counts sees what is missing")
            let (dead, counts) = try await harness.store.read { db in
                (try harness.queue.dead(db, of: endpoint.id, after: 0, limit: 10), try harness.queue.counts(db, of: endpoint.id))
            }
            #expect(dead.map(\.lastOutcome) == ["unreadable"] && counts == (0, 1))
            #expect(DeadLetterItem(dead[0], feeds: [:]).type == "unreadable")
            // Sent again on demand it is set aside again, and holds up nothing.
            let now = harness.world.clock.now
            _ = try await harness.store.write { db in try harness.queue.resend(db, dead[0].id, of: endpoint.id, at: now) }
            try await Self.deliver(harness, feed, 1)
            try await harness.drain(worker)
            #expect(receiver.numbers(feed.request) == [3, 4])
        }
    }
}
