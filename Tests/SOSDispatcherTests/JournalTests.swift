// What is stored when, and that nothing gets lost or overtaken on the way.

import Bus
import Contracts
import Foundation
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Journal")
struct JournalTests {
    private struct Refused: Error {}

    /// A store that remembers what it was given and refuses when told to.
    private final class Shelf: Sendable {
        struct Contents: Sendable {
            var batches: [StoreBatch] = []
            var states: [PersonID: Int64] = [:]
            var position: Int64 = 0
            var refuses = false
            var refusals = 0
        }

        let contents = Mutex(Contents())

        func save(_ batch: StoreBatch) throws {
            try contents.withLock { contents in
                if contents.refuses {
                    contents.refusals += 1
                    throw Refused()
                }
                contents.batches.append(batch)
                for (person, watched) in batch.subscribers { contents.states[person] = watched.subscriber.supervision.now.milliseconds }
                for (person, sealed) in batch.sealed { contents.states[person] = Shelf.open(sealed) }
                for person in batch.removed { contents.states[person] = nil }
                contents.position = batch.positions.values.map(\.next).max() ?? contents.position
            }
        }

        /// A state's version in eight bytes.
        static func seal(_ watched: Watched) -> [UInt8] {
            withUnsafeBytes(of: watched.subscriber.supervision.now.milliseconds) { Array($0) }
        }

        static func open(_ sealed: [UInt8]) -> Int64 {
            sealed.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
        }

        var position: Int64 { contents.withLock { $0.position } }
        var states: [PersonID: Int64] { contents.withLock { $0.states } }
        var batches: [StoreBatch] { contents.withLock { $0.batches } }
        var refusals: Int { contents.withLock { $0.refusals } }
        func refuse(_ refuses: Bool) { contents.withLock { $0.refuses = refuses } }
    }

    private func journal(_ shelf: Shelf) -> Journal {
        Journal(save: { try shelf.save($0) }, seal: { Shelf.seal($1) }, logger: Running.quiet)
    }

    private func batch(_ states: [PersonID: Int64], position: Int64? = nil) -> StoreBatch {
        var batch = StoreBatch()
        for (person, version) in states {
            var watched = Watched()
            watched.subscriber.supervision.now = Timestamp(milliseconds: version)
            batch.put(watched, of: person)
        }
        if let position { batch.positions["s"] = StreamPosition(stream: "s", epoch: "e", next: position) }
        return batch
    }

    @Test("States in which nothing happened go in slices, in the table's order, and the stream's position with the last of them")
    func slices() async throws {
        let shelf = Shelf()
        let journal = journal(shelf)
        let states = Dictionary(uniqueKeysWithValues: (0..<250).map { _ in (PersonID.random(), Int64(1)) })
        journal.note(StoreBatch(), patient: batch(states, position: 7))
        let running = Task { await journal.run() }
        try await eventually("all of them") { shelf.position == 7 }
        #expect(shelf.batches.map(\.sealed.count) == [100, 100, 50])
        #expect(shelf.batches.map(\.positions.isEmpty) == [true, true, false])
        let bounds = shelf.batches.map { ($0.sealed.keys.map(\.bits).min() ?? 0, $0.sealed.keys.map(\.bits).max() ?? 0) }
        #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0.1 < $1.0 })
        running.cancel()
        await running.value
    }

    @Test(
        "What is urgent does not wait for a slice that is being sealed, and the slice brings no older state after it",
        arguments: [false, true])
    func between(isRefused: Bool) async throws {
        let shelf = Shelf()
        let states = Dictionary(uniqueKeysWithValues: (0..<100).map { _ in (PersonID.random(), Int64(1)) })
        let newer = batch(states.mapValues { _ in 2 })
        let sealing = Mutex<(count: Int, half: @Sendable () -> Void)>((0, {}))
        let journal = Journal(
            save: { try shelf.save($0) },
            seal: { _, watched in
                let half = sealing.withLock { sealing in
                    sealing.count += 1
                    return sealing.count == 50 ? sealing.half : {}
                }
                half()
                return Shelf.seal(watched)
            }, logger: Running.quiet)
        sealing.withLock {
            $0.half = {
                shelf.refuse(isRefused)
                journal.note(newer)
                journal.hurry()
            }
        }
        journal.note(StoreBatch(), patient: batch(states, position: 7))
        let running = Task { await journal.run() }
        if isRefused {
            try await eventually("it was refused") { shelf.refusals > 0 }
            #expect(shelf.position == 0 && shelf.states.isEmpty)
            shelf.refuse(false)
        }
        try await eventually("the position follows") { shelf.position == 7 }
        #expect(shelf.batches[0].subscribers.count == 100)
        #expect(shelf.states == newer.subscribers.mapValues { _ in 2 })
        running.cancel()
        await running.value
        #expect(shelf.states == newer.subscribers.mapValues { _ in 2 })
    }

    @Test("A commit that is refused is tried again with what has come since, and the newest state wins")
    func refused() async throws {
        let shelf = Shelf()
        let journal = journal(shelf)
        let person = PersonID.random()
        shelf.refuse(true)
        journal.note(batch([person: 1]))
        await #expect(throws: Refused.self) { try await journal.commit() }
        journal.note(batch([person: 2]))
        #expect(await journal.commit(within: .seconds(60)) == false)
        shelf.refuse(false)
        try await journal.commit()
        #expect(shelf.states == [person: 2])
    }

    @Test("What is patient is on disk when everything was committed, and no older state or position comes after it")
    func everything() async throws {
        let shelf = Shelf()
        let journal = journal(shelf)
        let (one, other) = (PersonID.random(), PersonID.random())
        journal.note(batch([one: 1]), patient: batch([other: 1], position: 7))
        try await journal.commit()
        #expect(shelf.position == 0 && shelf.states == [one: 1])
        shelf.refuse(true)
        journal.note(StoreBatch(), patient: batch([one: 2], position: 8))
        await #expect(throws: Refused.self) { try await journal.commitEverything() }
        journal.note(StoreBatch(), patient: batch([one: 3], position: 9))
        shelf.refuse(false)
        try await journal.commitEverything()
        #expect(shelf.position == 9 && shelf.states == [one: 3, other: 1])
        #expect(shelf.batches.count == 2)
    }

    @Test("Whatever is refused on the way: no state goes back, a position never runs ahead of the states it counts", arguments: 0..<10)
    func random(seed: UInt64) async throws {
        let shelf = Shelf()
        let journal = journal(shelf)
        var dice = SeededGenerator(seed: seed)
        let people = (0..<150).map { _ in PersonID.random() }
        var noted: [PersonID: Int64] = [:]
        var atPosition: [Int64: [PersonID: Int64]] = [:]
        let running = Task { await journal.run() }
        for step in Int64(1)...300 {
            let chosen = people.shuffled(using: &dice).prefix(5)
            let states = Dictionary(uniqueKeysWithValues: chosen.map { ($0, step) })
            noted.merge(states) { $1 }
            atPosition[step] = noted
            let (urgent, patient) = batch(states, position: step).parted(urgent: Set(chosen.prefix(Int.random(in: 0...2, using: &dice))))
            journal.note(urgent, patient: patient)
            switch Int.random(in: 0..<12, using: &dice) {
            case 0: shelf.refuse(true)
            case 1, 2: shelf.refuse(false)
            case 3, 4: try? await journal.commit()
            case 5: try? await journal.commitEverything()
            default: await Task.yield()
            }
            let (position, states2) = shelf.contents.withLock { ($0.position, $0.states) }
            for (person, version) in atPosition[position] ?? [:] { #expect((states2[person] ?? 0) >= version) }
        }
        shelf.refuse(false)
        running.cancel()
        await running.value
        #expect(shelf.states == noted)
        #expect(shelf.position == 300)
    }

    @Test("S15: positions were confirmed before they were durable: now a publisher is told what is on disk, whatever was heard since")
    func durable() async throws {
        let shelf = Shelf()
        let journal = journal(shelf)
        let stream = StreamFamily.devices.streams[0]
        func heard(_ next: Int64) -> StoreBatch {
            var batch = StoreBatch()
            batch.positions[stream] = StreamPosition(stream: stream, epoch: "e", next: next)
            return batch
        }
        let begun = [StreamPosition(stream: stream, epoch: "e", next: 3), StreamPosition(stream: "another", epoch: "e", next: 9)]
        func told() -> [Int64] { journal.durablePositions(of: .devices, begun: begun).map(\.next) }
        #expect(told() == [3], "what the file said")
        shelf.refuse(true)
        journal.note(StoreBatch(), patient: heard(5))
        _ = try? await journal.commitEverything()
        #expect(told() == [3], "heard, but not on disk")
        shelf.refuse(false)
        try await journal.commitEverything()
        #expect(told() == [5])
    }
}
