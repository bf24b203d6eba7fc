// Many writes, one transaction, and none that suffers for another: whatever the way of committing.

import Contracts
import Dispatch
import Foundation
import GRDB
import Synchronization
import TestKit
import Testing

@testable import Storage

@Suite("Group commit")
struct GroupCommitTests {
    @Test(
        "ING-14: a body that throws undoes only itself; its neighbours in the transaction are acknowledged and kept",
        arguments: CommitUnderTest.all)
    func isolation(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let release = store.holdWriter()
            let answers = Answers<Int64>()
            store.enqueue(NoteStore.insert("before"), answer: answers.add)
            store.enqueue(
                { db in
                    _ = try NoteStore.insert("undone")(db)
                    throw Refused()
                }, answer: answers.add)
            store.enqueue(NoteStore.insert("after"), answer: answers.add)
            release.signal()
            try await eventually("three answers") { answers.all.count == 3 }
            #expect(answers.all.count { (try? $0.get()) != nil } == 2)
            #expect(answers.all.contains { if case .failure(is Refused) = $0 { true } else { false } })
            #expect(try await store.read(NoteStore.texts) == ["before", "after"])
        }
    }

    @Test("a body's own database error comes back unchanged", arguments: CommitUnderTest.all)
    func ownError(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let error = await #expect(throws: DatabaseError.self) {
                try await store.write { try $0.execute(sql: "INSERT INTO notes (text) VALUES (NULL)") }
            }
            #expect(error?.resultCode == .SQLITE_CONSTRAINT)
        }
    }

    @Test("bodies run in the order in which they were handed over, across groups", arguments: CommitUnderTest.all)
    func order(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit, { $0.groupLimit = 7 }) { store in
            let answers = Answers<Int64>()
            for number in 0..<500 { store.enqueue(NoteStore.insert("\(number)"), answer: answers.add) }
            try await eventually("500 answers") { answers.all.count == 500 }
            #expect(try await store.read(NoteStore.texts) == (0..<500).map(String.init))
            #expect(answers.all.compactMap { try? $0.get() } == Array(1...500))
        }
    }

    @Test(
        "NFR-04: 10,000 writes at once are all there, each acknowledged once",
        arguments: CommitUnderTest.all, [Duration.zero, .milliseconds(2)])
    func many(commit: CommitUnderTest, window: Duration) async throws {
        try await withNotes(of: commit, { ($0.waitingLimit, $0.groupCommitWindow) = (10_000, window) }) { store in
            let ids = try await withThrowingTaskGroup(of: Int64.self) { group in
                for number in 0..<10_000 { group.addTask { try await store.write(NoteStore.insert("\(number)")) } }
                return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
            }
            #expect(ids.count == 10_000)
            #expect(Set(try await store.read(NoteStore.texts)) == Set((0..<10_000).map(String.init)))
        }
    }

    @Test("what waits is bounded: one more is refused as busy, and taken when there is room again", arguments: CommitUnderTest.all)
    func bound(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit, { $0.waitingLimit = 8 }) { store in
            let release = store.holdWriter()
            let answers = Answers<Int64>()
            for number in 0..<8 { store.enqueue(NoteStore.insert("\(number)"), answer: answers.add) }
            await #expect(throws: StoreError.busy) { try await store.write(NoteStore.insert("too many")) }
            release.signal()
            try await eventually("eight answers") { answers.all.count == 8 }
            _ = try await store.write(NoteStore.insert("room again"))
            #expect(try await store.read(NoteStore.texts).last == "room again")
        }
    }

    @Test("closing finishes what has been taken", arguments: CommitUnderTest.all)
    func closing(commit: CommitUnderTest) async throws {
        try await withTemporaryFolder { folder in
            let store = try commit.open(folder) { _ in }
            let answers = Answers<Int64>()
            for number in 0..<100 { store.enqueue(NoteStore.insert("\(number)"), answer: answers.add) }
            await store.close()
            #expect(answers.all.count { (try? $0.get()) != nil } == 100)
            let again = try commit.open(folder) { _ in }
            #expect(try await again.read(NoteStore.texts).count == 100)
            await again.close()
        }
    }

    @Test(
        "a body that makes SQLite undo the whole transaction is acknowledged to nobody, and the store goes on",
        arguments: CommitUnderTest.all)
    func undone(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            _ = try await store.write(NoteStore.insert("first"))
            let release = store.holdWriter()
            let answers = Answers<Void>()
            store.enqueue({ _ = try NoteStore.insert("neighbour")($0) }, answer: answers.add)
            store.enqueue({ try $0.execute(sql: "INSERT OR ROLLBACK INTO notes (id, text) VALUES (1, 'again')") }, answer: answers.add)
            store.enqueue({ _ = try NoteStore.insert("behind")($0) }, answer: answers.add)
            release.signal()
            try await eventually("three answers") { answers.all.count == 3 }
            #expect(answers.all.allSatisfy { if case .failure(StoreError.undone) = $0 { true } else { false } })
            _ = try await store.write(NoteStore.insert("goes on"))
            #expect(try await store.read(NoteStore.texts) == ["first", "goes on"])
        }
    }

    @Test("a commit that fails acknowledges nobody", arguments: CommitUnderTest.all)
    func failedCommit(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            await #expect(throws: StoreError.self) { try await store.write(NoteStore.insert("dangling", answers: 99)) }
            let texts = try await store.read(NoteStore.texts)
            #expect(texts == [])
        }
    }

    @Test("planted fault: acknowledging before the commit loses what it acknowledged", arguments: CommitUnderTest.all)
    func planted(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit, { $0.acknowledge = .beforeCommit }) { store in
            let id = try await store.write(NoteStore.insert("dangling", answers: 99))
            #expect(id == 1)
            try await store.write { _ in }
            #expect(try await store.read(NoteStore.texts) == [])
        }
    }

    @Test("a blocking write from a thread is as durable as another", arguments: CommitUnderTest.all)
    func blocking(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let id = try store.writeNow(NoteStore.insert("now"))
            #expect(id == 1)
            #expect(throws: Refused.self) { try store.writeNow { _ in throw Refused() } }
            #expect(try store.readNow(NoteStore.texts) == ["now"])
        }
    }
}

/// Inserts a note; the text `refused` throws, `dangling` makes the commit fail. Counts how often bodies were performed together.
private struct NoteBody: GatheredBody {
    let text: String
    let rounds: Rounds
    var committed: Rounds?

    static func perform(_ bodies: [NoteBody], in database: Database) throws -> [Int64] {
        bodies.first?.rounds.add(bodies.count)
        return try bodies.map { body in
            let id = try NoteStore.insert(body.text, answers: body.text == "dangling" ? 99 : nil)(database)
            if body.text == "refused" { throw Refused() }
            return id
        }
    }

    static func committed(_ bodies: [NoteBody], _ values: [Int64]) {
        bodies.first?.committed?.add(values.count)
    }
}

private final class Rounds: Sendable {
    private let state = Mutex<[Int]>([])

    var all: [Int] { state.withLock { $0 } }

    func add(_ count: Int) {
        state.withLock { $0.append(count) }
    }
}

@Suite("Gathered bodies")
struct GatheredBodyTests {
    @Test("neighbours of one type are performed together, in their order, and each gets its own value", arguments: CommitUnderTest.all)
    func together(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let rounds = Rounds()
            let release = store.holdWriter()
            let answers = Answers<Int64>()
            for number in 0..<5 { store.enqueue(NoteBody(text: "\(number)", rounds: rounds), answer: answers.add) }
            store.enqueue(NoteStore.insert("another kind"), answer: answers.add)
            for number in 5..<8 { store.enqueue(NoteBody(text: "\(number)", rounds: rounds), answer: answers.add) }
            release.signal()
            try await eventually("nine answers") { answers.all.count == 9 }
            #expect(rounds.all == [5, 3])
            #expect(answers.all.compactMap { try? $0.get() } == Array(1...9))
            #expect(try await store.read(NoteStore.texts) == ["0", "1", "2", "3", "4", "another kind", "5", "6", "7"])
        }
    }

    @Test(
        "ING-14: where one throws, all of them are performed again one by one; it alone is refused, its neighbours are kept once",
        arguments: CommitUnderTest.all)
    func oneThrows(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let rounds = Rounds()
            let release = store.holdWriter()
            let answers = Answers<Int64>()
            for text in ["before", "refused", "after"] { store.enqueue(NoteBody(text: text, rounds: rounds), answer: answers.add) }
            release.signal()
            try await eventually("three answers") { answers.all.count == 3 }
            #expect(rounds.all == [3, 1, 1, 1])
            #expect(answers.all.count { (try? $0.get()) != nil } == 2)
            #expect(answers.all.contains { if case .failure(is Refused) = $0 { true } else { false } })
            #expect(try await store.read(NoteStore.texts) == ["before", "after"])
        }
    }

    @Test(
        "what was committed is said once, before anybody is answered; of what was refused or undone nothing is said",
        arguments: CommitUnderTest.all)
    func committed(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            let (rounds, committed, seen) = (Rounds(), Rounds(), Rounds())
            func enqueue(_ texts: [String]) {
                let release = store.holdWriter()
                for text in texts {
                    store.enqueue(NoteBody(text: text, rounds: rounds, committed: committed)) { _ in seen.add(committed.all.reduce(0, +)) }
                }
                release.signal()
            }
            enqueue(["one", "two", "three"])
            try await eventually("three answers") { seen.all.count == 3 }
            #expect(committed.all == [3] && seen.all == [3, 3, 3])
            enqueue(["four", "refused", "five"])
            try await eventually("six answers") { seen.all.count == 6 }
            #expect(committed.all == [3, 1, 1])
            enqueue(["six", "dangling"])
            try await eventually("eight answers") { seen.all.count == 8 }
            #expect(committed.all == [3, 1, 1])
        }
    }

    @Test("a body that comes alone waits for nobody, however long the window is", arguments: CommitUnderTest.all)
    func alone(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit, { $0.groupCommitWindow = .seconds(3600) }) { store in
            for text in ["one", "two", "three"] { _ = try await store.write(NoteStore.insert(text)) }
            #expect(try await store.read(NoteStore.texts) == ["one", "two", "three"])
        }
    }
}
