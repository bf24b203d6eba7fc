// The log of a subscription: what gets into it, when, under which numbers, and what never leaves.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions: the log")
struct FeedTests {
    private static func numbers(_ items: [FeedItem]) -> [Int64] { items.map(\.number) }

    @Test("SHR-14, INV-03: what arrives is in the feed as soon as its second is over, numbered from 1 without gaps")
    func flow() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let start = harness.world.clock.now.milliseconds
            try await harness.upload(feed, [(start, 70), (start + 400, 80)])
            try await harness.readAll()
            #expect(try await harness.items(feed).isEmpty, "the second is not over")
            harness.world.clock.advance(.seconds(1))
            try await harness.readAll()
            #expect(
                try await harness.items(feed).map(\.members) == [
                    FeedItem.members(of: .init(type: .heartRate, at: .init(milliseconds: start), value: 75))
                ])
            for second in 1...20 {
                try await harness.upload(feed, [(start + Int64(second) * 1000, Double(second))])
                harness.world.clock.advance(.seconds(1))
                try await harness.readAll()
            }
            #expect(Self.numbers(try await harness.items(feed)) == Array(1...21))
            #expect(Self.numbers(try await harness.items(feed, after: 15, limit: 3)) == [16, 17, 18])
            let known = try await harness.feed(feed.request)
            #expect(known.head == 21 && known.newest == Timestamp(milliseconds: start + 20_000))
            #expect(try await harness.isDelivered(feed) == true, "payment learns that something was delivered")
        }
    }

    @Test("SHR-12: at minutes the mean of each minute comes once, when the minute is over")
    func minutes() async throws {
        try await FeedHarness.run { harness in
            let feed = try await harness.subscribe(types: [.heartRate], .minutes)
            let start = harness.world.clock.now.milliseconds
            for second in 0..<90 {
                try await harness.upload(feed, [(start + Int64(second) * 1000, second < 60 ? 60 : 90)])
                harness.world.clock.advance(.seconds(1))
                try await harness.readAll()
            }
            let items = try await harness.items(feed)
            #expect(items.count == 1 && items[0].members?.hasSuffix(#""value":60"#) == true)
            harness.world.clock.advance(.seconds(30))
            try await harness.readAll()
            #expect(try await harness.items(feed).last?.members?.hasSuffix(#""value":90"#) == true)
        }
    }

    @Test(
        "SHR-14: a late entry in a step that was delivered comes again under a new number and names what it replaces; the same again does not"
    )
    func corrections() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let start = harness.world.clock.now.milliseconds
            try await harness.upload(feed, (0..<5).map { (start + $0 * 1000, 60) })
            harness.world.clock.advance(.seconds(10))
            try await harness.readAll()
            try await harness.upload(feed, [(start + 2500, 80)])
            try await harness.readAll()
            let items = try await harness.items(feed)
            #expect(Self.numbers(items) == [1, 2, 3, 4, 5, 6] && items[5].replaces == 3)
            #expect(items[5].members?.hasSuffix(#""value":70"#) == true)
            // Late, but of a step that was empty: nothing is replaced.
            try await harness.upload(feed, [(start + 7000, 50)])
            try await harness.readAll()
            try await harness.upload(feed, [(start + 6000, 55)])
            try await harness.readAll()
            let later = try await harness.items(feed, after: 6)
            #expect(later.count == 2 && later.allSatisfy { $0.replaces == nil })
            // Everything is read again: nothing of it has changed.
            try await harness.store.write { db in try harness.repository.lostTrack(db) }
            try await harness.readAll()
            #expect(try await harness.feed(feed.request).head == 8)
        }
    }

    @Test("what comes while a stretch is being read is not lost, and what was read is not delivered twice")
    func interruption() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let start = harness.world.clock.now.milliseconds
            try await harness.upload(feed, [(start, 60), (start + 1000, 61)])
            harness.world.clock.advance(.seconds(5))
            harness.world.ingest.interrupt { try await harness.upload(feed, [(start + 1500, 63), (start + 2000, 64)]) }
            try await harness.readAll()
            let items = try await harness.items(feed)
            let newest = Dictionary(items.compactMap { item in item.members.map { ($0.prefix(51), item) } }) { $1 }
            #expect(items.count == 4 && newest.count == 3 && items.filter { $0.replaces != nil }.count == 1)
        }
    }

    @Test("a backlog comes in pieces, in order, and an ingest whose clock is behind gives the last step later")
    func pieces() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let start = harness.world.clock.now.milliseconds
            harness.world.ingest.set(lag: .seconds(2), most: 7)
            try await harness.upload(feed, (0..<50).map { (start + $0 * 1000, Double($0)) })
            harness.world.clock.advance(.seconds(50))
            try await harness.readAll()
            #expect(try await harness.feed(feed.request).head == 48)
            harness.world.clock.advance(.seconds(2))
            try await harness.readAll()
            let items = try await harness.items(feed)
            #expect(Self.numbers(items) == Array(1...50) && items.allSatisfy { $0.replaces == nil })
        }
    }

    @Test("SHR-21, INV-04: while ingest denies or is silent nothing is lost: it is read when it may be")
    func denial() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let start = harness.world.clock.now.milliseconds
            try await harness.upload(feed, [(start, 60)])
            harness.world.clock.advance(.seconds(3))
            harness.world.ingest.set(denial: Failure(.forbidden, "consent was not heard"))
            try await harness.readAll()
            harness.world.ingest.set(silent: true)
            harness.world.clock.advance(.seconds(3))
            await #expect(throws: SmallIngest.Silent.self) { try await harness.reading.turn() }
            #expect(try await harness.items(feed).isEmpty)
            harness.world.ingest.set()
            try await harness.readAll()
            #expect(try await harness.items(feed).count == 1)
        }
    }

    @Test("SHR-16, INV-04: from a withdrawal on nothing leaves by any way, also before it is known why")
    func withdrawal() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let start = harness.world.clock.now.milliseconds
            try await harness.upload(feed, [(start, 60)])
            harness.world.clock.advance(.seconds(2))
            try await harness.readAll()
            try await harness.say(feed, active: false)
            await #expect(throws: FeedRefusal.over(nil)) { try await harness.items(feed) }
            try await harness.upload(feed, [(start + 3000, 60)])
            harness.world.clock.advance(.seconds(100))
            try await harness.readAll()
            try await harness.end(feed, .revoked)
            await #expect(throws: FeedRefusal.over(.revoked)) { try await harness.items(feed) }
            #expect(try await harness.feed(feed.request).head == 1)
            // The first end stands; what is over does not begin again.
            try await harness.end(feed, .ended)
            try await harness.store.write { db in try harness.repository.begin(db, feed.request) }
            #expect(try await harness.feed(feed.request).ending == .revoked)
            try await harness.upkeep.turn()
            let kept = try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM feed_items") }
            #expect(kept == 0, "what may not leave any more is not kept")
        }
    }

    @Test("SHR-16: of a withdrawn type nothing is delivered any more; its numbers stand without content, the others go on")
    func narrowing() async throws {
        try await FeedHarness.run { harness in
            let feed = try await harness.subscribe(types: [.heartRate, .bodyTemperature])
            let start = harness.world.clock.now.milliseconds
            try await harness.upload(feed, .heartRate, [(start, 60)])
            try await harness.upload(feed, .bodyTemperature, [(start, 36.5)])
            harness.world.clock.advance(.seconds(2))
            try await harness.readAll()
            try await harness.say(feed, types: [.bodyTemperature], active: true)
            try await harness.upload(feed, .heartRate, [(start + 2000, 60)])
            try await harness.upload(feed, .bodyTemperature, [(start + 2000, 36.5)])
            harness.world.clock.advance(.seconds(2))
            try await harness.readAll()
            let items = try await harness.items(feed)
            #expect(Self.numbers(items) == [1, 2, 3] && items.filter { $0.members == nil }.count == 1)
            #expect(items.allSatisfy { $0.members?.contains("heart-rate") != true })
            // An older word about the grant changes nothing.
            try await harness.say(feed, types: [.heartRate, .bodyTemperature], active: true, version: 1)
            #expect(try await harness.feed(feed.request).types == [.bodyTemperature])
        }
    }

    @Test("privacy fails closed: while consent is silent for more than five seconds no item is handed out")
    func silence() async throws {
        try await FeedHarness.runWithFeed { (harness, feed) async throws in
            harness.world.silence.withLock { $0 = .milliseconds(5001) }
            await #expect(throws: FeedRefusal.consentSilent) { try await harness.items(feed) }
            harness.world.silence.withLock { $0 = .seconds(5) }
            #expect(try await harness.items(feed).isEmpty)
        }
    }

    @Test("SHR-13: a period wholly in the past is no subscription; one whose grant was withdrawn before it was paid delivers nothing")
    func beginnings() async throws {
        try await FeedHarness.run { harness in
            await #expect(throws: FeedHarness.Absent.self) { try await harness.subscribe(ahead: .seconds(-60)) }
            let feed = try await harness.subscribe()
            try await harness.store.write { db in try harness.repository.begin(db, feed.request) }
            let count = try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM feeds") }
            #expect(count == 1)
            let scope = FeedScope(
                request: .random(), organisation: .random(), person: .random(), grant: .random(), types: [.heartRate],
                from: harness.world.clock.now, to: harness.world.clock.now + .seconds(1000), granularity: .seconds, isSubscription: true)
            try await harness.store.write { db in try RequestStore().add(db, MadeRequest(approved: scope, at: scope.from)) }
            let over = GrantState(
                grant: scope.grant, request: scope.request, person: scope.person ?? .random(), organisation: scope.organisation, types: [],
                from: scope.from, to: scope.to, granularity: .seconds, active: false, version: 3)
            try await harness.store.write { db in
                try harness.repository.receive(db, over)
                try harness.repository.begin(db, scope.request)
            }
            let held = try await harness.feed(scope.request)
            #expect(held.state == .held)
            await #expect(throws: FeedRefusal.self) { try await harness.items(held) }
        }
    }

    @Test("a snapshot of consent says everything: a grant that is not in it is over")
    func snapshot() async throws {
        try await FeedHarness.run { harness in
            let (gone, stays) = (try await harness.subscribe(), try await harness.subscribe(types: [.heartRate, .bodyTemperature]))
            let state = GrantState(
                grant: stays.grant, request: stays.request, person: stays.person ?? .random(), organisation: stays.organisation,
                types: [.heartRate], from: .init(milliseconds: 0), to: .init(milliseconds: .max), granularity: .seconds, active: true,
                version: 4)
            try await harness.store.write { db in
                try harness.repository.receive(db, state)
                for grant in try harness.repository.known(db, after: [], limit: .max) where grant != state.grant {
                    try harness.repository.ended(db, grant)
                }
            }
            #expect(try await harness.feed(gone.request).state == .held)
            let left = try await harness.feed(stays.request)
            #expect(left.state == .running && left.types == [.heartRate])
        }
    }

    @Test(
        "a subscription begun while a snapshot of grants was on its way stayed held until it was paid again: it goes on with the grant's own fact"
    )
    func begunDuringSnapshot() async throws {
        try await FeedHarness.run { harness in
            let (feed, unpaid) = (try await harness.subscribe(), try await harness.subscribe(isPaid: false))
            let start = harness.world.clock.now.milliseconds
            // The snapshot was taken before either was granted.
            try await harness.store.write { db in
                for grant in try harness.repository.known(db, after: [], limit: .max) { try harness.repository.ended(db, grant) }
                try harness.repository.hold(db, unpaid.request)
            }
            for held in [feed, unpaid] { #expect(try await harness.feed(held.request).state == .held) }
            try await harness.upload(feed, [(start, 60)])
            for held in [feed, unpaid] { try await harness.say(held, active: true) }
            #expect(try await harness.feed(feed.request).state == .running)
            #expect(try await harness.feed(unpaid.request).state == .held, "what is not paid waits for that, whatever consent says")
            harness.world.clock.advance(.seconds(2))
            try await harness.readAll()
            #expect(try await harness.items(feed).map(\.number) == [1], "what came while it was held is delivered")
            // A withdrawal stays one.
            try await harness.say(feed, active: false, version: 3)
            try await harness.say(feed, active: true, version: 2)
            #expect(try await harness.feed(feed.request).state == .held)
        }
    }

    @Test("what ingest cannot read of one person holds up nobody else's subscription, and is read once it can be")
    func damage() async throws {
        try await FeedHarness.run { harness in
            var feeds: [Feed] = []
            for _ in 0..<9 { feeds.append(try await harness.subscribe()) }
            harness.world.ingest.damage([feeds[3].grant])
            let start = harness.world.clock.now.milliseconds
            for feed in feeds { try await harness.upload(feed, [(start, 60)]) }
            harness.world.clock.advance(.seconds(2))
            try await harness.reading.turn()
            for (place, feed) in feeds.enumerated() {
                #expect(Self.numbers(try await harness.items(feed)) == (place == 3 ? [] : [1]), "\(place)")
            }
            harness.world.ingest.damage([])
            harness.world.clock.advance(.seconds(61))
            try await harness.readAll()
            #expect(Self.numbers(try await harness.items(feeds[3])) == [1])
        }
    }

    @Test("items are kept for a week; who asks for older ones is told where to go on, and numbers go on without gaps")
    func retention() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let start = harness.world.clock.now.milliseconds
            try await harness.upload(feed, (0..<10).map { (start + $0 * 1000, 60) })
            harness.world.clock.advance(.seconds(20))
            try await harness.readAll()
            harness.world.clock.advance(.seconds(7 * 86_400))
            try await harness.upload(feed, [(harness.world.clock.now.milliseconds, 61)])
            harness.world.clock.advance(.seconds(5))
            try await harness.readAll()
            try await harness.upkeep.turn()
            await #expect(throws: FeedRefusal.released(through: 10)) { try await harness.items(feed) }
            #expect(Self.numbers(try await harness.items(feed, after: 10)) == [11])
        }
    }

    @Test("ACC-31, CON-02: erasing the person ends the subscription and leaves nothing that was delivered")
    func erasure() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let endpoint = try await harness.addEndpoint(feed.organisation)
            let start = harness.world.clock.now.milliseconds
            try await harness.upload(feed, (0..<10).map { (start + $0 * 1000, 60) })
            harness.world.clock.advance(.seconds(20))
            try await harness.readAll()
            guard let person = feed.person else { return }
            let order = PersonErased(erasure: .random(), person: person, scope: .account, orderedAt: harness.world.clock.now)
            try await harness.keys.destroyKey(of: person)
            let steps = SubscriptionErasureStore(repository: harness.repository).steps
            while try await harness.store.write({ db in try steps.delete(db, order) }) > 0 {}
            let known = try await harness.feed(feed.request)
            #expect(known.state == .over && known.ending == .erased && known.person == nil)
            let left = try await harness.store.read { db in
                try ["feed_items", "feed_news", "granted"].map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") }
            }
            #expect(left == [0, 0, 0])
            let told = try await harness.store.read { db in try harness.queue.first(db, of: endpoint.id, .notices) }
            guard case .notice(let notice) = told?.content else {
                Issue.record("nobody was told")
                return
            }
            #expect(notice.type == .revoked && notice.reason == "erased")
        }
    }
}
