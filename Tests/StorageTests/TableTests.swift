// The small tables that make doing something twice the same as doing it once.

import Contracts
import Foundation
import GRDB
import TestKit
import Testing

@testable import Storage

@Suite("Tables of first answers, positions and keys")
struct TableTests {
    private let at = Timestamp(milliseconds: 1_700_000_000_000)

    private func withTables(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        let migration = Migration(1, "tables") { db in
            try ConsumerPositions.create(in: db)
            try AnswerTable.create(in: db)
            try IdempotencyKeys.create(in: db)
            try SnapshotMarks.create(in: db)
            try WrappedKeys.create(in: db)
        }
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder, migrations: [migration])
            try await store.write(body)
            await store.close()
        }
    }

    @Test("positions are replaced and forgotten stream by stream")
    func positions() async throws {
        try await withTables { db throws in
            let positions = ConsumerPositions()
            #expect(try positions.load(db) == [])
            let one = StreamPosition(stream: "one", epoch: "e", next: 5)
            var two = StreamPosition(stream: "two", epoch: "e", next: 1)
            try positions.save(db, [one, two])
            two.next = 9
            try positions.save(db, [two])
            #expect(try positions.load(db) == [one, two])
            try positions.forget(db, ["one", "three"])
            #expect(try positions.load(db) == [two])
        }
    }

    @Test("the first answer to a peer's id stays, for its lifetime")
    func answers() async throws {
        try await withTables { [at] db throws in
            let table = AnswerTable()
            let (one, two) = (Peer("one"), Peer("two"))
            #expect(try table.answer(db, to: one, id: "x") == nil)
            #expect(try table.remember(db, to: one, id: "x", answer: [1], at: at))
            #expect(try !table.remember(db, to: one, id: "x", answer: [2], at: at))
            #expect(try table.answer(db, to: one, id: "x") == [1])
            #expect(try table.answer(db, to: two, id: "x") == nil)
            #expect(try table.expire(db, now: at + AnswerTable.lifetime) == 0)
            #expect(try table.expire(db, now: at + AnswerTable.lifetime + .milliseconds(1)) == 1)
            #expect(try table.answer(db, to: one, id: "x") == nil)
        }
    }

    @Test("an empty answer is an answer")
    func emptyAnswer() async throws {
        try await withTables { [at] db throws in
            try AnswerTable().remember(db, to: .trackme, id: "x", answer: [], at: at)
            #expect(try AnswerTable().answer(db, to: .trackme, id: "x") == [])
        }
    }

    @Test("an idempotency key repeats its first answer, refuses another body, and expires")
    func idempotency() async throws {
        try await withTables { [at] db throws in
            let table = IdempotencyKeys()
            func find(_ scope: [UInt8], _ key: [UInt8], _ hash: [UInt8]) throws -> IdempotencyKeys.Finding {
                try table.find(db, scope: scope, key: key, bodyHash: hash)
            }
            #expect(try find([1], [1], [5]) == .unused)
            #expect(try table.remember(db, scope: [1], key: [1], bodyHash: [5], status: 201, answer: [9], at: at))
            #expect(try !table.remember(db, scope: [1], key: [1], bodyHash: [6], status: 200, answer: [8], at: at))
            #expect(try find([1], [1], [5]) == .repeated(status: 201, answer: [9]))
            #expect(try find([1], [1], [6]) == .otherBody)
            #expect(try find([2], [1], [5]) == .unused)
            #expect(try find([1], [2], [5]) == .unused)
            #expect(try table.expire(db, now: at + IdempotencyKeys.lifetime) == 0)
            #expect(try table.expire(db, now: at + IdempotencyKeys.lifetime + .milliseconds(1)) == 1)
            #expect(try find([1], [1], [5]) == .unused)
        }
    }

    @Test("S11: keys and answers that are too old are forgotten 500 at a time, the oldest first, and no others")
    func expiresInSteps() async throws {
        try await withTables { [at] db throws in
            for number in 0..<1200 {
                let key = withUnsafeBytes(of: number) { Array($0) }
                let time = at + .milliseconds(number)
                try IdempotencyKeys().remember(db, scope: [1], key: key, bodyHash: [], status: 200, answer: [], at: time)
                try AnswerTable().remember(db, to: .trackme, id: "\(number)", answer: [], at: time)
            }
            let now = at + .milliseconds(1100) + IdempotencyKeys.lifetime
            #expect(IdempotencyKeys.lifetime == AnswerTable.lifetime)
            var forgotten: [[Int]] = [[], []]
            for _ in 0..<4 {
                forgotten[0].append(try IdempotencyKeys().expire(db, now: now))
                forgotten[1].append(try AnswerTable().expire(db, now: now))
            }
            #expect(forgotten == [[500, 500, 100, 0], [500, 500, 100, 0]])
            #expect(try AnswerTable().answer(db, to: .trackme, id: "1099") == nil)
            #expect(try AnswerTable().answer(db, to: .trackme, id: "1100") == [])
        }
    }

    @Test("S5: marks of a snapshot are its stream's own, count once, and are cleared a few at a time")
    func marks() async throws {
        try await withTables { db throws in
            let marks = SnapshotMarks()
            for key in [[1], [2], [2], [3]] as [[UInt8]] { try marks.mark(db, "a", key) }
            try marks.mark(db, "b", [4])
            #expect(try [[1], [2], [3], [4]].map { try marks.isMarked(db, "a", $0) } == [true, true, true, false])
            #expect(try [2, 2, 2].map { try marks.clear(db, "a", limit: $0) } == [2, 1, 0])
            #expect(try marks.isMarked(db, "b", [4]) && !marks.isMarked(db, "a", [3]))
        }
    }

    @Test("CON-02: a person has one key; destroyed, it is gone and never made again")
    func keys() async throws {
        try await withTables { [at] db throws in
            let (keys, person, other) = (WrappedKeys(), PersonID(bits: 1), PersonID(bits: 2))
            #expect(try keys.find(db, of: person) == .none)
            #expect(try keys.make(db, of: person, wrapped: [1, 2], at: at) == .wrapped([1, 2]))
            #expect(try keys.make(db, of: person, wrapped: [3], at: at) == .wrapped([1, 2]))
            _ = try keys.make(db, of: other, wrapped: [5], at: at)
            #expect(try keys.page(db, after: nil, limit: 1).map(\.wrapped) == [[1, 2]])
            #expect(try keys.page(db, after: person, limit: 9).map(\.subject) == [other])
            try keys.destroy(db, of: person, at: at)
            try keys.destroy(db, of: person, at: at + .seconds(1))
            #expect(try keys.find(db, of: person) == .destroyed(at: at))
            #expect(try keys.make(db, of: person, wrapped: [6], at: at) == .destroyed(at: at))
            #expect(try keys.page(db, after: nil, limit: 9).map(\.subject) == [other])
            try keys.destroy(db, of: PersonID(bits: 3), at: at)
            #expect(try keys.make(db, of: PersonID(bits: 3), wrapped: [8], at: at) == .destroyed(at: at))
        }
    }
}
