// How jobs end otherwise than by being done in the background: dead letters, erasure, and being run at once.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage
import Synchronization
import TestKit
import Testing

@testable import ServiceKit

@Suite("Ends of jobs")
struct JobEndingTests {
    // MARK: Dead letters

    @Test("Dead letters stay listed through a restart, by kind and code without what they hold, and can be resent")
    func dead() async throws {
        try await JobHarness.inFolder { folder, key in
            let first = try JobHarness(folder, key: key)
            first.peer.fail(JobGivenUp(Failure(.invalid, "never")))
            try await first.add("one", "two", of: .random())
            try await first.runner.runDue()
            first.clock.advance(.seconds(86_400))
            try await first.runner.runDue()
            #expect(first.peer.asked.count == 2, "they are not tried again")
            await first.store.close()
            let second = try JobHarness(folder, key: key, clock: first.clock)
            let routes = JobRoutes(second.store, [second.runner])
            let listed = try await routes.list(ListJobs())
            #expect(listed.kinds == [.init(kind: "note", waiting: 0, dead: 2, oldest: nil)])
            #expect(listed.dead.map(\.error) == ["invalid", "invalid"] && listed.dead.map(\.attempts) == [1, 1] && listed.next == nil)
            #expect(try await routes.resend(ResendJobs(job: 4711)).resent == 0)
            let number = try #require(listed.dead.first?.job)
            #expect(try await routes.resend(ResendJobs(job: number)).resent == 1)
            second.clock.advance(.seconds(86_400))
            try await second.runner.runDue()
            #expect(second.peer.taken == ["one"])
            #expect(try await routes.resend(ResendJobs(job: nil)).resent == 1)
            try await second.runner.runDue()
            #expect(second.peer.taken == ["one", "two"])
            #expect(try await second.left().isEmpty)
            await second.store.close()
        }
    }

    @Test("What cannot be opened is a dead letter, and holds up no other")
    func unreadable() async throws {
        try await JobHarness.inFolder { folder, key in
            let first = try JobHarness(folder, key: .random())
            try await first.add("one")
            await first.store.close()
            let second = try JobHarness(folder, key: key, clock: first.clock)
            try await second.add("two")
            try await second.runner.runDue()
            #expect(second.peer.taken == ["two"])
            #expect(try await second.dead() == ["note unreadable"])
            await second.store.close()
        }
    }

    @Test("Dead letters are deleted after 30 days")
    func expires() async throws {
        try await JobHarness.inFolder { folder, key in
            let first = try JobHarness(folder, key: key)
            first.peer.fail(JobGivenUp(Failure(.invalid, "never")))
            try await first.add("one")
            try await first.runner.runDue()
            for (days, left) in [(29, 1), (2, 0)] {
                first.clock.advance(.seconds(days * 86_400))
                let next = try JobHarness(folder, key: key, clock: first.clock, store: first.store)
                try await next.runner.runDue()
                #expect(try await first.left().count == left)
            }
            await first.store.close()
        }
    }

    @Test("Of a dead letter that is about no person, which no erasure would find, nothing is kept to be read or resent")
    func bodiless() async throws {
        try await JobHarness.run { harness in
            harness.peer.fail(JobGivenUp(Failure(.invalid, "never")))
            try await harness.add("theirs", of: .random())
            try await harness.add("nobody's")
            try await harness.runner.runDue()
            let kept = try await harness.store.read { try String.fetchAll($0, sql: "SELECT id FROM jobs WHERE length(body) > 0") }
            #expect(kept == ["theirs"])
            let resent = try await harness.store.write { [now = harness.clock.now] db in try JobTable().resend(db, nil, at: now) }
            #expect(resent == 1)
        }
    }

    @Test("A job that was made while the clock was ahead is not held up once it is set back")
    func clockSetBack() async throws {
        try await JobHarness.run { harness in
            try await harness.add("one")
            harness.clock.advance(.seconds(-3600))
            try await harness.runner.runDue()
            #expect(harness.peer.taken == ["one"])
        }
    }

    @Test("A dead letter that is resent goes behind what waits under its key")
    func resentInOrder() async throws {
        try await JobHarness.run { harness in
            harness.peer.fail(JobGivenUp(Failure(.invalid, "never")), of: "one")
            try await harness.add("one", of: .random(), key: "k")
            try await harness.runner.runDue()
            harness.peer.fail(Failure(.internal, "not now"), of: "two")
            try await harness.add("two", key: "k")
            try await harness.runner.runDue()
            harness.peer.fail(nil, of: "one")
            harness.peer.fail(nil, of: "two")
            try await harness.store.write { [now = harness.clock.now] db in _ = try JobTable().resend(db, nil, at: now) }
            try await harness.runner.runDue()
            #expect(harness.peer.taken.isEmpty)
            harness.clock.advance(.seconds(11))
            try await harness.runner.runDue()
            #expect(harness.peer.taken == ["two", "one"])
        }
    }

    // MARK: Erasure

    @Test("ACC-29: erasing a person deletes their jobs, dead and held ones too, and lets go who waited behind them")
    func erasure() async throws {
        try await JobHarness.run { harness in
            let (erased, other) = (PersonID.random(), PersonID.random())
            harness.peer.fail(JobGivenUp(Failure(.invalid, "never")), of: "canary dead")
            try await harness.add("canary dead", of: erased)
            try await harness.runner.runDue()
            try await harness.add("canary held", of: erased, start: .held)
            harness.peer.fail(Failure(.internal, "not now"), of: "canary one")
            try await harness.add("canary one", of: erased, key: "k")
            try await harness.add("other", of: other, key: "k")
            try await harness.runner.runDue()
            #expect(harness.peer.taken.isEmpty)
            #expect(try await harness.store.write { db in try JobTable().forget(db, erased) } == 3)
            try await harness.runner.runDue()
            #expect(harness.peer.taken == ["other"])
            #expect(try await harness.left().isEmpty)
        }
    }

    @Test("What a person's job holds is readable in no file")
    func sealed() async throws {
        try await JobHarness.inFolder { folder, key in
            let harness = try JobHarness(folder, key: key)
            let queue = harness.queue
            try await harness.store.write { db in _ = try queue.enqueue(db, Note(text: "Canary"), id: "1", of: .random()) }
            await harness.store.close()
            for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
                #expect(try Data(contentsOf: file).range(of: Data("anary".utf8)) == nil, "\(file.lastPathComponent)")
            }
        }
    }

    @Test("An attempt under way has no effect when its job is erased or withdrawn meanwhile")
    func erasedMeanwhile() async throws {
        try await JobHarness.run { harness in
            let (person, store, queue) = (PersonID.random(), harness.store, harness.queue)
            harness.peer.during { text in
                try await store.write { db in
                    if text == "erased" {
                        try queue.forget(db, person)
                    } else {
                        try queue.withdraw(db, id: text)
                    }
                    return
                }
            }
            try await harness.add("erased", of: person)
            try await harness.add("withdrawn")
            #expect(try await harness.runner.runNow("erased") == nil)
            try await harness.runner.runDue()
            #expect(harness.peer.taken == ["erased", "withdrawn"])
            #expect(try await harness.effects().isEmpty)
            #expect(try await harness.left().isEmpty)
        }
    }

    @Test("A job whose key was destroyed is gone at its next attempt")
    func keyDestroyed() async throws {
        try await JobHarness.run { harness in
            let seal = JobSeal(seal: { plain, _ in plain }, open: { _, _ in throw KeyDestroyed() })
            let queue = JobQueue<Note>(JobKind("sealed"), sealed: seal)
            let runner = JobRunner<Note, Void>(queue, in: harness.store, logger: JobHarness.logger) { _ in { _ in } }
            try await harness.store.write { db in _ = try queue.enqueue(db, Note(text: ""), id: "1") }
            try await runner.runDue()
            #expect(try await harness.left().isEmpty)
        }
    }

    // MARK: At once

    @Test("Whoever runs a job that is under way gets the answer of that attempt")
    func shares() async throws {
        try await JobHarness.run { harness in
            let isFree = Mutex(false)
            harness.peer.during { _ in try await eventually("it may go on", isTrue: { isFree.withLock { $0 } }) }
            try await harness.running {
                try await harness.add("one")
                try await eventually("it is tried", isTrue: { harness.peer.asked.count == 1 })
                async let first = harness.runner.runNow("one")
                async let second = harness.runner.runNow("one")
                isFree.withLock { $0 = true }
                let answers = try await [first, second].compactMap { $0 }
                // Either may have come when it was done already.
                #expect(answers.allSatisfy { $0 == "done one" })
            }
            #expect(harness.peer.asked == ["one"])
            #expect(try await harness.effects() == ["one"])
            #expect(try await harness.runner.runNow("one") == nil, "it is done")
        }
    }

    @Test("A job that is run at once is done before its time; refused, it waits for its next attempt; given up, it is dead")
    func atOnce() async throws {
        try await JobHarness.run { harness in
            try await harness.add("one", "two", start: .at(harness.clock.now + .seconds(3600)))
            harness.peer.fail(Failure(.notFound, "not yet"), of: "one")
            await #expect(throws: Failure(.notFound, "not yet")) { try await harness.runner.runNow("one") }
            #expect(try await harness.left() == ["one", "two"])
            #expect(try await harness.runner.runNow("two") == "done two")
            harness.peer.fail(JobGivenUp(Failure(.invalid, "never")), of: "one")
            await #expect(throws: Failure(.invalid, "never")) { try await harness.runner.runNow("one") }
            #expect(try await harness.dead() == ["note invalid"])
            #expect(try await harness.runner.runNow("one") == nil)
        }
    }

    @Test("A job that is run at once comes after those before it under its key")
    func atOnceInOrder() async throws {
        try await JobHarness.run { harness in
            try await harness.add("one", "two", "three", key: "k")
            harness.peer.fail(JobGivenUp(Failure(.invalid, "never")), of: "one")
            #expect(try await harness.runner.runNow("three") == "done three")
            #expect(harness.peer.taken == ["two", "three"])
            try await harness.add("held", key: "l", start: .held)
            try await harness.add("behind", key: "l")
            #expect(try await harness.runner.runNow("behind") == nil)
        }
    }
}
