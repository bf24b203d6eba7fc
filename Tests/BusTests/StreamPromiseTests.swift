// The promises of streams, over real sockets of both kinds with CURVE.

@testable import Contracts
import Synchronization
import TestKit
import Testing

@testable import Bus

@Suite("What streams promise", .serialized, .timeLimit(.minutes(3)))
struct StreamPromiseTests {
    private let stream = Stage.family.streams[0]

    @Test("News is heard in order, whether it was live or had to be replayed", arguments: Transport.allCases)
    func order(transport: Transport) async throws {
        try await Stage.with(transport) { stage in
            let (log, notebook) = (Log(), Notebook())
            let (node, publisher) = try await open(stage, log)
            let reader = try stage.reading()
            let task = try await stage.consume(reader, into: notebook)
            try await eventually("a place in each stream", isTrue: { notebook.positions.count == 3 })
            for round in 0..<50 {
                for stream in Stage.family.streams { publisher.publish(log.append(stream, count: 1 + round % 3)) }
            }
            try await eventually("all heard", isTrue: { notebook.count == Int(log.heads.values.reduce(0, +)) })
            for stream in Stage.family.streams { #expect(notebook.applied(stream) == Array(1...log.heads[stream, default: 0])) }
            await end(task, reader, node)
        }
    }

    @Test("A late joiner starts at the head and stores it", arguments: Transport.allCases)
    func lateJoiner(transport: Transport) async throws {
        try await Stage.with(transport) { stage in
            let (log, notebook) = (Log(), Notebook())
            _ = log.append(stream, count: 7)
            let (node, publisher) = try await open(stage, log)
            let reader = try stage.reading()
            let task = try await stage.consume(reader, into: notebook)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            #expect(notebook.positions.contains(StreamPosition(stream: stream, epoch: "e1", next: 8)))
            publisher.publish(log.append(stream, count: 2))
            try await eventually("two heard", isTrue: { notebook.count == 2 })
            #expect(notebook.applied(stream) == [8, 9])
            #expect(log.replays.withLock { $0 } == 0)
            await end(task, reader, node)
        }
    }

    @Test(
        "A consumer that is stopped and started again and again misses and repeats nothing over 100,000 messages",
        arguments: Transport.allCases)
    func restarts(transport: Transport) async throws {
        try await Stage.with(transport) { stage in
            let (log, notebook) = (Log(), Notebook())
            let (node, publisher) = try await open(stage, log)
            let total = 100_000
            var reader = try stage.reading()
            var task = try await stage.consume(reader, into: notebook)
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
                await end(task, reader)
                reader = try stage.reading()
                task = try await stage.consume(reader, into: notebook)
            }
            try await talking.value
            try await eventually("all heard", within: .seconds(90), isTrue: { notebook.count >= total })
            let isWhole = notebook.applied(stream) == Array(1...Int64(total))
            #expect(isWhole)
            await end(task, reader, node)
        }
    }

    @Test("A slow consumer loses frames, holds up nobody, and is complete in the end by replay")
    func slowConsumer() async throws {
        try await Stage.with(.ipc) { stage in
            let (log, slow, fast) = (Log(), Notebook(), Notebook())
            let (node, publisher) = try await open(stage, log)
            let readers = (try stage.reading(), try stage.reading())
            let tasks = (try await stage.consume(readers.0, into: slow), try await stage.consume(readers.1, into: fast))
            try await eventually("places", isTrue: { slow.positions.count == 3 && fast.positions.count == 3 })
            slow.slowDown(.milliseconds(300))
            let total = BusLimits.framesWaitingToBeRead * 2
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
            await end(tasks.0, readers.0, readers.1, node)
            tasks.1.cancel()
        }
    }

    @Test("A publisher that restarts with its store is heard on without a gap", arguments: Transport.allCases)
    func publisherRestart(transport: Transport) async throws {
        try await Stage.with(transport) { stage in
            let (log, notebook) = (Log(), Notebook())
            var (node, publisher) = try await open(stage, log)
            let reader = try stage.reading()
            let task = try await stage.consume(reader, into: notebook)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            for round in 1...3 {
                publisher.publish(log.append(stream, count: 10))
                await node.shutdown()
                // Committed, but the process ended before it was said.
                _ = log.append(stream, count: 5)
                (node, publisher) = try await open(stage, log)
                publisher.publish(log.append(stream))
                try await eventually("all heard", isTrue: { notebook.count == round * 16 })
            }
            #expect(notebook.applied(stream) == Array(1...48))
            await end(task, reader, node)
        }
    }

    @Test("After an epoch change the new epoch is heard from its first fact")
    func epochChange() async throws {
        try await Stage.with(.ipc) { stage in
            let (old, new, notebook) = (Log(epoch: "e1"), Log(epoch: "e2"), Notebook())
            let (first, publisher) = try await open(stage, old)
            let reader = try stage.reading()
            let task = try await stage.consume(reader, into: notebook)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            publisher.publish(old.append(stream, count: 5))
            try await eventually("five heard", isTrue: { notebook.count == 5 })
            await first.shutdown()
            _ = new.append(stream, count: 3)
            let (second, _) = try await open(stage, new)
            try await eventually("the new ones heard", isTrue: { notebook.count == 8 })
            #expect(notebook.applied(stream) == [1, 2, 3, 4, 5, 1, 2, 3])
            #expect(notebook.positions.allSatisfy { $0.epoch == "e2" })
            await end(task, reader, second)
        }
    }

    @Test("A newcomer to a state family gets the snapshot page by page, then the news; an epoch change starts that over")
    func snapshots() async throws {
        try await Stage.with(.ipc) { stage in
            let (log, new, notebook) = (Log(epoch: "e1", Stage.state), Log(epoch: "e2", Stage.state), Notebook())
            _ = log.append("t.state", count: 5)
            let (node, publisher) = try await open(stage, log, Stage.state)
            let reader = try stage.reading()
            let task = try await stage.consume(reader, into: notebook, family: Stage.state)
            try await eventually("a snapshot", isTrue: { notebook.snapshots == [[1, 2, 3, 4, 5]] })
            publisher.publish(log.append("t.state", count: 2))
            try await eventually("two more", isTrue: { notebook.applied("t.state") == [6, 7] })
            await node.shutdown()
            _ = new.append("t.state", count: 1)
            let (second, _) = try await open(stage, new, Stage.state)
            try await eventually("the new epoch's snapshot", isTrue: { notebook.snapshots.last == [1] })
            await end(task, reader, second)
        }
    }

    @Test("A consumer says how far it is")
    func confirmation() async throws {
        try await Stage.with(.ipc) { stage in
            let (log, notebook) = (Log(), Notebook())
            let (node, _) = try await open(stage, log)
            let reader = try stage.reading()
            let task = try await stage.consume(reader, into: notebook)
            try await eventually("positions at the publisher", isTrue: { log.confirmed.withLock { $0.count } == 3 })
            await end(task, reader, node)
        }
    }

    @Test("The publisher knows which streams anybody listens to, and who does not render tells the head all the same")
    func listeners() async throws {
        try await Stage.with(.ipc) { stage in
            let (log, notebook) = (Log(), Notebook())
            let (node, publisher) = try await open(stage, log)
            #expect(!publisher.hasListeners(stream))
            let reader = try stage.reading()
            let task = try await stage.consume(reader, into: notebook)
            try await eventually("listeners", isTrue: { Stage.family.streams.allSatisfy(publisher.hasListeners) })
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            _ = log.append(stream, count: 3)
            publisher.advance(stream, to: 3)
            try await eventually("replayed", isTrue: { notebook.applied(stream) == [1, 2, 3] })
            await end(task, reader)
            try await eventually("no listeners", isTrue: { !publisher.hasListeners(stream) })
            await node.shutdown()
        }
    }

    @Test("What has no place in a stream is heard on arrival by whom it concerns, and moves nobody's place or the head")
    func provisional() async throws {
        try await Stage.with(.ipc) { stage in
            let (log, notebook, other) = (Log(), Notebook(), Notebook())
            let (node, publisher) = try await open(stage, log)
            let reader = try stage.reading()
            let early = Mutex<[StreamEvent]>([])
            let task = try await stage.consume(reader, into: notebook) { event in early.withLock { $0.append(event) } }
            let unconcerned = try await stage.consume(reader, into: other)
            try await eventually("a place", isTrue: { notebook.positions.count == 3 && other.positions.count == 3 })
            let header = StreamHeader(
                stream: stream, epoch: "nobody's", sequence: 7, head: 9, type: "early.v1", subject: "", at: busTime(), trace: "")
            publisher.publishProvisionally(StreamEvent(header: header, payload: Array("{}".utf8)))
            publisher.publish(log.append(stream, count: 2))
            for book in [notebook, other] { try await eventually("the facts", isTrue: { book.applied(stream) == [1, 2] }) }
            #expect(early.withLock { $0.map(\.header.sequence) } == [0])
            #expect(early.withLock { $0.map(\.header.type) } == ["early.v1"])
            #expect(notebook.positions.first { $0.stream == stream }?.next == 3)
            unconcerned.cancel()
            _ = await unconcerned.result
            await end(task, reader)
            await node.shutdown()
        }
    }

    @Test("What a consumer's store refuses ends its run; run again from the store it goes on where it was")
    func failingStore() async throws {
        try await Stage.with(.ipc) { stage in
            let (log, notebook) = (Log(), Notebook())
            let (node, publisher) = try await open(stage, log)
            let reader = try stage.reading()
            let inbox = try await reader.inbox(of: Stage.family, at: stage.news, serverKey: stage.server.publicKey)
            let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
            let consumer = StreamConsumer(family: Stage.family, inbox: inbox, publisher: client, logger: quiet)
            let isBroken = Mutex(false)
            let run: @Sendable () async throws -> Void = {
                try await consumer.run(
                    from: notebook.positions,
                    apply: { events, next in
                        if !events.isEmpty, isBroken.withLock({ $0 }) { throw Notebook.Mismatch() }
                        try await notebook.apply(events, next)
                    }, restart: { notebook.restart($0, $1) })
            }
            let first = Task { try await run() }
            try await eventually("a place", isTrue: { notebook.positions.count == 3 })
            isBroken.withLock { $0 = true }
            publisher.publish(log.append(stream, count: 4))
            await #expect(throws: Notebook.Mismatch.self) { try await first.value }
            isBroken.withLock { $0 = false }
            let second = Task { try await run() }
            try await eventually("all heard", isTrue: { notebook.applied(stream) == [1, 2, 3, 4] })
            await reader.shutdown()
            try await second.value
            await node.shutdown()
        }
    }

    @Test("What waited to be read is as old as its arrival: a consumer that was held up does not take a dead publisher for fresh")
    func staleFrames() async throws {
        try await Stage.with(.ipc) { stage in
            let (log, notebook, freshness) = (Log(), Notebook(), StreamFreshness())
            let (node, publisher) = try await open(stage, log)
            let reader = try stage.reading()
            let inbox = try await reader.inbox(of: Stage.family, at: stage.news, serverKey: stage.server.publicKey)
            let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
            let consumer = StreamConsumer(family: Stage.family, inbox: inbox, publisher: client, logger: quiet, freshness: freshness)
            let isHeld = Mutex(true)
            let running = Task {
                try await consumer.run(
                    from: [],
                    apply: { events, next in
                        if !events.isEmpty { try await eventually("it may go on") { !isHeld.withLock { $0 } } }
                        try await notebook.apply(events, next)
                    }, restart: { notebook.restart($0, $1) })
            }
            try await eventually("fresh") { freshness.age != nil }
            publisher.publish(log.append(stream))
            try await eventually("heartbeats wait behind a slow effect") { inbox.depth >= 3 }
            await node.shutdown()
            let silentSince = ContinuousClock.now
            isHeld.withLock { $0 = false }
            try await eventually("all is read") { notebook.applied(stream) == [1] && inbox.depth == 0 }
            for _ in 0..<20 {
                let silence = ContinuousClock.now - silentSince
                #expect(try #require(freshness.age) >= silence)
                await Task.yield()
            }
            await end(running, reader)
        }
    }

    private func open(_ stage: Stage, _ log: Log, _ family: StreamFamily = Stage.family) async throws -> (BusNode, Publisher) {
        let node = try stage.publishing()
        var methods = Methods()
        log.answer(&methods)
        try await node.answer(at: stage.requests, methods)
        return (node, try await node.publisher(of: family, at: stage.news, epoch: log.epoch, heads: log.heads))
    }

    private func end(_ task: Task<Void, any Error>, _ nodes: BusNode...) async {
        task.cancel()
        _ = await task.result
        for node in nodes { await node.shutdown() }
    }
}
