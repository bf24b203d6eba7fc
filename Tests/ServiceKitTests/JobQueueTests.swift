// The promises of the job queue.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage
import Synchronization
import TestKit
import Testing

@testable import ServiceKit

@Suite("Job queue")
struct JobQueueTests {
    // MARK: Once

    /// When the power is cut.
    enum Step: CaseIterable {
        case enqueued, answered, withinEffect, done
    }

    @Test("A power cut at any step: the job is done, and its effect happens once", arguments: Step.allCases)
    func crash(at step: Step) async throws {
        try await JobHarness.inFolder { folder, key in
            let image = folder.appendingPathComponent("image")
            try FileManager.default.createDirectory(at: image, withIntermediateDirectories: true)
            // What is on disk at that moment is what the next process finds.
            let cut: @Sendable () throws -> Void = {
                for name in ["jobs.db", "jobs.db-wal"] {
                    try FileManager.default.copyItem(at: folder.appendingPathComponent(name), to: image.appendingPathComponent(name))
                }
            }
            let first = try JobHarness(folder, key: key) { _ in if step == .withinEffect { try cut() } }
            try await first.add("one")
            if step == .enqueued { try cut() }
            first.peer.during { _ in if step == .answered { try cut() } }
            #expect(try await first.runner.runDue())
            #expect(try await first.effects() == ["one"])
            if step == .done { try cut() }
            await first.store.close()
            let second = try JobHarness(image, key: key, clock: first.clock)
            #expect(try await second.left() == (step == .done ? [] : ["one"]))
            #expect(try await second.runner.runDue())
            #expect(try await second.effects() == ["one"])
            #expect(try await second.left().isEmpty)
            #expect(second.peer.taken == (step == .done ? [] : ["one"]))
            await second.store.close()
        }
    }

    @Test("An effect that fails keeps its job; effect and deletion are one")
    func atomic() async throws {
        try await JobHarness.inFolder { folder, key in
            let fails = Mutex(true)
            struct Fault: Error {}
            let harness = try JobHarness(folder, key: key) { _ in if fails.withLock({ $0 }) { throw Fault() } }
            try await harness.add("one", "two")
            try await harness.runner.runDue()
            #expect(try await harness.effects().isEmpty)
            #expect(try await harness.left() == ["one", "two"])
            fails.withLock { $0 = false }
            harness.clock.advance(.seconds(11))
            try await harness.runner.runDue()
            #expect(try await Set(harness.effects()) == ["one", "two"])
            #expect(try await harness.left().isEmpty)
            await harness.store.close()
        }
    }

    @Test("A transaction that is undone takes its job with it; the same id again changes nothing")
    func undone() async throws {
        try await JobHarness.run { harness in
            let queue = harness.queue
            await #expect(throws: CancellationError.self) {
                try await harness.store.write { db in
                    try queue.enqueue(db, Note(text: "lost"), id: "lost")
                    throw CancellationError()
                }
            }
            try await harness.add("one", "one")
            #expect(try await harness.left() == ["one"])
        }
    }

    @Test("A job is done soon after its commit, and also where nobody rang")
    func wakes() async throws {
        try await JobHarness.inFolder { folder, key in
            let harness = try JobHarness(folder, key: key)
            try await harness.running {
                try await harness.add("one")
                try await eventually("it is done", within: .seconds(5), isTrue: { harness.peer.taken == ["one"] })
                try await eventually("it is gone", isTrue: { try await harness.left().isEmpty })
            }
            let polling = try JobHarness(folder, key: key, clock: harness.clock, poll: .milliseconds(20), store: harness.store)
            try await polling.running {
                // By the other queue, whose wake-up signal is another one.
                try await harness.add("two")
                try await eventually("it is found", isTrue: { polling.peer.taken == ["two"] })
            }
            await harness.store.close()
        }
    }

    // MARK: Order and fairness

    @Test("Jobs of one key are done strictly in their order, whatever fails in between; keys do not wait for each other", arguments: 1...8)
    func order(seed: UInt64) async throws {
        try await JobHarness.inFolder { folder, key in
            var random = SeededGenerator(seed: seed)
            let harness = try JobHarness(folder, key: key)
            let underWay = Mutex<[String: Int]>([:])
            harness.peer.during { text in
                let key = String(text.prefix(1))
                let atOnce = underWay.withLock { underWay in
                    underWay[key, default: 0] += 1
                    return underWay[key]
                }
                #expect(atOnce == 1, "two at once of \(key)")
                await Task.yield()
                underWay.withLock { $0[key, default: 0] -= 1 }
            }
            var expected: [String: [String]] = [:]
            for number in 0..<40 {
                let key = ["a", "b", "c", "d", "e"].randomElement(using: &random) ?? "a"
                let text = "\(key)\(number)"
                expected[key, default: []].append(text)
                try await harness.add(text, key: key)
                if Bool.random(using: &random) { harness.peer.fail(Failure(.internal, "not now"), of: text) }
            }
            var rounds = 0
            while try await !harness.left().isEmpty {
                try await harness.runner.runDue()
                for text in expected.sorted(by: { $0.key < $1.key }).flatMap(\.value) where Bool.random(using: &random) {
                    harness.peer.fail(nil, of: text)
                }
                harness.clock.advance(.seconds(301))
                rounds += 1
                try #require(rounds < 1000)
            }
            let effects = try await harness.effects()
            for (key, texts) in expected { #expect(effects.filter { $0.hasPrefix(key) } == texts) }
            await harness.store.close()
        }
    }

    @Test("One that fails holds up its own key alone; given up it holds up nobody")
    func blocks() async throws {
        try await JobHarness.run { harness in
            harness.peer.fail(Failure(.notFound, "not yet"), of: "a1")
            harness.peer.fail(JobGivenUp(Failure(.invalid, "never")), of: "b1")
            try await harness.add("a1", "a2", key: "a")
            try await harness.add("b1", "b2", key: "b")
            try await harness.add("free")
            try await harness.runner.runDue()
            #expect(Set(harness.peer.taken) == ["b2", "free"])
            #expect(try await harness.dead() == ["note invalid"])
            harness.peer.fail(nil, of: "a1")
            harness.clock.advance(.seconds(11))
            try await harness.runner.runDue()
            #expect(harness.peer.taken.suffix(2) == ["a1", "a2"])
        }
    }

    @Test("A hundred that are refused keep no other waiting, and one that hangs takes one place")
    func fairness() async throws {
        try await JobHarness.run { harness in
            harness.peer.fail(Failure(.internal, "no"))
            for number in 0..<100 { try await harness.add("bad\(number)") }
            try await harness.runner.runDue()
            harness.peer.fail(nil)
            // Sleeps so that its deadline ends it, long before.
            harness.peer.during { text in if text == "hangs" { try await Task.sleep(for: .seconds(600)) } }
            try await harness.running {
                try await harness.add("hangs")
                try await eventually("it hangs", isTrue: { harness.peer.asked.contains("hangs") })
                for number in 0..<20 { try await harness.add("good\(number)") }
                try await eventually("the good ones are done", isTrue: { harness.peer.taken.count == 20 })
            }
            #expect(harness.peer.taken.allSatisfy { $0.hasPrefix("good") })
            #expect(try await harness.left().count == 101)
        }
    }

    @Test("A silent peer makes its own kind pause, and no other; then one at a time is tried, another one each time")
    func silence() async throws {
        try await JobHarness.inFolder { folder, key in
            let harness = try JobHarness(folder, key: key)
            let other = try JobHarness(
                folder, kind: JobKind("other"), key: key, clock: harness.clock, store: harness.store)
            harness.peer.fail(Failure(.deadline, "silent"))
            for number in 0..<9 { try await harness.add("n\(number)") }
            harness.clock.advance(.milliseconds(1))
            #expect(try await harness.runner.runDue() == false)
            #expect(harness.peer.asked.count == 4, "as many as are tried at once")
            try await other.add("o1", "o2")
            #expect(try await other.runner.runDue())
            #expect(Set(other.peer.taken) == ["o1", "o2"])
            #expect(try await harness.runner.runDue() == false)
            #expect(harness.peer.asked.count == 4, "the kind pauses")
            harness.clock.advance(.seconds(1))
            #expect(try await harness.runner.runDue() == false)
            #expect(harness.peer.asked.count == 5 && harness.peer.asked.last == "n4", "one that was not tried before")
            // It answers again: nobody waits for long.
            harness.peer.fail(nil)
            harness.clock.advance(.seconds(2))
            #expect(try await harness.runner.runDue())
            #expect(try await Set(harness.effects()).isSuperset(of: (0..<9).map { "n\($0)" }))
            #expect(try await harness.left().isEmpty)
            await harness.store.close()
        }
    }

    // MARK: Time

    @Test("Pauses double from the first to the last, with jitter between half and whole", arguments: [0, 0.5, 0.999])
    func backoff(random: Double) async throws {
        try await JobHarness.inFolder { folder, key in
            let harness = try JobHarness(folder, key: key, random: random)
            harness.peer.fail(Failure(.forbidden, "no"))
            try await harness.add("one")
            for whole in [10, 20, 40, 80, 160, 300, 300].map({ Duration.seconds($0) }) {
                try await harness.runner.runDue()
                let pause = try #require(try await harness.pause(of: "one"))
                let expected: Duration = whole * (0.5 + random / 2)
                #expect(pause >= whole / 2)
                #expect(pause <= whole)
                #expect(pause > expected - .seconds(1) && pause < expected + .seconds(1))
                harness.clock.advance(pause - .milliseconds(1))
                let asked = harness.peer.asked.count
                try await harness.runner.runDue()
                #expect(harness.peer.asked.count == asked, "not before its time")
                harness.clock.advance(.milliseconds(1))
            }
            // A clock that is set back by a day puts nothing off by a day.
            try await harness.runner.runDue()
            harness.clock.advance(.seconds(-86_400))
            harness.peer.fail(nil)
            try await harness.runner.runDue()
            #expect(harness.peer.taken == ["one"])
            await harness.store.close()
        }
    }

    @Test("What is too late is not begun, and stays listed; what is for later waits")
    func deadline() async throws {
        try await JobHarness.run { harness in
            try await harness.add("late", notAfter: harness.clock.now + .seconds(60))
            try await harness.add("later", start: .at(harness.clock.now + .seconds(90)))
            harness.peer.fail(Failure(.internal, "not now"), of: "late")
            try await harness.runner.runDue()
            harness.peer.fail(nil, of: "late")
            harness.clock.advance(.seconds(61))
            try await harness.runner.runDue()
            #expect(harness.peer.taken.isEmpty)
            #expect(try await harness.dead() == ["note deadline"])
            harness.clock.advance(.seconds(30))
            try await harness.runner.runDue()
            #expect(harness.peer.taken == ["later"])
        }
    }

    @Test("The clock leapt three days ahead, and every message that waited was given up at once: they are tried on, and go out")
    func leap() async throws {
        try await JobHarness.inFolder { folder, key in
            let lead = Mutex(Duration.zero)
            let clock = TestClock()
            let harness = try JobHarness(folder, key: key, clock: clock, ahead: { lead.withLock { $0 } })
            let notAfter = clock.now + .seconds(3600)
            for text in ["one", "two"] { try await harness.add(text, notAfter: notAfter) }
            harness.peer.fail(Failure(.internal, "not now"))
            try await harness.runner.runDue()
            lead.withLock { $0 = .seconds(3 * 86_400) }
            clock.advance(.seconds(90))
            try await harness.runner.runDue()
            #expect(try await harness.dead().isEmpty)
            #expect(harness.peer.asked.count == 4)
            harness.peer.fail(nil)
            clock.advance(.seconds(90))
            try await harness.runner.runDue()
            #expect(Set(harness.peer.taken) == ["one", "two"])

            harness.peer.fail(Failure(.internal, "not now"))
            try await harness.add("late", notAfter: clock.now + .seconds(60))
            try await harness.runner.runDue()
            lead.withLock { $0 = .zero }
            harness.peer.fail(nil)
            clock.advance(.seconds(61))
            try await harness.runner.runDue()
            #expect(try await harness.dead() == ["note deadline"], "what is late by a right clock is not begun")
            await harness.store.close()
        }
    }

    @Test("A service that started while the clock was three days ahead gave up every message that waited, tried or not")
    func startedInLeap() async throws {
        try await JobHarness.inFolder { folder, key in
            let lead = Mutex(Duration.zero)
            let clock = TestClock()
            let first = try JobHarness(folder, key: key, clock: clock, ahead: { lead.withLock { $0 } })
            for text in ["one", "two"] { try await first.add(text, notAfter: clock.now + .seconds(3600)) }
            await first.store.close()
            lead.withLock { $0 = .seconds(3 * 86_400) }
            let second = try JobHarness(folder, key: key, clock: clock, ahead: { lead.withLock { $0 } })
            try await second.runner.runDue()
            #expect(try await second.dead().isEmpty)
            #expect(second.peer.asked.isEmpty, "what may be too late is not begun")
            clock.advance(.seconds(30))
            lead.withLock { $0 = .zero }
            try await second.runner.runDue()
            #expect(Set(second.peer.taken) == ["one", "two"])

            try await second.add("late", notAfter: clock.now + .seconds(10))
            lead.withLock { $0 = .seconds(3 * 86_400) }
            await second.store.close()
            let third = try JobHarness(folder, key: key, clock: clock, ahead: { lead.withLock { $0 } })
            try await third.runner.runDue()
            clock.advance(DeadlineClock.settlingTime)
            try await third.runner.runDue()
            #expect(try await third.dead() == ["note deadline"], "a clock that is still so after a minute is believed")
            await third.store.close()
        }
    }

    @Test("A held job waits until it is released for its person")
    func held() async throws {
        try await JobHarness.run { harness in
            let (one, two) = (PersonID.random(), PersonID.random())
            try await harness.add("one", of: one, start: .held)
            try await harness.add("two", of: two, start: .held)
            try await harness.runner.runDue()
            #expect(harness.peer.asked.isEmpty)
            #expect(try await harness.runner.runNow("one") == nil)
            try await harness.store.write { [queue = harness.queue] db in try queue.release(db, of: one) }
            try await harness.runner.runDue()
            #expect(harness.peer.taken == ["one"])
        }
    }
}
