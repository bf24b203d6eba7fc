// The promises of streams, held by each implementation of them on real connections.

@testable import Contracts
import Synchronization
import TestKit
import Testing

@testable import Bus

@Suite("What streams promise", .serialized, .timeLimit(.minutes(3)))
struct StreamPromiseTests {
    private let stream = Stage.family.streams[0]

    @Test("News is heard in order, whether it was live or had to be replayed", arguments: StreamUnderTest.everyConnection)
    func order(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook) = (Log(), Notebook())
            let publisher = try await peers.publishing(log)
            let consumer = try await peers.consuming()
            let task = consumer.start(in: notebook)
            try await eventually("a place in each stream", isTrue: { notebook.positions.count == 3 })
            for round in 0..<50 {
                for stream in Stage.family.streams { publisher.publish(log.append(stream, count: 1 + round % 3)) }
            }
            try await eventually("all heard", isTrue: { notebook.count == Int(log.heads.values.reduce(0, +)) })
            for stream in Stage.family.streams { #expect(notebook.applied(stream) == Array(1...log.heads[stream, default: 0])) }
            await end(task, consumer.stop, publisher.stop)
        }
    }

    @Test("A late joiner starts at the head and stores it", arguments: StreamUnderTest.everyConnection)
    func lateJoiner(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook) = (Log(), Notebook())
            _ = log.append(stream, count: 7)
            let publisher = try await peers.publishing(log)
            let consumer = try await peers.consuming()
            let task = consumer.start(in: notebook)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            #expect(notebook.positions.contains(StreamPosition(stream: stream, epoch: "e1", next: 8)))
            publisher.publish(log.append(stream, count: 2))
            try await eventually("two heard", isTrue: { notebook.count == 2 })
            #expect(notebook.applied(stream) == [8, 9])
            #expect(log.replays.withLock { $0 } == 0)
            await end(task, consumer.stop, publisher.stop)
        }
    }

    @Test(
        "A consumer that is stopped and started again and again misses and repeats nothing over 100,000 messages",
        arguments: StreamUnderTest.everyConnection)
    func restarts(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook) = (Log(), Notebook())
            let publisher = try await peers.publishing(log)
            let total = 100_000
            var consumer = try await peers.consuming()
            var task = consumer.start(in: notebook)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            let talking = Task {
                for _ in 0..<(total / 100) {
                    publisher.publish(log.append(stream, count: 100))
                    // Lets the consumer's restarts fall between facts.
                    try await Task.sleep(for: .milliseconds(1))
                }
            }
            for part in 1...5 {
                try await eventually("a part heard", within: .seconds(60), isTrue: { notebook.count >= part * total / 6 })
                await end(task, consumer.stop)
                consumer = try await peers.consuming()
                task = consumer.start(in: notebook)
            }
            try await talking.value
            try await eventually("all heard", within: .seconds(90), isTrue: { notebook.count >= total })
            let isWhole = notebook.applied(stream) == Array(1...Int64(total))
            #expect(isWhole)
            await end(task, consumer.stop, publisher.stop)
        }
    }

    @Test("A slow consumer loses frames, holds up nobody, and is complete in the end by replay", arguments: StreamUnderTest.each)
    func slowConsumer(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, slow, fast) = (Log(), Notebook(), Notebook())
            let publisher = try await peers.publishing(log)
            let consumers = (try await peers.consuming(), try await peers.consuming())
            let tasks = (consumers.0.start(in: slow), consumers.1.start(in: fast))
            try await eventually("places", isTrue: { slow.positions.count == 3 && fast.positions.count == 3 })
            slow.slowDown(.milliseconds(300))
            let total = streams.mostWaiting * 2
            for _ in 0..<(total / 500) {
                publisher.publish(log.append(stream, count: 500))
                // A pace that the fast consumer keeps and the slow one does not.
                try await Task.sleep(for: .milliseconds(2))
            }
            try await eventually("the fast one has heard all", within: .seconds(60), isTrue: { fast.count == total })
            #expect(slow.count < total)
            slow.slowDown(.zero)
            try await eventually("the slow one has heard all", within: .seconds(60), isTrue: { slow.count >= total })
            let isWhole = slow.applied(stream) == Array(1...Int64(total))
            #expect(isWhole)
            #expect(log.replays.withLock { $0 } > 0)
            await end(tasks.0, consumers.0.stop, consumers.1.stop, publisher.stop)
            tasks.1.cancel()
        }
    }

    @Test("A publisher that restarts with its store is heard on without a gap", arguments: StreamUnderTest.everyConnection)
    func publisherRestart(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook) = (Log(), Notebook())
            var publisher = try await peers.publishing(log)
            let consumer = try await peers.consuming()
            let task = consumer.start(in: notebook)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            for round in 1...3 {
                publisher.publish(log.append(stream, count: 10))
                await publisher.stop()
                // Committed, but the process ended before it was said.
                _ = log.append(stream, count: 5)
                publisher = try await peers.publishing(log)
                publisher.publish(log.append(stream))
                try await eventually("all heard", isTrue: { notebook.count == round * 16 })
            }
            #expect(notebook.applied(stream) == Array(1...48))
            await end(task, consumer.stop, publisher.stop)
        }
    }

    @Test("After an epoch change the new epoch is heard from its first fact", arguments: StreamUnderTest.each)
    func epochChange(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (old, new, notebook) = (Log(epoch: "e1"), Log(epoch: "e2"), Notebook())
            let first = try await peers.publishing(old)
            let consumer = try await peers.consuming()
            let task = consumer.start(in: notebook)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            first.publish(old.append(stream, count: 5))
            try await eventually("five heard", isTrue: { notebook.count == 5 })
            await first.stop()
            _ = new.append(stream, count: 3)
            let second = try await peers.publishing(new)
            try await eventually("the new ones heard", isTrue: { notebook.count == 8 })
            #expect(notebook.applied(stream) == [1, 2, 3, 4, 5, 1, 2, 3])
            #expect(notebook.positions.allSatisfy { $0.epoch == "e2" })
            await end(task, consumer.stop, second.stop)
        }
    }

    @Test(
        "A newcomer to a state family gets the snapshot page by page, then the news; an epoch change starts that over",
        arguments: StreamUnderTest.each)
    func snapshots(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, new, notebook) = (Log(epoch: "e1", Stage.state), Log(epoch: "e2", Stage.state), Notebook())
            _ = log.append("t.state", count: 5)
            let publisher = try await peers.publishing(log, Stage.state)
            let consumer = try await peers.consuming(Stage.state)
            let task = consumer.start(in: notebook)
            try await eventually("a snapshot", isTrue: { notebook.snapshots == [[1, 2, 3, 4, 5]] })
            #expect(notebook.pagesOfSnapshots == [3])
            publisher.publish(log.append("t.state", count: 2))
            try await eventually("two more", isTrue: { notebook.applied("t.state") == [6, 7] })
            await publisher.stop()
            _ = new.append("t.state", count: 1)
            let second = try await peers.publishing(new, Stage.state)
            try await eventually("the new epoch's snapshot", isTrue: { notebook.snapshots.last == [1] })
            await end(task, consumer.stop, second.stop)
        }
    }

    @Test("A consumer says how far it is", arguments: StreamUnderTest.each)
    func confirmation(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook) = (Log(), Notebook())
            let publisher = try await peers.publishing(log)
            let consumer = try await peers.consuming()
            let task = consumer.start(in: notebook)
            try await eventually("positions at the publisher", isTrue: { log.confirmed.withLock { $0.count } == 3 })
            await end(task, consumer.stop, publisher.stop)
        }
    }

    @Test(
        "The publisher knows which streams anybody listens to, and who does not render tells the head all the same",
        arguments: StreamUnderTest.each)
    func listeners(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook) = (Log(), Notebook())
            let publisher = try await peers.publishing(log)
            #expect(!publisher.hasListeners(stream))
            let consumer = try await peers.consuming()
            let task = consumer.start(in: notebook)
            try await eventually("listeners", isTrue: { Stage.family.streams.allSatisfy { publisher.hasListeners($0) } })
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            _ = log.append(stream, count: 3)
            publisher.advance(stream, 3)
            try await eventually("replayed", isTrue: { notebook.applied(stream) == [1, 2, 3] })
            await end(task, consumer.stop)
            try await eventually("no listeners", isTrue: { !publisher.hasListeners(stream) })
            await publisher.stop()
        }
    }

    @Test(
        "What has no place in a stream is heard on arrival by whom it concerns, and moves nobody's place or the head",
        arguments: StreamUnderTest.each)
    func provisional(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook, other) = (Log(), Notebook(), Notebook())
            let publisher = try await peers.publishing(log)
            let consumer = try await peers.consuming()
            let early = Mutex<[StreamEvent]>([])
            let task = consumer.start(in: notebook, provisional: { event in early.withLock { $0.append(event) } })
            let unconcerned = try await peers.consuming()
            let unconcernedTask = unconcerned.start(in: other)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 && other.positions.count == 3 })
            let header = StreamHeader(
                stream: stream, epoch: "nobody's", sequence: 7, head: 9, type: "early.v1", subject: "", at: busTime(), trace: "")
            publisher.publishProvisionally(StreamEvent(header: header, payload: Array("{}".utf8)))
            publisher.publish(log.append(stream, count: 2))
            for book in [notebook, other] { try await eventually("the facts", isTrue: { book.applied(stream) == [1, 2] }) }
            #expect(early.withLock { $0.map(\.header.sequence) } == [0])
            #expect(early.withLock { $0.map(\.header.type) } == ["early.v1"])
            #expect(notebook.positions.first { $0.stream == stream }?.next == 3)
            await end(unconcernedTask, unconcerned.stop)
            await end(task, consumer.stop)
            await publisher.stop()
        }
    }

    @Test("What a consumer's store refuses ends its run; run again from the store it goes on where it was", arguments: StreamUnderTest.each)
    func failingStore(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook) = (Log(), Notebook())
            let publisher = try await peers.publishing(log)
            let consumer = try await peers.consuming()
            let isBroken = Mutex(false)
            let refuses: ConsumerUnderTest.Apply = { events, _ in
                if !events.isEmpty, isBroken.withLock({ $0 }) { throw Notebook.Mismatch() }
            }
            let first = consumer.start(in: notebook, before: refuses)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            isBroken.withLock { $0 = true }
            publisher.publish(log.append(stream, count: 4))
            await #expect(throws: Notebook.Mismatch.self) { try await first.value }
            isBroken.withLock { $0 = false }
            let second = consumer.start(in: notebook, before: refuses)
            try await eventually("all heard", isTrue: { notebook.applied(stream) == [1, 2, 3, 4] })
            await consumer.stop()
            try await second.value
            await publisher.stop()
        }
    }

    @Test(
        "What waited to be read is as old as its arrival: a consumer that was held up does not take a dead publisher for fresh",
        arguments: StreamUnderTest.each)
    func staleFrames(streams: StreamUnderTest) async throws {
        try await streams.between { peers in
            let (log, notebook, freshness) = (Log(), Notebook(), StreamFreshness())
            let publisher = try await peers.publishing(log)
            let consumer = try await peers.consuming(freshness: freshness)
            let isHeld = Mutex(true)
            let running = consumer.start(
                in: notebook,
                before: { events, _ in
                    if !events.isEmpty { try await eventually("it may go on") { !isHeld.withLock { $0 } } }
                })
            try await eventually("fresh") { freshness.age != nil }
            publisher.publish(log.append(stream))
            try await eventually("heartbeats wait behind a slow effect") { consumer.waiting() >= 3 }
            await publisher.stop()
            let silentSince = ContinuousClock.now
            isHeld.withLock { $0 = false }
            try await eventually("all is read") { notebook.applied(stream) == [1] && consumer.waiting() == 0 }
            for _ in 0..<20 {
                let silence = ContinuousClock.now - silentSince
                #expect(try #require(freshness.age) >= silence)
                await Task.yield()
            }
            await end(running, consumer.stop)
        }
    }

    private func end(_ task: Task<Void, any Error>, _ stops: (@Sendable () async -> Void)...) async {
        task.cancel()
        _ = await task.result
        for stop in stops { await stop() }
    }
}
