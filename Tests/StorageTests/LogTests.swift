// The write-ahead log stays small, and what was deleted leaves it.

import Contracts
import Dispatch
import Foundation
import GRDB
import TestKit
import Testing

@testable import Storage

@Suite("The write-ahead log")
struct LogTests {
    @Test("grows to its limit and is emptied while writes go on")
    func limited() async throws {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder) {
                ($0.checkpointInterval, $0.checkpointPages, $0.logLimit) = (.milliseconds(5), 10, 400_000)
            }
            let log = NoteStore.file(in: folder).path + "-wal"
            for _ in 0..<1000 { store.enqueue(NoteStore.insert(String(repeating: "z", count: 3000))) { _ in } }
            try await eventually("the log is within its limit, and what it held is in the file") {
                _ = try await store.write(NoteStore.insert("one more"))
                return try LogTests.size(log) <= 400_000 && LogTests.size(NoteStore.file(in: folder).path) > 1_000_000
            }
            await store.close()
        }
    }

    @Test("holds nothing after it was emptied, nor does the file hold what was deleted")
    func emptied() async throws {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder)
            let secret = "the one who is erased"
            _ = try await store.write(NoteStore.insert(secret))
            let log = NoteStore.file(in: folder).path + "-wal"
            #expect(try Data(contentsOf: URL(fileURLWithPath: log)).range(of: Data(secret.utf8)) != nil)
            try await store.write { try $0.execute(sql: "DELETE FROM notes") }
            try await store.emptyLog()
            #expect(try LogTests.size(log) == 0)
            #expect(try Data(contentsOf: NoteStore.file(in: folder)).range(of: Data(secret.utf8)) == nil)
            await store.close()
        }
    }

    @Test("After an orderly end the log alone held what was acknowledged, at the mercy of whatever befell it: all of it is in the file")
    func orderlyEnd() async throws {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder)
            _ = try await store.write(NoteStore.insert("kept"))
            #expect(try await store.read(NoteStore.texts) == store.readBriefly(NoteStore.texts))
            await store.close()
            #expect(!FileManager.default.fileExists(atPath: NoteStore.file(in: folder).path + "-wal"))
            let again = try NoteStore.open(in: folder)
            #expect(try await again.read(NoteStore.texts) == ["kept"])
            await again.close()
        }
    }

    @Test("R18: the log hid SQLite's code behind an error's type: it names the code and SQLite's words, and no value")
    func reason() async throws {
        try await withNotes { store in
            let secret = "the one who is ill"
            do {
                try await store.write { db in
                    try db.execute(sql: "INSERT INTO notes (id, text) VALUES (1, ?), (1, ?)", arguments: [secret, secret])
                }
                Issue.record("it was taken")
            } catch {
                #expect(error.logReason.contains("1555") && error.logReason.contains("notes.id"), "\(error.logReason)")
                #expect(!error.logReason.contains(secret))
            }
        }
    }

    @Test("cannot be emptied while somebody still reads an old state, says so, and can afterwards")
    func heldByReader() async throws {
        try await withNotes({ $0.lockTimeout = .milliseconds(50) }) { store in
            _ = try await store.write(NoteStore.insert("first"))
            let (reading, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let reader = Thread {
                _ = try? store.readNow { db in
                    _ = try NoteStore.texts(db)
                    reading.signal()
                    release.wait()
                }
            }
            reader.start()
            await withCheckedContinuation { continuation in
                Thread {
                    reading.wait()
                    continuation.resume()
                }.start()
            }
            _ = try await store.write(NoteStore.insert("second"))
            await #expect(throws: StoreError.busy) { try await store.emptyLog() }
            release.signal()
            try await eventually("the log was emptied") { (try? await store.emptyLog()) != nil }
            let texts = try await store.read(NoteStore.texts)
            #expect(texts == ["first", "second"])
        }
    }

    private static func size(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
}
