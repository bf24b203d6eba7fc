// What is freshest goes first: neither a backlog nor a pause stands before a reading of now.

import Foundation
import TestKit
import Testing

@testable import Operator

@Suite("Freshest first")
struct FreshestFirstTests {
    private struct Try: Sendable {
        var numbers: [Int]
        var bytes: Int
    }

    /// An ingest whose disk is full until it is told otherwise.
    private actor Ingest {
        private struct Body: Decodable {
            struct Entry: Decodable {
                var number: Int
            }

            var entries: [Entry]
        }

        private(set) var tries: [Try] = []
        private(set) var stored: [Int] = []
        private var isFull = true

        func makeRoom() { isFull = false }

        func take(_ body: [UInt8]) -> UploadReply {
            let numbers = (try? JSONDecoder().decode(Body.self, from: Data(body)))?.entries.map(\.number) ?? []
            tries.append(Try(numbers: numbers, bytes: body.count))
            guard !isFull else { return UploadReply(outcome: .answered(status: 507, retryAfter: .seconds(60)), body: []) }
            stored += numbers
            return UploadReply(
                outcome: .answered(status: 200, retryAfter: nil),
                body: Array(#"{"accepted":\#(numbers.count),"duplicates":[],"rejected":[]}"#.utf8))
        }
    }

    private static func entry(_ number: Int) -> [UInt8] { Array("{\"number\":\(number)}".utf8) }

    private static func sender(_ queue: OutboxQueue, _ ingest: Ingest) -> QueueSender {
        QueueSender(
            partition: "a", token: "t", queue: queue, transport: UploadTransport { body, _, _ in await ingest.take(body) }
        ) { _ in }
    }

    @Test(
        "no fresh reading reached an ingest with a full disk once more than 500 waited: it goes first, and nothing is lost")
    func fullDisk() async throws {
        try await withTemporaryFolder { folder in
            let backlog = 1200
            let queue = try OutboxQueue.open(folder, durability: .written)
            try queue.append((0..<backlog).map(Self.entry), to: "a")
            let ingest = Ingest()
            let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            let sender = Self.sender(queue, ingest)
            let sending = Task { try await sender.run(wakes) }
            defer { sending.cancel() }
            let first = try await eventually("a try") { await ingest.tries.first }
            #expect(first.numbers == Array(backlog - 500..<backlog), "the newest, in their order")

            // While all that is old waits for the minute that was asked for.
            for number in backlog...backlog + 1 {
                try queue.append([Self.entry(number)], to: "a")
                wake.yield()
                let fresh = try await eventually("the fresh reading is tried") {
                    await ingest.tries.first { $0.numbers.last == number }
                }
                #expect(fresh.bytes <= UploadTransport.smallBytes)
            }
            #expect(queue.waiting == backlog + 2)

            sending.cancel()
            try? await sending.value
            await ingest.makeRoom()
            let (noWakes, none) = AsyncStream<Void>.makeStream()
            none.finish()
            try await Self.sender(queue, ingest).run(noWakes)

            let stored = await ingest.stored
            #expect(stored.prefix(500) == Array(backlog + 2 - 500..<backlog + 2)[...])
            #expect(Array(stored.dropFirst(500)) == Array(0..<backlog + 2 - 500), "what is older follows in order, each once")
            #expect(queue.waiting == 0)
        }
    }

    // MARK: By the clock

    /// A device that measures from 0 on, without a network until `back`; its 60th second's reading is critical.
    /// - Parameter last: when it measures for the last time.
    /// - Returns: how long after the return of the network that reading is delivered, and how many tries failed.
    private static func deliver(back: Duration, last: Duration, seed: UInt64) throws -> (delay: Duration, failures: Int) {
        var random = SeededRandom(seed: seed)
        var (state, pacing) = (OutboxState(), UploadPacing())
        let policy = RetryPolicy()
        let critical: UInt64 = 61
        var failures = 0
        for milliseconds in stride(from: 0, to: 120_000, by: 10) {
            let now = Duration.milliseconds(milliseconds)
            if milliseconds % 1000 == 0, now <= last { state.append(Self.entry(milliseconds), to: "a") }
            while state.waiting > 0 {
                let end = state.end(of: "a")
                let step = pacing.step(end: end, at: now)
                let next =
                    switch step {
                    case .newest: state.newest(of: "a", count: 500, bytes: QueueSender.batchBytes)
                    case .urgent: state.newest(of: "a", count: 500, bytes: QueueSender.urgentBytes)
                    case .oldest: state.oldest(of: "a", count: 500, bytes: QueueSender.batchBytes)
                    case .wait: OutboxBatch?.none
                    }
                guard let batch = next else { break }
                pacing.began(step, end: end, at: now)
                if now < back {
                    failures += 1
                    guard case .again(let pause) = policy.verdict(on: .unreachable, attempt: pacing.attempt, jitter: random.unit()) else {
                        Issue.record("a device that has no network gives up")
                        break
                    }
                    pacing.failed(step, pause: pause, isAsked: false, at: now)
                } else {
                    state.done("a", batch.places)
                    pacing.succeeded(step, through: batch.last)
                    if batch.places.contains(critical) { return (now - back, failures) }
                }
            }
        }
        throw NeverDelivered()
    }

    private struct NeverDelivered: Error {}

    @Test(
        "a critical reading was delivered 11 s after the network was back from an outage of 70 s: it takes no longer than a second",
        arguments: 0..<100 as Range<UInt64>)
    func outage(seed: UInt64) throws {
        let back = Duration.milliseconds(70_000 + Int64(seed) * 10)

        let measuring = try Self.deliver(back: back, last: .seconds(120), seed: seed)

        #expect(measuring.delay <= .seconds(1))
        #expect(measuring.failures < 71 * 2, "it does not try without a pause either")
        let silent = try Self.deliver(back: back, last: .seconds(60), seed: seed)
        #expect(silent.delay <= .seconds(4), "where nothing is measured any more")
    }

    @Test("what a busy server puts off by Retry-After waits so long, though fresh readings are tried, and taken, each second meanwhile")
    func retryAfter() {
        var pacing = UploadPacing()
        #expect(pacing.step(end: 1001, at: .zero) == .newest)
        pacing.began(.newest, end: 1001, at: .zero)
        pacing.failed(.newest, pause: .seconds(60), isAsked: true, at: .zero)
        #expect(pacing.step(end: 1001, at: .seconds(2)) == .wait(.seconds(58)))
        for second in Int64(1)..<60 {
            let (now, end) = (Duration.seconds(second), UInt64(1001 + second))
            #expect(pacing.step(end: end, at: now) == .urgent)
            pacing.began(.urgent, end: end, at: now)
            if second % 2 == 0 {
                pacing.succeeded(.urgent, through: end - 1)
            } else {
                pacing.failed(.urgent, pause: .seconds(300), isAsked: true, at: now)
            }
            #expect(pacing.step(end: end + 1, at: now + .milliseconds(400)) == .wait(.milliseconds(600)))
        }
        #expect(pacing.step(end: 1060, at: .seconds(60)) == .newest)
        #expect(pacing.attempt == 1, "the server has answered since")
    }

    @Test("readings that come faster than they are taken keep neither each other nor the backlog waiting")
    func neverStarved() {
        var pacing = UploadPacing()
        var (newest, oldest) = (0, 0)
        for round in Int64(1)...100 {
            let (now, end) = (Duration.milliseconds(round), UInt64(1000 + round * 10))
            let step = pacing.step(end: end, at: now)
            pacing.began(step, end: end, at: now)
            pacing.succeeded(step, through: step == .newest ? end - 1 : UInt64(round))
            if step == .newest { newest += 1 }
            if step == .oldest { oldest += 1 }
        }
        #expect(newest == 50 && oldest == 50)
    }
}
