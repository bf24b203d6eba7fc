// A follower beside the service that it follows, on real sockets: once, in order, through restarts and snapshots, and how old it is.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import Storage
import Synchronization
import TestKit
import Testing

@testable import Bus
@testable import ServiceKit

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

        init(over streams: StreamUnderTest, in folder: URL, sealedUnder key: SymmetricKey? = nil) async throws {
            let runtime = try streams.runtime(.consent, folder, nil)
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
            try await store.write { db in
                try db.execute(sql: "INSERT INTO numbers VALUES (?)", arguments: [number])
                try facts.publish(
                    db, type: "number.v1", subject: PersonID(bits: UInt128(number)), body: [number], at: Timestamp(milliseconds: 1))
            }
        }

        func stop() async {
            await runtime.bus.shutdown()
            await store.close()
        }
    }

    private static let hearing = [
        Migration(1, "heard") { db in
            try ConsumerPositions.create(in: db)
            try SnapshotMarks.create(in: db)
            try db.execute(sql: "CREATE TABLE heard (place INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE) STRICT")
        }
    ]

    /// What was applied and committed, as memory sees it.
    private final class Memory: Sendable {
        let numbers = Mutex<[Int]>([])
        var all: [Int] { numbers.withLock { $0 } }
    }

    /// - Parameter check: throws where a number of a snapshot is not to be taken.
    private func follower(
        _ runtime: Runtime, _ store: Store, _ memory: Memory, check: @escaping @Sendable (Int) throws -> Void = { _ in }
    ) -> Follower {
        @Sendable func number(_ event: StreamEvent) throws -> Int {
            try event.fact([Int].self, type: "number.v1")?.first ?? 0
        }
        return Follower(
            family: Self.family, on: runtime, store: store,
            apply: { db, event in try db.execute(sql: "INSERT INTO heard (number) VALUES (?)", arguments: [try number(event)]) },
            snapshot: SnapshotRules { db, event in
                let number = try number(event)
                try check(number)
                try db.execute(sql: "INSERT OR IGNORE INTO heard (number) VALUES (?)", arguments: [number])
                return Self.key(number)
            } known: { db, _, after, limit in
                try Int.fetchAll(
                    db, sql: "SELECT number FROM heard WHERE number > ? ORDER BY number LIMIT ?", arguments: [Self.number(after), limit]
                ).map(Self.key)
            } forget: { db, key in
                try db.execute(sql: "DELETE FROM heard WHERE number = ?", arguments: [Self.number(key)])
                return { memory.numbers.withLock { $0.removeAll { $0 == Self.number(key) } } }
            },
            after: { events in
                let numbers = events.compactMap { try? number($0) }
                memory.numbers.withLock { $0 += numbers }
            })
    }

    private static func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

    private static func number(_ key: [UInt8]) -> Int { key.reduce(0) { $0 << 8 | Int($1) } }

    private func makeKeys(in folder: URL) throws {
        for peer in Peer.suite { _ = try KeyFiles(folder: folder.appendingPathComponent("k")).busKeys(of: peer) }
    }

    @Test(
        "a newcomer takes the snapshot in pages, then each fact once; after a restart it goes on where its store stands",
        arguments: StreamUnderTest.all)
    func snapshotThenFacts(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(over: streams, in: folder)
            for number in 1...7 { try await speaker.say(number) }
            for (round, last) in [(1, 10), (2, 20)] {
                let runtime = try streams.runtime(.ingest, folder, nil)
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
                await runtime.end(running, closing: store)
            }
            await speaker.stop()
        }
    }

    private struct Undone: Error {}

    @Test("a fact that is undone with its change is not heard, and holds back none of those behind it", arguments: StreamUnderTest.all)
    func undone(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(over: streams, in: folder)
            let runtime = try streams.runtime(.ingest, folder, nil)
            let store = try runtime.openStore(applicationID: 2, migrations: Self.hearing)
            let memory = Memory()
            let follower = follower(runtime, store, memory)
            let running = Task { try await follower.run() }
            try await speaker.say(1)
            try await eventually("it follows") { memory.all == [1] }
            let facts = speaker.facts
            await #expect(throws: Undone.self) {
                try await speaker.store.write { db in
                    try facts.publish(db, type: "number.v1", subject: nil, body: [2], at: Timestamp(milliseconds: 1))
                    throw Undone()
                }
            }
            for number in 3...4 { try await speaker.say(number) }
            try await eventually("those behind it") { memory.all.last == 4 }
            #expect(memory.all == [1, 3, 4])
            await runtime.end(running, closing: store)
            await speaker.stop()
        }
    }

    @Test(
        "S5: a snapshot that breaks off keeps what was known and what it has brought; one that came whole ends what it does not hold",
        arguments: StreamUnderTest.all)
    func brokenSnapshot(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(over: streams, in: folder)
            for number in 1...7 { try await speaker.say(number) }
            let runtime = try streams.runtime(.ingest, folder, nil)
            let store = try runtime.openStore(applicationID: 2, migrations: Self.hearing)
            try await store.write { try $0.execute(sql: "INSERT INTO heard (number) VALUES (6), (99)") }
            let memory = Memory()
            let attempts = Mutex(0)
            let follower = follower(runtime, store, memory) { number in
                // In its second page.
                guard number == 5 else { return }
                let attempt = attempts.withLock { attempts in
                    attempts += 1
                    return attempts
                }
                if attempt <= 2 { throw CocoaError(.fileReadUnknown) }
            }
            let heard: @Sendable () async throws -> [Int] = {
                try await store.read { try Int.fetchAll($0, sql: "SELECT number FROM heard ORDER BY number") }
            }
            let running = Task { try await follower.run() }
            try await eventually("it was broken off") { attempts.withLock { $0 } == 1 }
            #expect(try await heard() == [1, 2, 3, 6, 99])
            #expect(try await store.read { try ConsumerPositions().load($0) }.isEmpty)
            #expect(follower.silentFor > .seconds(1_000_000), "nothing can be relied on yet")
            try await eventually("it is whole", isTrue: { try await heard() == Array(1...7) })
            #expect(attempts.withLock { $0 } == 3)
            try await eventually("the position and no marks") {
                try await store.read { db in
                    try ConsumerPositions().load(db).count == 1 && Int.fetchOne(db, sql: "SELECT count(*) FROM snapshot_marks") == 0
                }
            }
            try await speaker.say(8)
            try await eventually("news go on", isTrue: { try await heard() == Array(1...8) })
            #expect(Set(memory.all) == Set(1...8))
            await runtime.end(running, closing: store)
            await speaker.stop()
        }
    }

    @Test("S5: a snapshot was stored in one transaction: it takes 250 facts or 10 ms at most, and others write in between")
    func shortTransactions() async throws {
        try await withTemporaryFolder { folder in
            let store = try Runtime.test(.ingest, in: folder).openStore(applicationID: 2, migrations: Self.hearing)
            let facts = (1...600).map { number in
                StreamEvent(
                    header: StreamHeader(
                        stream: Self.stream, epoch: "e", sequence: 1, head: 1, type: "number.v1", subject: "",
                        at: Timestamp(milliseconds: 1), trace: ""), payload: Array("[\(number)]".utf8))
            }
            func taken(by body: @escaping @Sendable () -> Void) async throws -> [Int] {
                let steps = Mutex<[Int]>([])
                let rules = SnapshotRules.adding { _, _ in body() }
                let taking = SnapshotTaking(store: store, rules: rules) { events in steps.withLock { $0.append(events.count) } }
                try await taking.take(SnapshotPage(stream: Self.stream, facts: facts, isFirst: true, next: nil))
                return steps.withLock { $0 }
            }
            let quick = try await taken {}
            #expect(quick.allSatisfy { $0 <= 250 } && quick.reduce(0, +) == 600)
            let slow = try await taken {
                let begun = ContinuousClock.now
                while ContinuousClock.now - begun < .milliseconds(3) {}
            }
            #expect(slow.allSatisfy { $0 <= 4 } && slow.reduce(0, +) == 600)
            await store.close()
        }
    }

    @Test(
        "what is known is fresh while the other service lives, grows old when it is silent, and is very old before it was ever heard",
        arguments: StreamUnderTest.all)
    func freshness(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let runtime = try streams.runtime(.ingest, folder, nil)
            let store = try runtime.openStore(applicationID: 2, migrations: Self.hearing)
            let follower = follower(runtime, store, Memory())
            let running = Task { try await follower.run() }
            #expect(follower.silentFor > .seconds(1_000_000))
            let speaker = try await Speaker(over: streams, in: folder)
            try await eventually("heard") { follower.silentFor < .seconds(1) }
            await speaker.stop()
            try await eventually("silent") { follower.silentFor > .seconds(1.5) }
            let again = try await Speaker(over: streams, in: folder)
            try await eventually("heard again") { follower.silentFor < .seconds(1) }
            await runtime.end(running, closing: store)
            await again.stop()
        }
    }

    @Test("an effect that fails is tried again and is never passed over; meanwhile what is known grows old", arguments: StreamUnderTest.all)
    func failingEffect(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(over: streams, in: folder)
            try await speaker.say(1)
            let runtime = try streams.runtime(.ingest, folder, nil)
            let store = try runtime.openStore(applicationID: 2, migrations: Self.hearing)
            let failures = Mutex(2)
            let memory = Memory()
            let apply: @Sendable (Database, StreamEvent) throws -> Void = { db, event in
                let fails = failures.withLock { left in
                    defer { left -= 1 }
                    return left > 0
                }
                if fails { throw CocoaError(.fileReadUnknown) }
                let number = try event.fact([Int].self, type: "number.v1")?.first ?? 0
                try db.execute(sql: "INSERT INTO heard (number) VALUES (?)", arguments: [number])
            }
            let follower = Follower(
                family: Self.family, on: runtime, store: store, apply: apply, snapshot: .adding { _, _ in },
                after: { events in memory.numbers.withLock { $0 += events.map { Int($0.header.sequence) } } })
            let running = Task { try await follower.run() }
            try await eventually("the snapshot") { follower.silentFor < .seconds(1) }
            try await speaker.say(2)
            try await eventually("applied at last") { memory.all == [1, 2] }
            #expect(failures.withLock { $0 } < 0)
            await runtime.end(running, closing: store)
            await speaker.stop()
        }
    }

    @Test(
        "SHR-16: with the disk full what was known before a withdrawal passed for fresh for 5 s more: it is very old until the fact is stored",
        arguments: StreamUnderTest.all)
    func fullDisk(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(over: streams, in: folder)
            let runtime = try streams.runtime(.ingest, folder, nil)
            let store = try runtime.openStore(applicationID: 2, migrations: Self.hearing)
            try await store.write { try $0.execute(sql: "CREATE TABLE bulk (bytes BLOB NOT NULL) STRICT") }
            let memory = Memory()
            let follower = Follower(
                family: Self.family, on: runtime, store: store,
                // More than what is free in the file.
                apply: { db, _ in try db.execute(sql: "INSERT INTO bulk VALUES (zeroblob(262144))") }, snapshot: .adding { _, _ in },
                after: { events in memory.numbers.withLock { $0 += events.map { Int($0.header.sequence) } } })
            let running = Task { try await follower.run() }
            try await eventually("it follows") { follower.silentFor < .seconds(1) }
            try await store.write { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages + 2)")
            }
            try await speaker.say(1)
            try await eventually("nothing can be relied on") { follower.silentFor > .seconds(1_000_000) }
            #expect(memory.all.isEmpty)
            try await eventually("there is room") { try? await store.write { try $0.execute(sql: "PRAGMA max_page_count = 100000") } }
            try await eventually("it is stored and fresh again") { memory.all == [1] && follower.silentFor < .seconds(1) }
            running.cancel()
            _ = try? await running.value
            await runtime.bus.shutdown()
            await store.close()
            await speaker.stop()
        }
    }

    @Test("facts that are stored sealed are not readable in the file and are replayed as they were said", arguments: StreamUnderTest.all)
    func sealed(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            try makeKeys(in: folder)
            let speaker = try await Speaker(over: streams, in: folder, sealedUnder: .random())
            try await speaker.say(123_456_789)
            let facts = speaker.facts
            let row = try await speaker.store.read { try StreamLog().rows($0, Self.stream, from: 1, limit: 1) }
            #expect(!String(decoding: row[0].body, as: UTF8.self).contains("123456789"))
            #expect(try facts.render(row[0]) == Array("[123456789]".utf8))
            await speaker.stop()
        }
    }
}
