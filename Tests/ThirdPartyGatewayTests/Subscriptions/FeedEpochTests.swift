// A gateway that was put back from a copy, or that could not listen: nothing is missed in silence, and no number comes twice.

import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions: after a restore, after a gap")
struct FeedEpochTests {
    private static func numbers(_ items: [FeedItem]) -> [Int64] { items.map(\.number) }

    private static func values(_ items: [FeedItem]) -> [String] { items.compactMap(\.members).filter { $0.contains(#""value""#) } }

    /// Entries of `count` seconds from now on arrive and are read.
    private static func add(_ harness: FeedHarness, _ feed: Feed, _ values: ClosedRange<Int>) async throws {
        let now = harness.world.clock.now.milliseconds
        try await harness.upload(feed, values.enumerated().map { (now + Int64($0.offset) * 1000, Double($0.element)) })
        harness.world.clock.advance(.seconds(Int64(values.count)))
        try await harness.readAll()
    }

    /// A life in which `before` are delivered before a copy is made and `lost` after it, then the copy's life.
    private static func restored(
        before: ClosedRange<Int> = 60...64, lost: ClosedRange<Int> = 65...67,
        _ body: @Sendable (FeedHarness, Feed, PlayedReceiver, Endpoint, _ seen: [FeedItem]) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let (world, receiver) = (FeedHarness.World(), PlayedReceiver())
            let (store, copy) = (folder.appendingPathComponent("gateway.db"), folder.appendingPathComponent("copy.db"))
            let (feed, endpoint, seen) = try await FeedHarness.run(in: folder, world) { harness in
                let feed = try await harness.subscribe()
                let endpoint = try await harness.addEndpoint(feed.organisation)
                let worker = harness.worker(endpoint, transport: receiver.transport)
                try await add(harness, feed, before)
                try await harness.drain(worker)
                try await harness.store.copy(to: copy)
                try await add(harness, feed, lost)
                try await harness.drain(worker)
                return (feed, endpoint, try await harness.items(feed))
            }
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + suffix) }
            try FileManager.default.copyItem(at: copy, to: store)
            try await FeedHarness.run(in: folder, world) { harness in
                let now = world.clock.now
                try await harness.store.write { db in try FeedEpochStore().renew(db, at: now) }
                try await body(harness, feed, receiver, endpoint, seen)
            }
        }
    }

    @Test(
        "SHR-14: after a restore from an older copy a receiver that goes on after its last number gets everything new: no number comes twice"
    )
    func nothingIsDropped() async throws {
        try await Self.restored { harness, feed, _, _, seen in
            #expect(Self.numbers(seen) == Array(1...8))
            // Ingest tells again what the copy has not heard of.
            let start = harness.world.clock.now.milliseconds - 3000
            try await harness.upload(feed, (0..<3).map { (start + $0 * 1000, Double(65 + $0)) })
            try await Self.add(harness, feed, 70...72)
            let more = try await harness.items(feed, after: 8)
            #expect(Set(Self.numbers(more)).isDisjoint(with: Self.numbers(seen)))
            #expect(Self.values(more).map { String($0.suffix(2)) } == ["65", "66", "67", "70", "71", "72"])
            #expect(Self.numbers(more) == Array((more.first?.number ?? 0)..<(more.first?.number ?? 0) + 7), "without gaps in the new epoch")
        }
    }

    @Test("after a restore an item says up to where the numbers stand, and the epoch of subscription, page and messages is another one")
    func typedNotice() async throws {
        try await Self.restored { harness, feed, _, _, _ in
            let now = try await harness.feed(feed.request)
            #expect(now.epoch != feed.epoch && now.epoch.count == 16)
            let notice = try #require(try await harness.items(feed, after: 8).first)
            #expect(notice.number == now.head && notice.json.hasSuffix(#""restored":{"through":5,"epoch":"\#(now.epoch)"}}"#))
            #expect(FeedItemShape.page(now, [], now: harness.world.clock.now).contains(#""epoch":"\#(now.epoch)""#))
            #expect(Self.numbers(try await harness.items(feed)) == Array(1...5) + [notice.number], "what stands can be fetched as ever")
            #expect(notice.number < 1 << 53, "programs that read numbers as doubles tell it from the next")
        }
    }

    @Test("after a restore no number that was given before is above the head, so that none is refused")
    func lostNumbersHold() async throws {
        try await Self.restored { harness, feed, _, _, seen in
            let now = try await harness.feed(feed.request)
            let last = try #require(seen.last?.number)
            #expect(last > 5 && now.head > last, "the copy knew of five")
            #expect(try await harness.items(feed, after: last).map(\.number) == [now.head])
            #expect(try await harness.items(feed, after: now.head).isEmpty)
            await #expect(throws: FeedRefusal.ahead(head: now.head)) { try await harness.items(feed, after: now.head + 1) }
        }
    }

    @Test("SHR-14: after a restore webhooks carry what stands and was not queued, the notice and what is new, in bounded messages that end")
    func webhooks() async throws {
        try await Self.restored { harness, feed, receiver, endpoint, _ in
            let worker = harness.worker(endpoint, transport: receiver.transport)
            try await Self.add(harness, feed, 70...71)
            try await harness.drain(worker)
            let head = try await harness.feed(feed.request).head
            #expect(Array(receiver.numbers(feed.request).suffix(3)) == [head - 2, head - 1, head])
            let batch = receiver.taken.last?.message.data.batches?.last
            #expect(batch?.through == head && batch?.head == head)
            let (messages, attempts) = (receiver.taken.count, receiver.attempts.count)
            try await harness.drain(worker)
            #expect(receiver.taken.count == messages && receiver.attempts.count == attempts, "nothing is left to tell")
        }
    }

    @Test("after a restore data went to endpoints that had been deleted since the copy: nothing leaves before the operator has looked")
    func heldEndpoints() async throws {
        try await Self.restored { harness, feed, receiver, endpoint, _ in
            let now = harness.world.clock.now
            try await harness.store.write { db in try GatewayRestoreStore().begin(db, at: now) }
            let worker = harness.worker(endpoint, transport: receiver.transport)
            let before = receiver.attempts.count
            try await Self.add(harness, feed, 70...71)
            try await harness.drain(worker)
            #expect(receiver.attempts.count == before)
            let wasHeld = try await harness.store.write { db in try GatewayRestoreStore().reopen(db) }
            try await harness.drain(worker)
            let head = try await harness.feed(feed.request).head
            #expect(wasHeld && receiver.numbers(feed.request).last == head, "nothing is lost by that")
        }
    }

    @Test("a subscription that had nothing when the copy was made does not give the lost numbers again, and its first item is still told")
    func emptyCopy() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let now = harness.world.clock.now
            try await harness.store.write { db in try FeedEpochStore().renew(db, at: now) }
            try await Self.add(harness, feed, 60...60)
            let items = try await harness.items(feed)
            #expect(items.count == 2 && items.allSatisfy { $0.number > 1_000_000 })
            #expect(try await harness.isDelivered(feed) == true)
        }
    }

    @Test("a later restore of the same copy begins above everything that the first restore gave")
    func twice() {
        let now = Timestamp(milliseconds: 1_789_000_000_000)
        let once = FeedEpoch.start(at: now, after: 5)
        #expect(FeedEpoch.start(at: now + .seconds(1), after: 5) - once == 1_000_000, "room for a million items a second")
        #expect(FeedEpoch.start(at: now, after: once + 7) == once + 7, "never backwards, whatever the clock says")
    }

    @Test("a store of the release before gets epochs, keeps its numbers, and is not taken for one that was put back")
    func migration() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("gateway.db")
            func open(_ count: Int) throws -> Store {
                try Store.open(
                    file, applicationID: GatewaySchema.applicationID, migrations: Array(GatewaySchema.migrations.prefix(count)),
                    logger: .init(label: "test"))
            }
            let old = try open(6)
            try await old.write { db in
                for number in 1...2 {
                    try db.execute(
                        sql: """
                            INSERT INTO feeds (request, organisation, grant_id, types, window_from, window_to, granularity, state, head, begun_at)
                            VALUES (?, ?, ?, x'01', 0, 9, 'seconds', 'running', 41, 0)
                            """, arguments: [Data(RequestID.random().bytes), Data([UInt8(number)]), Data(GrantID.random().bytes)])
                }
            }
            await old.close()
            let new = try open(GatewaySchema.migrations.count)
            let life = StoreLife(beside: file)
            #expect(try await life.begin(new) { db in try FeedEpochStore().renew(db, at: .now) } == false)
            let (epochs, heads) = try await new.read { db in
                (try String.fetchAll(db, sql: "SELECT epoch FROM feeds"), try Int64.fetchAll(db, sql: "SELECT head FROM feeds"))
            }
            #expect(Set(epochs).count == 2 && epochs.allSatisfy { $0.count == 16 } && heads == [41, 41])
            await new.close()
        }
    }

    // MARK: Gaps

    /// Five entries are delivered. Then nothing is heard for some days, in which ingest gets a late entry of before and one at the end
    /// of each of some of these days; then what it has is read back.
    /// - Returns: the items after the five, and when the silence began.
    private static func unheard(days: Int64, entriesAfter given: [Int64]) async throws -> (items: [FeedItem], since: Timestamp) {
        try await FeedHarness.runWithFeed { harness, feed in
            try await add(harness, feed, 60...64)
            let start = harness.world.clock.now
            harness.world.clock.advance(.seconds(days * 86_400))
            harness.world.ingest.keep(feed.grant, .heartRate, start.milliseconds - 4500, 80)
            for day in given { harness.world.ingest.keep(feed.grant, .heartRate, start.milliseconds + day * 86_400_000, 90) }
            try await harness.upkeep.turn()
            try await harness.store.write { db in try harness.repository.lostTrack(db) }
            try await harness.readAll()
            return (try await harness.items(feed, after: 5), start)
        }
    }

    @Test("SHR-14: what arrived while nobody could listen is read back, late entries too, as long as what was delivered is kept")
    func readBack() async throws {
        let (items, _) = try await Self.unheard(days: 5, entriesAfter: [1, 4])
        #expect(Self.numbers(items) == [6, 7, 8] && items.first?.replaces == 1)
        #expect(items.allSatisfy { $0.members?.contains("gap") == false })
    }

    @Test(
        "where what was delivered is not kept any more, an item says that late entries before a time may be missing; the rest is read back"
    )
    func noticed() async throws {
        let (items, since) = try await Self.unheard(days: 20, entriesAfter: [1, 19])
        #expect(items.first?.json == #"{"number":6,"gap":{"before":"\#(since.rfc3339)"}}"#)
        #expect(Self.numbers(items) == [6, 7, 8] && Self.values(items).allSatisfy { $0.hasSuffix(#""value":90"#) })
    }

    @Test("SHR-14: facts that ingest's log holds no longer are read back by the running gateway")
    func passedOver() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let (scope, person) = try await stage.subscribe(organisation)
            let path = "/subscriptions/\(scope.request)/items"
            try await stage.upload(scope, person, [60])
            try await eventually("the first is there") {
                let page: SubscriptionStage.Page? = try? await stage.request("GET", path, as: organisation).decoded()
                return page?.head == 1
            }
            // Said, and gone from the log before anybody heard.
            let missed = Timestamp.now.milliseconds / 1000 * 1000
            stage.ingest.keep(scope.grant, .heartRate, missed, 61)
            let fact = DataArrived(
                metric: .heartRate, from: Timestamp(milliseconds: missed), to: Timestamp(milliseconds: missed + 1))
            try await stage.ingestSays.sayIntoTheVoid(fact, type: DataArrived.type, of: person)
            try await eventually("what was missed is there") {
                let page: SubscriptionStage.Page? = try? await stage.request("GET", path, as: organisation).decoded()
                return page?.items.compactMap(\.value) == [60, 61]
            }
        }
    }
}
