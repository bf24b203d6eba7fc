// What a body wants done once it is on disk: done then, in order, and never where the body or the commit did not hold.

import Dispatch
import Foundation
import GRDB
import Synchronization
import TestKit
import Testing

@testable import Storage

/// What happened, in order.
private final class Happened: Sendable {
    private let list = Mutex<[String]>([])

    var all: [String] { list.withLock { $0 } }

    func add(_ what: String) {
        list.withLock { $0.append(what) }
    }
}

/// Inserts a note with an effect; the text `refused` throws behind both.
private struct NoteWithEffect: GatheredBody {
    let text: String
    let happened: Happened

    static func perform(_ bodies: [NoteWithEffect], in database: Database) throws -> [Int] {
        try bodies.map { body in
            try body.insert(database)
            return 0
        }
    }

    static func committed(_ bodies: [NoteWithEffect], _ values: [Int]) {
        for body in bodies { body.happened.add("committed \(body.text)") }
    }

    /// As a body of its own.
    func insert(_ database: Database) throws {
        _ = try NoteStore.insert(text, answers: text == "dangling" ? 99 : nil)(database)
        database.afterCommit { [happened, text] in happened.add(text) }
        if text == "refused" { throw Refused() }
    }
}

@Suite("Effects of a write body")
struct WriteScopeTests {
    @Test("an effect runs once the body is committed, and before its caller goes on", arguments: CommitUnderTest.all)
    func afterTheCommit(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let (happened, commits) = (Happened(), store.commits)
            try await store.write { db in
                db.afterCommit { happened.add("\(store.commits - commits) commits") }
                _ = try NoteStore.insert("one")(db)
                happened.add("the body")
            }
            #expect(happened.all == ["the body", "1 commits"])
            try await store.write { _ in }
            #expect(happened.all.count == 2)
        }
    }

    @Test(
        "the effect of a body that throws does not run; its neighbours in the group have theirs, in their order, before any is answered",
        arguments: CommitUnderTest.all)
    func oneThrows(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let happened = Happened()
            let release = store.holdWriter()
            for text in ["one", "refused", "two", "three"] {
                let note = NoteWithEffect(text: text, happened: happened)
                store.enqueue({ try note.insert($0) }, answer: { _ in happened.add("answered \(text)") })
            }
            release.signal()
            try await eventually("four answers") { happened.all.count == 7 }
            #expect(happened.all == ["answered refused", "one", "two", "three", "answered one", "answered two", "answered three"])
        }
    }

    @Test("where the commit fails nobody's effect runs, then or with the next commit", arguments: CommitUnderTest.all)
    func failedCommit(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let happened = Happened()
            for text in ["dangling", "good"] {
                let note = NoteWithEffect(text: text, happened: happened)
                try? await store.write { try note.insert($0) }
            }
            #expect(happened.all == ["good"])
        }
    }

    @Test("where SQLite undoes the whole transaction nobody's effect runs, then or with the next commit", arguments: CommitUnderTest.all)
    func undone(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let (happened, answers) = (Happened(), Answers<Void>())
            _ = try await store.write(NoteStore.insert("first"))
            let release = store.holdWriter()
            let neighbour = NoteWithEffect(text: "neighbour", happened: happened)
            store.enqueue({ try neighbour.insert($0) }, answer: answers.add)
            store.enqueue(
                { db in
                    db.afterCommit { happened.add("its own") }
                    try db.execute(sql: "INSERT OR ROLLBACK INTO notes (id, text) VALUES (1, 'again')")
                }, answer: answers.add)
            release.signal()
            try await eventually("two answers") { answers.all.count == 2 }
            try await store.write { _ in }
            #expect(happened.all == [])
        }
    }

    @Test(
        "gathered bodies that are performed again one by one have each effect once; all run before anything is acknowledged",
        arguments: CommitUnderTest.all)
    func gathered(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let happened = Happened()
            func enqueue(_ texts: [String]) {
                let release = store.holdWriter()
                for text in texts {
                    store.enqueue(NoteWithEffect(text: text, happened: happened)) { _ in happened.add("answered \(text)") }
                }
                release.signal()
            }
            enqueue(["one", "two"])
            try await eventually("two answers") { happened.all.count == 6 }
            #expect(happened.all == ["one", "two", "committed one", "committed two", "answered one", "answered two"])
            enqueue(["three", "refused", "four"])
            try await eventually("three more answers") { happened.all.count == 13 }
            #expect(
                happened.all.dropFirst(6) == [
                    "answered refused", "three", "four", "committed three", "answered three", "committed four", "answered four",
                ])
        }
    }

    @Test("gathered bodies behind another kind keep the effects of both, in their order", arguments: CommitUnderTest.all)
    func mixed(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let (happened, answers) = (Happened(), Answers<Int>())
            let release = store.holdWriter()
            let before = NoteWithEffect(text: "before", happened: happened)
            store.enqueue(
                { db in
                    try before.insert(db)
                    return 0
                }, answer: answers.add)
            for text in ["one", "refused", "two"] { store.enqueue(NoteWithEffect(text: text, happened: happened), answer: answers.add) }
            release.signal()
            try await eventually("four answers") { answers.all.count == 4 }
            #expect(happened.all.filter { !$0.hasPrefix("committed") } == ["before", "one", "two"])
        }
    }

    @Test("an effect that a maintenance body added happened only at the next commit; it is dropped where the body throws")
    func maintenance() async throws {
        try await withNotes { store in
            let happened = Happened()
            for text in ["checkpoint", "refused"] {
                try store.writer.queue.add(
                    maintenance: WaitingWrite(
                        perform: { db in
                            db.afterCommit { happened.add(text) }
                            if text == "refused" { throw Refused() }
                            return { happened.add("answered \(text)") }
                        }, refuse: { _ in happened.add("answered \(text)") }))
            }
            try await eventually("two answers") { happened.all.count { $0.hasPrefix("answered") } == 2 }
            try await store.write { _ in }
            #expect(happened.all == ["checkpoint", "answered checkpoint", "answered refused"])
        }
    }

    @Test("two stores at once: an effect waits for the commit of its own store")
    func twoStores() async throws {
        try await withNotes { store in
            try await withNotes { other in
                let (happened, release) = (Happened(), DispatchSemaphore(value: 0))
                store.enqueue(
                    { db in
                        db.afterCommit { happened.add("held") }
                        happened.add("in the body")
                        release.wait()
                    }, answer: { _ in happened.add("answered") })
                try await eventually("the body under way") { happened.all.count == 1 }
                try await other.write { db in db.afterCommit { happened.add("other") } }
                #expect(happened.all == ["in the body", "other"])
                release.signal()
                try await eventually("the answer") { happened.all.count == 4 }
                #expect(happened.all == ["in the body", "other", "held", "answered"])
            }
        }
    }

    @Test("on a connection that no store writes through, an effect follows the connection's own commit")
    func withoutStore() throws {
        let happened = Happened()
        let connection = try DatabaseQueue()
        try connection.write { db in
            db.afterCommit { happened.add("committed") }
            #expect(happened.all == [])
        }
        #expect(happened.all == ["committed"])
        #expect(throws: Refused.self) {
            try connection.write { db in
                db.afterCommit { happened.add("undone") }
                throw Refused()
            }
        }
        #expect(happened.all == ["committed"])
    }
}
