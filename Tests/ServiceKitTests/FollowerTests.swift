// A follower beside the service that it follows, on real sockets: once, in order, through restarts and snapshots, and how old it is.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@Suite("Following another service", .timeLimit(.minutes(2)))
struct FollowerTests {
    private static let family = StreamFamily.grants
    private static let stream = StreamFamily.grants.streams[0]

    /// A publisher of numbers; its snapshot is all of them.
    private struct Speaker: Sendable {
        let runtime: Runtime
        let store: Store
        let facts: FactStream

        static let migrations = [
            Migration(1, "numbers") { db in
                try StreamLog.create(in: db)
                try Confirmations.create(in: db)
                try db.execute(sql: "CREATE TABLE numbers (number INTEGER PRIMARY KEY) STRICT")
            }
        ]

        init(in folder: URL, sealedUnder key: SymmetricKey? = nil) async throws {
            let runtime = try Runtime.test(.consent, in: folder)
            let store = try runtime.openStore(applicationID: 1, migrations: Self.migrations)
            let (relay, epoch) = try await runtime.relay(of: FollowerTests.family, in: store)
            let facts = FactStream(stream: FollowerTests.stream, epoch: epoch, relay: relay, sealedUnder: key)
            var methods = Methods()
            StreamSource(
                families: [FollowerTests.family], store: store, render: { _, row in try facts.render(row) },
                snapshot: { request in
                    try await store.read { db in
                        let after = request.after.flatMap { Int($0) } ?? 0
                        let numbers = try Int.fetchAll(
                            db, sql: "SELECT number FROM numbers WHERE number > ? ORDER BY number LIMIT 3", arguments: [after])
                        return try facts.snapshot(
                            db, type: "number.v1", facts: numbers.map { (subject: PersonID(bits: UInt128($0)), body: [$0]) },
                            next: numbers.count == 3 ? numbers.last.map { "\($0)" } : nil)
                    }
                }
            ).register(in: &methods)
            try await runtime.answer(methods)
            (self.runtime, self.store, self.facts) = (runtime, store, facts)
        }

        func say(_ number: Int) async throws {
            let facts = facts
            let fact = try await store.write { db in
                try db.execute(sql: "INSERT INTO numbers VALUES (?)", arguments: [number])
                return try facts.append(
                    db, type: "number.v1", subject: PersonID(bits: UInt128(number)), body: [number], at: Timestamp(milliseconds: 1))
            }
            facts.publish(fact)
        }

        func stop() async {
            await runtime.bus.shutdown()
            await store.close()
        }
    }

    private static let hearing = [
        Migration(1, "heard") { db in
            try ConsumerPositions.create(in: db)
            try db.execute(sql: "CREATE TABLE heard (place INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE) STRICT")
        }
    ]

    /// What was applied and committed, as memory sees it.
    private final class Memory: Sendable {
        let numbers = Mutex<[Int]>([])
        var all: [Int] { numbers.withLock { $0 } }
    }

    private func follower(_ runtime: Runtime, _ store: Store, _ memory: Memory) -> Follower {
        @Sendable func number(_ event: StreamEvent) throws -> Int {
            try event.fact([Int].self, type: "number.v1")?.first ?? 0
        }
        return Follower(family: Self.family, on: runtime, store: store) { db, event in
            try db.execute(sql: "INSERT INTO heard (number) VALUES (?)", arguments: [try number(event)])
        } begin: { db, _, snapshot in
            try db.execute(sql: "DELETE FROM heard")
            for event in snapshot { try db.execute(sql: "INSERT INTO heard (number) VALUES (?)", arguments: [try number(event)]) }
        } after: { events in
            let numbers = events.compactMap { try? number($0) }
            memory.numbers.withLock { $0 += numbers }
        } begun: { _, snapshot in
            let numbers = snapshot.compactMap { try? number($0) }
            memory.numbers.withLock { $0 = numbers }
        }
    }

    private func makeKeys(in folder: URL) throws {
        for peer in Peer.suite { _ = try KeyFiles(folder: folder.appendingPathComponent("k")).busKeys(of: peer) }
    }

    @Test("a newcomer takes the snapshot in pages, then each fact once; after a restart it goes on where its store stands")
    func snapshotThenFacts() async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(in: folder)
            for number in 1...7 { try await speaker.say(number) }
            for (round, last) in [(1, 10), (2, 20)] {
                let runtime = try Runtime.test(.ingest, in: folder)
                let store = try runtime.openStore(applicationID: 2, migrations: Self.hearing)
                let memory = Memory()
                let follower = follower(runtime, store, memory)
                let running = Task { try await follower.run() }
                if round == 1 { try await eventually("the snapshot") { memory.all == Array(1...7) } }
                for number in (last - (round == 1 ? 2 : 9))...last { try await speaker.say(number) }
                try await eventually("all facts") { memory.all.last == last }
                #expect(memory.all == Array(round == 1 ? 1...10 : 11...20))
                let stored = try await store.read { try Int.fetchAll($0, sql: "SELECT number FROM heard ORDER BY place") }
                #expect(stored == Array(1...last))
                running.cancel()
                _ = try? await running.value
                await runtime.bus.shutdown()
                await store.close()
            }
            await speaker.stop()
        }
    }

    @Test("what is known is fresh while the other service lives, grows old when it is silent, and is very old before it was ever heard")
    func freshness() async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let runtime = try Runtime.test(.ingest, in: folder)
            let store = try runtime.openStore(applicationID: 2, migrations: Self.hearing)
            let follower = follower(runtime, store, Memory())
            let running = Task { try await follower.run() }
            #expect(follower.silentFor > .seconds(1_000_000))
            let speaker = try await Speaker(in: folder)
            try await eventually("heard") { follower.silentFor < .seconds(1) }
            await speaker.stop()
            try await eventually("silent") { follower.silentFor > .seconds(1.5) }
            let again = try await Speaker(in: folder)
            try await eventually("heard again") { follower.silentFor < .seconds(1) }
            running.cancel()
            _ = try? await running.value
            await runtime.bus.shutdown()
            await store.close()
            await again.stop()
        }
    }

    @Test("an effect that fails is tried again and is never passed over; meanwhile what is known grows old")
    func failingEffect() async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(in: folder)
            try await speaker.say(1)
            let runtime = try Runtime.test(.ingest, in: folder)
            let store = try runtime.openStore(applicationID: 2, migrations: Self.hearing)
            let failures = Mutex(2)
            let memory = Memory()
            let follower = Follower(family: Self.family, on: runtime, store: store) { db, event in
                let fails = failures.withLock { left in
                    defer { left -= 1 }
                    return left > 0
                }
                if fails { throw CocoaError(.fileReadUnknown) }
                let number = try event.fact([Int].self, type: "number.v1")?.first ?? 0
                try db.execute(sql: "INSERT INTO heard (number) VALUES (?)", arguments: [number])
            } begin: { _, _, _ in
            } after: { events in
                memory.numbers.withLock { $0 += events.map { Int($0.header.sequence) } }
            } begun: { _, _ in
            }
            let running = Task { try await follower.run() }
            try await eventually("the snapshot") { follower.silentFor < .seconds(1) }
            try await speaker.say(2)
            try await eventually("applied at last") { memory.all == [2] }
            #expect(failures.withLock { $0 } < 0)
            running.cancel()
            _ = try? await running.value
            await runtime.bus.shutdown()
            await store.close()
            await speaker.stop()
        }
    }

    @Test("facts that are stored sealed are not readable in the file and are replayed as they were said")
    func sealed() async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(in: folder, sealedUnder: .random())
            try await speaker.say(123_456_789)
            let facts = speaker.facts
            let row = try await speaker.store.read { try StreamLog().rows($0, Self.stream, from: 1, limit: 1) }
            #expect(!String(decoding: row[0].body, as: UTF8.self).contains("123456789"))
            #expect(try facts.render(row[0]) == Array("[123456789]".utf8))
            await speaker.stop()
        }
    }
}
