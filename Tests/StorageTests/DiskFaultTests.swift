// What a store does when its disk is full, or lies.

import Contracts
import Foundation
import GRDB
import Synchronization
import TestKit
import Testing

@testable import Storage

@Suite("Faults of the disk")
struct DiskFaultTests {
    @Test("R18: what SQLite refuses is logged with its code and without the value that it refused")
    func logged() async throws {
        try await withNotes { store in
            let error = await #expect(throws: (any Error).self) {
                try await store.write { db in try db.execute(sql: "INSERT INTO notes (nothing) VALUES (?)", arguments: ["73.28125"]) }
            }
            let reason = error?.logReason ?? ""
            #expect(reason.contains("SQLite 1:") && !reason.contains("73.28125"), "\(reason)")
            #expect(StoreError.undone(code: 787).logReason.contains("787"))
            #expect(!CocoaError(.fileNoSuchFile).logReason.contains("file"))
        }
    }

    @Test(
        "a full disk refuses clearly, keeps what was acknowledged, and takes writes again when there is room",
        arguments: CommitUnderTest.all)
    func full(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            _ = try await store.write(NoteStore.insert("small"))
            let pages = try store.writeNow { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages + 4)")
                return pages
            }
            let large = String(repeating: "x", count: 40_000)
            await #expect(throws: StoreError.full) { try await store.write(NoteStore.insert(large)) }
            await #expect(throws: StoreError.full) { try await store.write(NoteStore.insert(large)) }
            _ = try await store.write(NoteStore.insert("fits"))
            #expect(try await store.read(NoteStore.texts) == ["small", "fits"])
            _ = try store.writeNow { try Int.fetchOne($0, sql: "PRAGMA max_page_count = \(pages + 1000)") }
            _ = try await store.write(NoteStore.insert(large))
            #expect(try await store.read(NoteStore.texts).count == 3)
        }
    }

    @Test("a store that nobody writes to said that there is room on a full disk, until somebody tried; and after each start again")
    func fullAndIdle() async throws {
        let free = Mutex<Int64?>(nil)
        let settings: (inout StoreSettings) -> Void = { $0.freeBytes = { _ in free.withLock { $0 } } }
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder, settings)
            #expect(await store.hasRoom(), "what is left is not known, and nothing was refused")
            free.withLock { $0 = 0 }
            #expect(await !store.hasRoom())
            // Fits into the file of the log, and says nothing of the next.
            _ = try await store.write(NoteStore.insert("small"))
            #expect(await !store.hasRoom())
            await store.close()

            let again = try NoteStore.open(in: folder, settings)
            #expect(await !again.hasRoom())
            free.withLock { $0 = 1 << 30 }
            #expect(await again.hasRoom())
            await again.close()
        }
        #expect(DiskRoom.free(beside: "/tmp").map { $0 >= 0 } == true && DiskRoom.free(beside: "/no/such/folder") == nil)
    }

    @Test("on a full disk the others of the group are refused, not lost in silence", arguments: CommitUnderTest.all)
    func fullGroup(commit: CommitUnderTest) async throws {
        try await withNotes(of: commit) { store in
            try store.writeNow { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages + 2)")
            }
            let release = store.holdWriter()
            let answers = Answers<Int64>()
            for text in ["one", String(repeating: "x", count: 40_000), "two"] {
                store.enqueue(NoteStore.insert(text), answer: answers.add)
            }
            release.signal()
            try await eventually("three answers") { answers.all.count == 3 }
            let acknowledged = answers.all.count { (try? $0.get()) != nil }
            #expect(try await store.read(NoteStore.texts).count == acknowledged)
            #expect(answers.all.allSatisfy { if case .failure(let error) = $0 { error as? StoreError == .full } else { true } })
        }
    }

    @Test(
        "an I/O error, damage or a file that is none ends the process before anybody is told of success",
        arguments: CommitUnderTest.all, [ResultCode.SQLITE_IOERR_FSYNC, .SQLITE_IOERR_WRITE, .SQLITE_CORRUPT, .SQLITE_NOTADB])
    func fatalInBody(commit: CommitUnderTest, code: ResultCode) async throws {
        let codes = Mutex<[Int32]>([])
        try await withTemporaryFolder { folder in
            let store = try commit.open(folder) { $0.onFatal = { code in codes.withLock { $0.append(code) } } }
            let release = store.holdWriter()
            let answers = Answers<Int64>()
            store.enqueue(NoteStore.insert("before"), answer: answers.add)
            store.enqueue({ _ in throw DatabaseError(resultCode: code) }, answer: answers.add)
            store.enqueue(NoteStore.insert("after"), answer: answers.add)
            release.signal()
            try await eventually("three answers") { answers.all.count == 3 }
            #expect(answers.all.allSatisfy { if case .failure(StoreError.broken) = $0 { true } else { false } })
            #expect(codes.withLock { $0 } == [code.rawValue])
            await #expect(throws: StoreError.closed) { try await store.write(NoteStore.insert("later")) }
            await store.close()
            let again = try commit.open(folder) { _ in }
            #expect(try await again.read(NoteStore.texts) == [])
            await again.close()
        }
    }

    @Test("a damaged file ends the process at the first read that meets the damage", arguments: [true, false])
    func damaged(byReading: Bool) async throws {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder)
            for number in 0..<200 {
                store.enqueue(NoteStore.insert("\(number)" + String(repeating: "y", count: 500))) { _ in }
            }
            await store.close()

            let codes = Mutex<[Int32]>([])
            let damaged = try NoteStore.open(in: folder) { $0.onFatal = { code in codes.withLock { $0.append(code) } } }
            // Under the open store: a small file that is damaged before refuses the start. What the start has read is forgotten.
            try await damaged.write { try $0.execute(sql: "PRAGMA shrink_memory") }
            let file = try FileHandle(forUpdating: NoteStore.file(in: folder))
            let size = try file.seekToEnd()
            try file.seek(toOffset: 4096)
            try file.write(contentsOf: Data(repeating: 0xa5, count: Int(size) - 4096))
            try file.close()
            if byReading {
                await #expect(throws: StoreError.broken) { try await damaged.read(NoteStore.texts) }
            } else {
                await #expect(throws: StoreError.broken) { try await damaged.write(NoteStore.insert("more")) }
            }
            #expect(codes.withLock { $0.map { $0 & 0xff } } == [11])
            await damaged.close()
        }
    }

    @Test("by default the process ends at once with 70, which the supervisor answers with a new start")
    func exitCode() async {
        await #expect(processExitsWith: .exitCode(70)) { StoreSettings().onFatal(10) }
    }
}
