// A log without gaps, whatever is undone, and what may be forgotten of it.

import Contracts
import Foundation
import GRDB
import Synchronization
import TestKit
import Testing

@testable import Storage

@Suite("The log of a stream")
struct StreamLogTests {
    private let log = StreamLog()
    private let at = Timestamp(milliseconds: 1_000)

    static let migrations = [
        Migration(1, "streams") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
        }
    ]

    private func withLog<Value>(_ body: (Store) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder, migrations: StreamLogTests.migrations) { $0.groupCommitWindow = .zero }
            let value = try await body(store)
            await store.close()
            return value
        }
    }

    private func append(_ store: Store, _ count: Int, to stream: String, at: Timestamp, subject: PersonID? = nil) async throws {
        try await store.write { [log] db in
            for _ in 0..<count { try log.append(db, stream: stream, type: "noted.v1", subject: subject, at: at, body: [1]) }
        }
    }

    private func oldest(_ store: Store) async throws -> Int64 {
        try await store.read { [log] in try log.oldest($0, "a") }
    }

    private func head(_ store: Store) async throws -> Int64 {
        try await store.read { [log] in try log.head($0, "a") }
    }

    @Test("many facts appended in one body get the sequences and heads that they would get one by one", arguments: [1, 2, 3])
    func appending(seed: UInt64) async throws {
        try await withLog { store in
            var generator = SeededGenerator(seed: seed)
            var expected: [String: Int64] = [:]
            for round in 0..<60 {
                let streams = (0..<Int.random(in: 1...20, using: &generator)).map { _ in "s.\(Int.random(in: 0..<5, using: &generator))" }
                let fails = Int.random(in: 0..<4, using: &generator) == 0
                let given: [(String, Int64)]? = try? await store.write { [log, at] db in
                    if round % 3 == 0 {
                        return try streams.map { ($0, try log.append(db, stream: $0, type: "t.v1", subject: nil, at: at, body: [7])) }
                    }
                    var news = StreamLog.Appending()
                    let given = try streams.map { stream in
                        (stream, try news.append(db, stream: stream, type: "t.v1", subject: nil, at: at, trace: "", body: [7]))
                    }
                    try news.finish(db)
                    if fails { throw Refused() }
                    return given
                }
                for (stream, sequence) in given ?? [] {
                    #expect(sequence == expected[stream, default: 0] + 1)
                    expected[stream] = sequence
                }
            }
            let heads = try await store.read { [log] in try log.heads($0) }
            #expect(heads == expected)
            for (stream, head) in expected {
                let rows = try await store.read { [log] in try log.rows($0, stream, from: 1, limit: 10_000) }
                #expect(rows.map(\.sequence) == Array(1...head))
            }
        }
    }

    @Test("sequences are gapless per stream however often transactions are undone", arguments: [1, 2, 3, 4])
    func gapless(seed: UInt64) async throws {
        try await withLog { store in
            var generator = SeededGenerator(seed: seed)
            var expected: [String: Int64] = [:]
            for _ in 0..<300 {
                let streams = (0..<Int.random(in: 1...4, using: &generator)).map { _ in "s.\(Int.random(in: 0..<5, using: &generator))" }
                let fails = Int.random(in: 0..<3, using: &generator) == 0
                let given: [(String, Int64)]? = try? await store.write { [log, at] db in
                    let given = try streams.map { ($0, try log.append(db, stream: $0, type: "t.v1", subject: nil, at: at, body: [7])) }
                    if fails { throw Refused() }
                    return given
                }
                for (stream, sequence) in given ?? [] {
                    #expect(sequence == expected[stream, default: 0] + 1)
                    expected[stream] = sequence
                }
            }
            let heads = try await store.read { [log] in try log.heads($0) }
            #expect(heads == expected)
            for (stream, head) in expected {
                let rows = try await store.read { [log] in try log.rows($0, stream, from: 1, limit: 2000) }
                #expect(rows.map(\.sequence) == Array(1...head))
            }
        }
    }

    @Test("a row comes back as it was appended, and pages by sequence")
    func rows() async throws {
        let person = PersonID.random()
        try await withLog { store in
            try await store.write { [log, at] db in
                try log.append(db, stream: "a", type: "first.v1", subject: person, at: at, trace: "t1", body: [0, 255])
                try log.append(db, stream: "a", type: "second.v1", subject: nil, at: at, body: [])
                try log.append(db, stream: "b", type: "other.v1", subject: nil, at: at, body: [9])
            }
            let first = StreamRow(stream: "a", sequence: 1, type: "first.v1", subject: person, at: at, trace: "t1", body: [0, 255])
            let second = StreamRow(stream: "a", sequence: 2, type: "second.v1", subject: nil, at: at, trace: "", body: [])
            try await store.read { [log] db throws in
                #expect(try log.rows(db, "a", from: 1, limit: 10) == [first, second])
                #expect(try log.rows(db, "a", from: 1, limit: 1) == [first])
                #expect(try log.rows(db, "a", from: 1, through: 1, limit: 10) == [first])
                #expect(try log.rows(db, "a", from: 2, limit: 10) == [second])
                #expect(try log.rows(db, "nobody", from: 1, limit: 10) == [])
            }
            let header = first.header(epoch: "e", head: 2)
            #expect(header.subject == person.description && header.head == 2 && header.sequence == 1 && header.trace == "t1")
            #expect(second.header(epoch: "e", head: 2).subject == "")
        }
    }

    @Test("the epoch is made with the store, outlives a restart, and is renewed only on demand")
    func epoch() async throws {
        try await withTemporaryFolder { folder in
            var epochs: [String] = []
            for _ in 0..<2 {
                let store = try NoteStore.open(in: folder, migrations: StreamLogTests.migrations)
                epochs.append(try await store.read { [log] in try log.epoch($0) })
                await store.close()
            }
            #expect(epochs[0] == epochs[1] && epochs[0].count == 32)
            let store = try NoteStore.open(in: folder, migrations: StreamLogTests.migrations)
            let renewed = try await store.write { [log] db in
                try log.renewEpoch(db)
                return try log.epoch(db)
            }
            #expect(renewed != epochs[0] && renewed.count == 32)
            await store.close()
        }
    }

    @Test("after a restore each consumer goes on behind what it has heard of the log that was put back")
    func goingOn() async throws {
        try await withTemporaryFolder { folder in
            let migrations = Self.migrations + [Migration(2, "former epochs") { db in try StreamLog.createFormerEpochs(in: db) }]
            let store = try NoteStore.open(in: folder, migrations: migrations)
            func renew() async throws -> String {
                try await store.write { [log] db in
                    let former = try log.epoch(db)
                    try log.renewEpoch(db)
                    return former
                }
            }
            func next(_ epoch: String, _ next: Int64, of stream: String = "a", _ peer: Peer = Peer("quick")) async throws -> Int64 {
                try await store.read { [log] in
                    try log.goingOn($0, from: StreamPosition(stream: stream, epoch: epoch, next: next), of: peer)
                }
            }
            try await append(store, 5, to: "a", at: at)
            let slow = StreamPosition(stream: "a", epoch: try await store.read { [log] in try log.epoch($0) }, next: 4)
            try await store.write { try Confirmations().save($0, of: Peer("slow"), [slow]) }
            let first = try await renew()
            // Ahead of the copy, behind it, and where the stream had said nothing.
            #expect(try await next(first, 9) == 6)
            #expect(try await next(first, 3) == 3)
            #expect(try await next(first, 3, of: "b") == 1)
            try await append(store, 2, to: "a", at: at)
            let second = try await renew()
            // From before the restore, and too late.
            let late = StreamPosition(stream: "a", epoch: second, next: 7)
            try await store.write { try Confirmations().save($0, of: Peer("slow"), [late]) }
            #expect(try await next(second, 10) == 8)
            #expect(try await next(first, 9) == 6)
            // Of an epoch that this copy has never known.
            #expect(try await next("unknown", 9) == 1)
            #expect(try await next("unknown", 9, Peer("slow")) == 4)
            #expect(try await next("unknown", 2, Peer("slow")) == 2)
            #expect(try await next("unknown", -7, Peer("slow")) == 1)
            await store.close()
        }
        try await withLog { store in
            let epoch = try await store.write { [log] db in
                let former = try log.epoch(db)
                try log.append(db, stream: "a", type: "t", subject: nil, at: at, body: [])
                try log.renewEpoch(db)
                return former
            }
            let next = try await store.read { [log] in
                try log.goingOn($0, from: StreamPosition(stream: "a", epoch: epoch, next: 2), of: .consent)
            }
            #expect(next == 1)
        }
    }

    @Test("a row goes only when it is old enough and every named consumer has confirmed it")
    func release() async throws {
        try await withLog { store in
            try await append(store, 5, to: "a", at: Timestamp(milliseconds: 100))
            try await append(store, 5, to: "a", at: Timestamp(milliseconds: 200))
            let epoch = try await store.read { [log] in try log.epoch($0) }
            let both = [Peer("one"), Peer("two")]
            func release(_ before: Int64, _ consumers: [Peer] = both, limit: Int = 100) async throws -> Int {
                try await store.write { [log] db in
                    try log.release(db, "a", before: Timestamp(milliseconds: before), confirmedBy: consumers, limit: limit)
                }
            }
            func confirm(_ peer: Peer, _ next: Int64, epoch: String) async throws {
                try await store.write { db in
                    try Confirmations().save(db, of: peer, [StreamPosition(stream: "a", epoch: epoch, next: next)])
                }
            }
            #expect(try await release(1000) == 0)
            try await confirm(both[0], 9, epoch: epoch)
            #expect(try await release(1000) == 0)
            try await confirm(both[1], 9, epoch: "another")
            #expect(try await release(1000) == 0)
            try await confirm(both[1], 4, epoch: epoch)
            #expect(try await release(100) == 0)
            #expect(try await release(1000) == 3)
            #expect(try await oldest(store) == 4)
            try await confirm(both[1], 11, epoch: epoch)
            #expect(try await release(150) == 2)
            #expect(try await release(1000, limit: 2) == 2)
            #expect(try await release(1000) == 1)
            #expect(try await release(1000, [both[1]]) == 2)
            #expect(try await oldest(store) == 11)
            #expect(try await head(store) == 10)
        }
    }

    @Test("sequences go on after everything was released")
    func afterRelease() async throws {
        try await withLog { store in
            try await append(store, 3, to: "a", at: at)
            let released = try await store.write { [log] db in
                try log.release(db, "a", before: Timestamp(milliseconds: 5_000), confirmedBy: [])
            }
            #expect(released == 3)
            let next = try await store.write { [log, at] db in
                try log.append(db, stream: "a", type: "t.v1", subject: nil, at: at, body: [])
            }
            #expect(next == 4)
        }
    }

    @Test("the oldest of a stream that never was is 1, and its head 0")
    func unknownStream() async throws {
        try await withLog { store in
            try await store.read { [log] db throws in
                #expect(try log.oldest(db, "a") == 1)
                #expect(try log.head(db, "a") == 0)
            }
        }
    }

    @Test("CON-02: erasing a person leaves the places of the facts and nothing else of them", arguments: [3, 1000] as [Int64])
    func erase(slice: Int64) async throws {
        let (erased, other) = (PersonID.random(), PersonID.random())
        try await withLog { store in
            for person in [erased, other, erased, other, erased] {
                try await append(store, 2, to: "a", at: at, subject: person)
            }
            let count = try await log.erase(erased, in: ["a", "never"], of: store, slice: slice)
            #expect(count == 6)
            let rows = try await store.read { [log] in try log.rows($0, "a", from: 1, limit: 100) }
            #expect(rows.map(\.sequence) == Array(1...10))
            for row in rows {
                #expect(row.isErased == row.body.isEmpty)
                #expect(row.subject == (row.isErased ? nil : other))
            }
            #expect(rows.count(where: \.isErased) == 6)
            #expect(try await log.erase(erased, in: ["a"], of: store) == 0)
        }
    }

    /// The longest that a write of another waits while `work` goes on, beside how long 500 rows in one transaction take on this machine now.
    private func longestWait(_ store: Store, during work: @escaping @Sendable () async throws -> Void) async throws -> (Duration, Duration)
    {
        var step = Duration.zero
        for _ in 0..<5 {
            let begun = ContinuousClock.now
            try await append(store, StreamLog.releaseLimit, to: "calibration", at: at)
            step = max(step, ContinuousClock.now - begun)
        }
        let done = Mutex(false)
        async let working: Void = {
            defer { done.withLock { $0 = true } }
            try await work()
        }()
        var longest = Duration.zero
        while !done.withLock({ $0 }) {
            let begun = ContinuousClock.now
            try await store.write { _ in }
            longest = max(longest, ContinuousClock.now - begun)
        }
        try await working
        return (longest, step)
    }

    @Test("S8: erasing a person's 40,000 facts held the writer for 20,000 at a time: others wait for 500 at most")
    func erasesInSteps() async throws {
        let person = PersonID.random()
        try await withLog { store in
            try await append(store, 40_000, to: "a", at: at, subject: person)
            let (longest, step) = try await longestWait(store) { [log] in
                let erased = try await log.erase(person, in: ["a"], of: store)
                #expect(erased == 40_000)
            }
            #expect(longest < step * 8 + .milliseconds(50), "\(longest), where a step takes \(step)")
        }
    }

    @Test("S8: what a log may forget was taken away 10,000 rows at a time: others wait for 500 at most, and nothing is looked for in vain")
    func releasesInSteps() async throws {
        try await withLog { store in
            try await append(store, 30_000, to: "a", at: at)
            let before = Timestamp(milliseconds: 5_000)
            let (longest, step) = try await longestWait(store) { [log] in
                while try await store.read({ try log.hasOlder($0, "a", than: before) }) {
                    _ = try await store.write { try log.release($0, "a", before: before, confirmedBy: []) }
                }
            }
            #expect(longest < step * 8 + .milliseconds(50), "\(longest), where a step takes \(step)")
            #expect(try await oldest(store) == 30_001)
        }
    }

    @Test("a forgotten consumer holds nothing up, until it confirms again")
    func forget() async throws {
        try await withLog { store in
            try await store.write { [log, at] db in
                try log.append(db, stream: "a", type: "t.v1", subject: nil, at: at, body: [])
                let (epoch, confirmations, gone) = (try log.epoch(db), Confirmations(), Peer("gone"))
                let position = { StreamPosition(stream: "a", epoch: epoch, next: $0) }
                #expect(try confirmations.next(db, "a", of: [gone], epoch: epoch) == 1)
                try confirmations.save(db, of: gone, [position(2)])
                try confirmations.save(db, of: gone, [position(1)])
                #expect(try confirmations.next(db, "a", of: [gone], epoch: epoch) == 2)
                #expect(try confirmations.positions(db, of: gone) == [position(2)])
                try confirmations.forget(db, gone)
                #expect(try confirmations.isForgotten(db, gone))
                #expect(try confirmations.next(db, "a", of: [gone], epoch: epoch) == .max)
                #expect(try log.release(db, "a", before: Timestamp(milliseconds: 9_000), confirmedBy: [gone]) == 1)
                try confirmations.save(db, of: gone, [])
                #expect(try !confirmations.isForgotten(db, gone))
                #expect(try confirmations.next(db, "a", of: [gone], epoch: epoch) == 1)
            }
        }
    }
}
