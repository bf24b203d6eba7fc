// One endpoint's messages: in order, again until taken, called back at once, given up with notice.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Webhooks: delivery")
struct CourierTests {
    /// A subscription with items, an endpoint that had nothing of it yet, and its worker.
    private struct Scene {
        let feed: Feed
        let endpoint: Endpoint
        let receiver = PlayedReceiver()
        let worker: WebhookDeliveryWorker

        init(_ harness: FeedHarness, types: [Metric] = [.heartRate]) async throws {
            feed = try await harness.subscribe(types: types)
            endpoint = try await harness.addEndpoint(feed.organisation)
            worker = harness.worker(endpoint, transport: receiver.transport)
        }

        static func play(_ body: (FeedHarness, Scene) async throws -> Void) async throws {
            try await FeedHarness.run { harness in try await body(harness, Scene(harness)) }
        }

        func add(_ count: Int, _ harness: FeedHarness, _ metric: Metric = .heartRate) async throws {
            let now = harness.world.clock.now.milliseconds
            try await harness.upload(feed, metric, (0..<count).map { (now + Int64($0) * 1000, 60) })
            harness.world.clock.advance(.seconds(Int64(count)))
            try await harness.readAll()
        }
    }

    @Test("SHR-14: what is new goes out in one message, in order; what comes while it is on its way in the next")
    func order() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(5, harness)
            try await harness.drain(scene.worker)
            try await scene.add(3, harness)
            try await harness.drain(scene.worker)
            #expect(scene.receiver.numbers(scene.feed.request) == Array(1...8) && scene.receiver.taken.count == 2)
            let first = scene.receiver.taken.first?.message
            #expect(
                first?.type == "subscription.items" && first?.data.batches?.first?.after == 0 && first?.data.batches?.first?.through == 5)
            #expect(try await harness.endpoint(scene.endpoint.id).health.lastSuccessAt == harness.world.clock.now)
        }
    }

    @Test("a message that was not taken comes again under the same id with growing pauses, and nothing overtakes it")
    func again() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(2, harness)
            scene.receiver.play([.refuse(500), .silent, .refuse(302), .takeAndLoseAnswer])
            var waits: [Duration] = []
            for _ in 0..<20 {
                switch try await scene.worker.turn(.items) {
                case .rest(let pause) where scene.receiver.attempts.count < 5:
                    waits.append(pause)
                    harness.world.clock.advance(pause)
                    try await scene.add(1, harness)
                default: continue
                }
            }
            #expect(Set(scene.receiver.attempts.prefix(5).map(\.id)).count == 1)
            #expect(waits.first == .seconds(1) && waits.dropFirst().first ?? .zero > .seconds(0))
            #expect(scene.receiver.numbers(scene.feed.request) == Array(1...Int64(2 + waits.count)))
        }
    }

    @Test("several subscriptions of one organisation share a message; another organisation's are never in it (INV-04)")
    func sharing() async throws {
        try await Scene.play { harness, scene in
            let sister = try await harness.subscribe(scene.feed.organisation)
            let stranger = try await harness.subscribe()
            for feed in [sister, stranger] { try await harness.upload(feed, [(harness.world.clock.now.milliseconds, 61)]) }
            try await scene.add(2, harness)
            try await harness.drain(scene.worker)
            #expect(scene.receiver.taken.count == 1)
            #expect(scene.receiver.numbers(sister.request) == [1] && scene.receiver.numbers(scene.feed.request) == [1, 2])
            #expect(scene.receiver.numbers(stranger.request).isEmpty)
        }
    }

    @Test(
        "SHR-16: a withdrawal calls back the attempt that is under way; what is withdrawn does not leave again, and grant.revoked is told")
    func revocation() async throws {
        try await Scene.play { harness, scene in
            let sister = try await harness.subscribe(scene.feed.organisation)
            try await harness.upload(sister, [(harness.world.clock.now.milliseconds, 61)])
            try await scene.add(2, harness)
            scene.receiver.play([.hang])
            let worker = scene.worker
            harness.hub.whenEnded { feed, _ in Task { await worker.callBack(feed) } }
            let sending = Task { try await harness.drain(worker) }
            try await eventually("the attempt is under way", isTrue: { scene.receiver.hanging == 1 })
            try await harness.end(scene.feed, .revoked)
            try await sending.value
            #expect(scene.receiver.attempts.count == 2 && scene.receiver.numbers(scene.feed.request).isEmpty)
            #expect(scene.receiver.numbers(sister.request) == [1])
            #expect(try await harness.endpoint(scene.endpoint.id).health.failuresInARow == 0, "it is no failure of the endpoint's")
            try await harness.drain(worker, .notices)
            let notice = scene.receiver.taken.last?.message
            #expect(notice?.type == "grant.revoked" && notice?.data.subscription == scene.feed.request && notice?.data.isWhole == true)
        }
    }

    @Test("SHR-16: retries that wait are not sent after a withdrawal, and a message of which nothing is left is dropped")
    func waitingRetries() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(2, harness)
            scene.receiver.play([.refuse(503)])
            try await harness.drain(scene.worker)
            try await harness.say(scene.feed, active: false)
            harness.world.clock.advance(.seconds(100))
            try await harness.drain(scene.worker)
            #expect(scene.receiver.attempts.count == 1 && scene.receiver.taken.isEmpty)
            let left = try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM webhook_messages") }
            #expect(left == 0)
        }
    }

    @Test("SHR-16: items of a single withdrawn type leave as empty numbers, and the withdrawal is told by name")
    func narrowing() async throws {
        try await FeedHarness.run { harness in
            let scene = try await Scene(harness, types: [.heartRate, .bodyTemperature])
            try await scene.add(1, harness, .heartRate)
            try await scene.add(1, harness, .bodyTemperature)
            try await harness.say(scene.feed, types: [.bodyTemperature], active: true)
            try await harness.drain(scene.worker)
            try await harness.drain(scene.worker, .notices)
            let items = scene.receiver.taken.first?.message.data.batches?.first?.items
            #expect(items?.map(\.number) == [1, 2] && items?.map { $0.withdrawn ?? false } == [true, false] && items?.first?.value == nil)
            let notice = scene.receiver.taken.last?.message
            #expect(notice?.type == "grant.revoked" && notice?.data.types == ["heart-rate"] && notice?.data.isWhole == false)
        }
    }

    @Test(
        "privacy fails closed: while consent is silent data wait, the end of a grant is told all the same; a suspended organisation gets nothing"
    )
    func closed() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(1, harness)
            harness.world.silence.withLock { $0 = .seconds(6) }
            try await harness.drain(scene.worker)
            #expect(scene.receiver.attempts.isEmpty)
            let other = try await harness.subscribe(scene.feed.organisation)
            try await harness.end(other, .ended)
            try await harness.drain(scene.worker, .notices)
            #expect(scene.receiver.taken.map(\.message.type) == ["subscription.ended"])
            harness.world.silence.withLock { $0 = .zero }
            try await harness.set(scene.feed.organisation, .suspended)
            try await harness.drain(scene.worker)
            #expect(scene.receiver.attempts.count == 1)
            try await harness.set(scene.feed.organisation, .active)
            try await harness.drain(scene.worker)
            #expect(scene.receiver.numbers(scene.feed.request) == [1])
        }
    }

    @Test("410 ends an endpoint at once; its owner is told by mail")
    func gone() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(1, harness)
            scene.receiver.play([], usual: .refuse(410))
            try await harness.drain(scene.worker)
            #expect(scene.receiver.attempts.count == 1)
            #expect(try await harness.endpoint(scene.endpoint.id).state == .gone)
            #expect(try await scene.worker.turn(.items) == .stopped)
            #expect(try await harness.mails() == [.endpointGone])
        }
    }

    @Test(
        "after 72 h of failures a message is a dead letter, the endpoint is paused and its owner told; verified again it goes on, and the letter can be sent again"
    )
    func burial() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(2, harness)
            scene.receiver.play([], usual: .silent)
            var turns = 0
            while try await harness.endpoint(scene.endpoint.id).state == .active, turns < 5000 {
                turns += 1
                if case .rest(let pause) = try await scene.worker.turn(.items) { harness.world.clock.advance(pause) }
            }
            #expect(try await harness.endpoint(scene.endpoint.id).state == .paused)
            #expect(try await harness.mails() == [.endpointPaused])
            let dead = try await harness.store.read { db in try harness.queue.dead(db, of: scene.endpoint.id, after: 0, limit: 10) }
            let letter = try #require(dead.first)
            #expect(dead.count == 1 && letter.content == .items([.init(feed: scene.feed.number, after: 0, through: 2)]))
            let attempts = scene.receiver.attempts.count
            try await scene.add(1, harness)
            try await harness.drain(scene.worker)
            #expect(scene.receiver.attempts.count == attempts, "a paused endpoint gets nothing")
            scene.receiver.play([])
            try await harness.store.write { db in
                guard var endpoint = try harness.endpoints.find(db, scene.endpoint.id) else { return }
                endpoint.state = .active
                try harness.endpoints.save(db, endpoint)
                try harness.endpoints.join(db, endpoint.id, of: endpoint.organisation)
                try harness.queue.wake(db, endpoint.id, at: harness.world.clock.now)
            }
            try await harness.drain(scene.worker)
            #expect(scene.receiver.numbers(scene.feed.request) == [3])
            let now = harness.world.clock.now
            let isThere = try await harness.store.write { db in try harness.queue.resend(db, letter.id, of: scene.endpoint.id, at: now) }
            #expect(isThere)
            try await harness.drain(scene.worker)
            #expect(scene.receiver.numbers(scene.feed.request) == [3, 1, 2])
            #expect(scene.receiver.taken.last?.id == letter.id.description)
        }
    }

    @Test("a message that waited longer than its items are kept does not claim to carry them")
    func releasedMeanwhile() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(5, harness)
            scene.receiver.play([.refuse(503)])
            try await harness.drain(scene.worker)
            harness.world.clock.advance(.seconds(7 * 86_400 + 60))
            try await harness.upkeep.turn()
            try await harness.drain(scene.worker)
            let batch = scene.receiver.taken.first?.message.data.batches?.first
            #expect(batch?.after == 5 && batch?.through == 5 && batch?.head == 5 && batch?.items.isEmpty == true)
        }
    }

    @Test("an endpoint that hears nothing for five minutes gets the heads, so that it knows that it has missed nothing")
    func heartbeat() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(2, harness)
            try await harness.drain(scene.worker)
            harness.world.clock.advance(.seconds(299))
            try await harness.drain(scene.worker)
            #expect(scene.receiver.taken.count == 1)
            harness.world.clock.advance(.seconds(1))
            try await harness.drain(scene.worker)
            let beat = scene.receiver.taken.last?.message
            #expect(scene.receiver.taken.count == 2 && beat?.type == "subscription.heartbeat")
            #expect(beat?.data.batches?.first?.head == 2 && beat?.data.batches?.first?.items.isEmpty == true)
        }
    }

    @Test("a backlog goes out in bounded messages, and no subscription waits behind a longer one for more than one message")
    func backlog() async throws {
        try await Scene.play { harness, scene in
            let sister = try await harness.subscribe(scene.feed.organisation)
            try await scene.add(2500, harness)
            try await harness.upload(sister, [(harness.world.clock.now.milliseconds, 61)])
            harness.world.clock.advance(.seconds(1))
            try await harness.readAll()
            try await harness.drain(scene.worker)
            #expect(scene.receiver.numbers(scene.feed.request) == Array(1...2500))
            #expect(scene.receiver.taken.allSatisfy { ($0.message.data.batches ?? []).reduce(0) { $0 + $1.items.count } <= 1000 })
            let place = scene.receiver.taken.firstIndex { $0.message.data.batches?.contains { $0.subscription == sister.request } ?? false }
            #expect(place ?? .max <= 1)
        }
    }

    @Test("ORG-16: when an organisation deletes its profile nothing more is delivered, and its endpoints and what waits for them are gone")
    func closing() async throws {
        try await Scene.play { harness, scene in
            try await scene.add(2, harness)
            scene.receiver.play([.refuse(500)])
            try await harness.drain(scene.worker)
            try await harness.store.write { db in try harness.repository.closed(db, scene.feed.organisation) }
            #expect(try await scene.worker.turn(.items) == .stopped)
            #expect(try await scene.worker.turn(.notices) == .stopped)
            await #expect(throws: FeedRefusal.over(nil)) { try await harness.items(scene.feed) }
            let left = try await harness.store.read { db in
                try ["endpoints", "endpoint_feeds", "webhook_messages"].map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") }
            }
            #expect(left == [0, 0, 0])
        }
    }
}
