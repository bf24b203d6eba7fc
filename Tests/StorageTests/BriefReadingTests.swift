// Reads on the calling thread are reads like others, and nobody waits for anybody else's.

import Foundation
import GRDB
import Synchronization
import TestKit
import Testing

@testable import Storage

@Suite("Brief reads")
struct BriefReadingTests {
    @Test("a brief read sees everything acknowledged, on connections that cannot write and keep the settings", arguments: [0, 1, 2])
    func reads(most: Int) async throws {
        try await withNotes({ $0.briefReaders = most }) { store in
            for round in 1...3 {
                _ = try await store.write(NoteStore.insert("note \(round)"))
                #expect(try await store.readBriefly(NoteStore.texts) == (1...round).map { "note \($0)" })
            }
            let settings = try await store.readBriefly { db in
                try ["foreign_keys", "trusted_schema", "mmap_size", "temp_store"].map { try Int.fetchOne(db, sql: "PRAGMA \($0)") }
            }
            #expect(settings == [1, 0, 0, 2])
            await #expect(throws: DatabaseError.self) { try await store.readBriefly { try $0.execute(sql: "DELETE FROM notes") } }
            #expect(try await store.readBriefly(NoteStore.texts).count == 3)
        }
    }

    @Test("a brief read holds nothing afterwards: the log can be emptied at once")
    func holdsNothing() async throws {
        try await withNotes { store in
            _ = try await store.write(NoteStore.insert("first"))
            _ = try await store.readBriefly(NoteStore.texts)
            try await store.emptyLog()
            #expect(try await store.readBriefly(NoteStore.texts) == ["first"])
        }
    }

    @Test("after closing there is nothing to read, however often it was read before")
    func closed() async throws {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder)
            _ = try await store.readBriefly(NoteStore.texts)
            await store.close()
            await #expect(throws: StoreError.closed) { try await store.readBriefly(NoteStore.texts) }
        }
    }

    @Test("connections are opened one by one up to their number, go round, and closing waits for those that read")
    func connections() async throws {
        let readers = BriefReaders(most: 2) { try DatabaseQueue() }
        let first = try #require(try readers.take())
        let second = try #require(try readers.take())
        #expect(try readers.take() == nil, "nobody waits")
        readers.giveBack(first)
        #expect(try readers.take() === first)
        readers.giveBack(first)
        await withCheckedContinuation { continuation in
            Thread {
                readers.close()
                continuation.resume()
            }.start()
            readers.giveBack(second)
        }
        #expect(try readers.take() == nil, "what is closed is given to nobody")
    }

    @Test("where no connection can be opened others read, and it is tried again; a damaged file is said")
    func failsOnce() throws {
        let tried = Atomic(0)
        let readers = BriefReaders(most: 1) {
            tried.wrappingAdd(1, ordering: .relaxed)
            throw DatabaseError(resultCode: .SQLITE_CANTOPEN)
        }
        for _ in 0..<2 { #expect(try readers.take() == nil) }
        #expect(tried.load(ordering: .relaxed) == 2)
        readers.close()
        let damaged = BriefReaders(most: 1) { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        #expect(throws: DatabaseError.self) { try damaged.take() }
    }

    @Test("commits are counted by the time their writers are told; what is undone, and what reads, is none")
    func commits() async throws {
        try await withNotes { store in
            var last = store.commits
            for round in 0..<20 {
                _ = try await store.write(NoteStore.insert("note \(round)"))
                #expect(store.commits > last)
                last = store.commits
            }
            _ = try await store.read(NoteStore.texts)
            _ = try await store.readBriefly(NoteStore.texts)
            #expect(store.commits == last)
        }
    }
}
