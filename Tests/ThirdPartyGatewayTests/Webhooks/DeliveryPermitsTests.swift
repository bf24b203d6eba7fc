// Receivers that hang take no place from those that answer: by the repository, and over real sockets.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Webhooks: places", .timeLimit(.minutes(2)))
struct CourierPlacesTests {
    private static let few = DeliveryPermits.Bounds(prompt: 4, slow: 3, promptOfOrganisation: 2, slowOfOrganisation: 1)

    private static func taken(
        _ permits: DeliveryPermits, _ organisation: OrganisationID, isSlow: Bool = false
    ) async throws -> DeliveryPermits.Permit {
        try #require(await permits.take(for: organisation, isSlow: isSlow))
    }

    @Test("an organisation has a few permits, whoever waits longest comes first, and one that has its share lets others pass")
    func shares() async throws {
        let permits = DeliveryPermits(Self.few)
        let (one, other) = (OrganisationID.random(), OrganisationID.random())
        let held = [try await Self.taken(permits, one), try await Self.taken(permits, one)]
        let waiting = Task { await permits.take(for: one, isSlow: false) }
        try await eventually("it waits", isTrue: { permits.waitingCount == 1 })
        #expect(try await Self.taken(permits, other).hasWaited == false, "others need not wait")
        #expect(try await Self.taken(permits, .random()).hasWaited == false)
        permits.giveBack(held[0])
        #expect(await waiting.value?.hasWaited == true)
        #expect(permits.counts == (4, 0))
    }

    @Test("an attempt that lasts goes over to the slow ones and frees its place; where those are full it is called off")
    func lasting() async throws {
        let permits = DeliveryPermits(Self.few)
        let begun = ContinuousClock.now
        let called = Mutex<[Int]>([])
        var held: [DeliveryPermits.Permit] = []
        for number in 0..<4 {
            let permit = try await Self.taken(permits, .random())
            permits.begin(permit, at: begun) { called.withLock { $0.append(number) } }
            held.append(permit)
        }
        permits.sweep(at: begun + .milliseconds(1900))
        #expect(permits.counts == (4, 0))
        permits.sweep(at: begun + .seconds(2))
        #expect(permits.counts == (4, 3) && called.withLock { $0.count } == 1, "three may be slow, the fourth is called off")
        permits.sweep(at: begun + .seconds(9))
        #expect(called.withLock { $0.count } == 1, "once")
        for _ in 0..<3 { #expect(try await Self.taken(permits, .random()).hasWaited == false) }
        let off = held.map { permits.giveBack($0) }
        #expect(off.filter { $0 }.count == 1)
        #expect(permits.giveBack(held[0]) == false, "a place is given back once")
        #expect(permits.counts == (3, 0))
    }

    @Test("whoever is cancelled while it waits leaves the queue, and takes no place")
    func cancelled() async throws {
        let permits = DeliveryPermits(Self.few)
        let organisation = OrganisationID.random()
        let held = try await Self.taken(permits, organisation, isSlow: true)
        let waiting = Task { await permits.take(for: organisation, isSlow: true) }
        try await eventually("it waits", isTrue: { permits.waitingCount == 1 })
        waiting.cancel()
        #expect(await waiting.value == nil)
        let late = Task { await permits.take(for: organisation, isSlow: true) }
        late.cancel()
        #expect(await late.value == nil)
        permits.giveBack(held)
        #expect(permits.counts == (0, 0) && permits.waitingCount == 0)
    }

    @Test("an endpoint is slow while its last attempt timed out or took two seconds, and prompt again after one that did not")
    func health() {
        var health = EndpointHealth()
        let now = Timestamp(milliseconds: 0)
        for (outcome, took, isSlow) in [
            (WebhookOutcome.failed("timeout"), Duration.zero, true), (.answered(status: 200, retryAfter: nil), .milliseconds(5), nil),
            (.answered(status: 200, retryAfter: nil), .seconds(2), true), (.failed("not-connected"), .milliseconds(3), nil),
            (.failed("not-connected"), .seconds(5), true),
        ] as [(WebhookOutcome, Duration, Bool?)] {
            health.note(outcome, at: now, took: took)
            #expect(health.isSlow == isSlow, "\(outcome) after \(took)")
        }
    }

    @Test("SHR-16: a message that is withdrawn while it waits for a place does not set out")
    func withdrawnWhileWaiting() async throws {
        try await FeedHarness.run { harness in
            let permits = DeliveryPermits(Self.few)
            let (feed, receiver) = (try await harness.subscribe(), PlayedReceiver())
            let endpoint = try await harness.addEndpoint(feed.organisation)
            try await harness.upload(feed, [(harness.world.clock.now.milliseconds, 60)])
            harness.world.clock.advance(.seconds(2))
            try await harness.readAll()
            let worker = harness.worker(endpoint, permits: permits, transport: receiver.transport)
            let held = [try await Self.taken(permits, feed.organisation), try await Self.taken(permits, feed.organisation)]
            let sending = Task { try await harness.drain(worker) }
            try await eventually("it waits", isTrue: { permits.waitingCount == 1 })
            try await harness.end(feed, .revoked)
            for permit in held { permits.giveBack(permit) }
            try await sending.value
            #expect(receiver.attempts.isEmpty && permits.counts == (0, 0))
        }
    }

    /// A receiver with a server of its own that takes messages, or lets them hang.
    private final class Receiver: Sendable {
        let server: HTTPServer

        init(hangs: Bool) {
            let (hanging, taken) = (Box<Int>(0), Box<[String]>([]))
            (inside, answered) = (hanging, taken)
            let route = Route(
                .post, "/receiver/v1/hook", access: .anyone, summary: "Takes messages",
                body: BodyShape([.init(MediaType.json, .anything)]), answers: [Answer(200, "Taken")]
            ) { exchange in
                _ = try await exchange.body()
                let id = exchange.header("webhook-id") ?? ""
                if hangs {
                    hanging.change { $0 += 1 }
                    defer { hanging.change { $0 -= 1 } }
                    // Sleeping is hanging: it ends when the other end has given up.
                    try await Task.sleep(for: .seconds(600))
                }
                taken.change { $0.append(id) }
                return .empty(status: 200)
            }
            server = HTTPServer(
                .init(title: "Receiver", version: "1.0.0", summary: "Under test.", prefix: "receiver"), routes: [route], port: 0,
                health: Health(missing: { [] }, metrics: { "" }), authenticate: { _, _ in throw Problem.unauthorised },
                logger: Running.quiet)
        }

        final class Box<Value: Sendable>: Sendable {
            private let value: Mutex<Value>
            init(_ value: Value) { self.value = Mutex(value) }
            func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }
            var now: Value { value.withLock { $0 } }
        }

        private let inside: Box<Int>
        private let answered: Box<[String]>
        var underWay: Int { inside.now }
        var messages: [String] { answered.now }

        var url: String {
            get async { "http://127.0.0.1:\(await server.boundPort)/receiver/v1/hook" }
        }
    }

    @Test("SHR-14: however many receivers hang on real connections, one that answers gets message after message meanwhile")
    func realSockets() async throws {
        try await FeedHarness.run { harness in
            let logger = Running.quiet
            let (hangs, answers) = (Receiver(hangs: true), Receiver(hangs: false))
            let serving = [hangs, answers].map { receiver in Task { try await receiver.server.run() } }
            let sender = WebhookSender(signingKey: try .random(), allowsPrivate: true, clock: { .now }, logger: logger)
            let permits = DeliveryPermits(Self.few)
            let urls = (await hangs.url, await answers.url)
            @Sendable func transport(_ post: WebhookPost) async -> WebhookOutcome { await sender.send(post) }
            var running = [
                Task {
                    while !Task.isCancelled {
                        // Sleeping is the rhythm of the look.
                        try? await Task.sleep(for: .milliseconds(50))
                        permits.sweep(at: .now)
                    }
                }
            ]
            // Ten organisations whose receivers hang: more than there are permits.
            var feeds: [Feed] = []
            for _ in 0..<10 {
                let feed = try await harness.subscribe()
                let endpoint = try await harness.addEndpoint(feed.organisation, url: urls.0)
                let worker = harness.worker(endpoint, permits: permits, transport: transport)
                feeds.append(feed)
                running.append(Task { await worker.run(.items) })
            }
            let healthy = try await harness.subscribe()
            let answering = try await harness.addEndpoint(healthy.organisation, url: urls.1)
            let worker = harness.worker(answering, permits: permits, transport: transport)
            running.append(Task { await worker.run(.items) })
            @Sendable func add(_ feeds: [Feed]) async throws {
                let now = harness.world.clock.now.milliseconds
                for feed in feeds { try await harness.upload(feed, [(now, 60)]) }
                harness.world.clock.advance(.seconds(1))
                try await harness.readAll()
            }
            try await add(feeds)
            try await eventually("as many hang as may", isTrue: { permits.counts.slow == Self.few.slow && hangs.underWay > 0 })
            for count in 1...10 {
                try await add([healthy])
                try await eventually("message \(count) is taken", isTrue: { Set(answers.messages).count == count })
                #expect(permits.counts.slow <= Self.few.slow && permits.counts.all <= Self.few.all)
            }
            #expect(hangs.messages.isEmpty)
            for task in running { task.cancel() }
            for task in running { await task.value }
            for task in serving { task.cancel() }
            for task in serving { _ = try? await task.value }
        }
    }
}
