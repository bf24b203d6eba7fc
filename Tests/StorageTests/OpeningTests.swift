// What a store proves before it takes the first write.

import Contracts
import Foundation
import GRDB
import Synchronization
import TestKit
import Testing

@testable import Storage

@Suite("Opening a store")
struct OpeningTests {
    @Test("ING-11: every setting that durability rests on is read back, and synchronous is FULL")
    func recipe() async throws {
        try await withNotes { store in
            let found = try store.writeNow { db in
                try [
                    "synchronous", "foreign_keys", "trusted_schema", "cell_size_check", "secure_delete", "mmap_size", "temp_store",
                    "wal_autocheckpoint", "busy_timeout", "journal_size_limit",
                ].map { try Int.fetchOne(db, sql: "PRAGMA \($0)") }
            }
            #expect(found == [2, 1, 0, 1, 1, 0, 2, 0, 2000, 64 << 20])
            let mode = try store.writeNow { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
            #expect(mode == "wal")
        }
    }

    @Test("a fault test may ask for NORMAL, and gets what it asked for")
    func normal() async throws {
        try await withNotes({ $0.synchronous = .normal }) { store in
            let found = try store.writeNow { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
            #expect(found == 1)
        }
    }

    @Test("readers cannot write and keep the same settings")
    func readers() async throws {
        try await withNotes { store in
            let settings = try await store.read { db in
                try ["foreign_keys", "trusted_schema", "mmap_size", "temp_store"].map { try Int.fetchOne(db, sql: "PRAGMA \($0)") }
            }
            #expect(settings == [1, 0, 0, 2])
            await #expect(throws: DatabaseError.self) { try await store.read { try $0.execute(sql: "DELETE FROM notes") } }
        }
    }

    @Test("the file and its folder can be read by their owner alone")
    func rights() async throws {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder.appendingPathComponent("deep/er"))
            let file = NoteStore.file(in: folder.appendingPathComponent("deep/er")).path
            for (path, rights) in [(file, 0o600), (file + "-wal", 0o600), (file + "-shm", 0o600), (folder.path + "/deep/er", 0o700)] {
                let found = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(found == rights, "\(path)")
            }
            await store.close()
        }
    }

    @Test("migrations run once, in order, and later ones are added to an old file")
    func migrations() async throws {
        try await withTemporaryFolder { folder in
            let runs = Mutex<[Int]>([])
            let counting = { (number: Int) in
                Migration(number, "step") { db in
                    runs.withLock { $0.append(number) }
                    try db.execute(sql: "CREATE TABLE step\(number) (id INTEGER PRIMARY KEY) STRICT")
                }
            }
            for last in [2, 2, 3] {
                let store = try NoteStore.open(in: folder, migrations: (1...last).map(counting))
                let version = try store.writeNow { try Int.fetchOne($0, sql: "PRAGMA user_version") }
                #expect(version == last)
                await store.close()
            }
            #expect(runs.withLock { $0 } == [1, 2, 3])
        }
    }

    @Test("a migration that fails leaves nothing of itself")
    func failedMigration() async throws {
        try await withTemporaryFolder { folder in
            let broken = Migration(2, "broken") { db in
                try db.execute(sql: "CREATE TABLE half (id INTEGER PRIMARY KEY) STRICT")
                throw StoreError.full
            }
            #expect(throws: StoreError.full) { try NoteStore.open(in: folder, migrations: NoteStore.migrations + [broken]) }
            let store = try NoteStore.open(in: folder)
            let isThere = try store.readNow { try $0.tableExists("half") }
            #expect(!isThere)
            await store.close()
        }
    }

    @Test("a file of a newer program is refused and left alone")
    func newer() async throws {
        try await withTemporaryFolder { folder in
            let second = Migration(2, "more") { try $0.execute(sql: "CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT") }
            await (try NoteStore.open(in: folder, migrations: NoteStore.migrations + [second])).close()
            let before = try Data(contentsOf: NoteStore.file(in: folder))
            #expect(throws: StoreError.newerSchema(found: 2, known: 1)) { try NoteStore.open(in: folder) }
            #expect(try Data(contentsOf: NoteStore.file(in: folder)) == before)
        }
    }

    @Test(
        "X16: a flipped byte in `user_version` trapped and printed registers and memory: whatever it says, the start is refused",
        arguments: [-1, .min, .max, 99] as [Int32])
    func flippedVersion(_ version: Int32) async throws {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder)
            await store.close()
            let file = try DatabaseQueue(path: NoteStore.file(in: folder).path)
            try await file.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = \(version)") }
            try file.close()
            _ = #expect(throws: StoreError.newerSchema(found: Int(version), known: 1)) { try NoteStore.open(in: folder) }
        }
    }

    @Test(
        "X16: a store that did not open was told as `inUse` or `cannotOpen(code: 26)`: file, cause and mend are",
        arguments: [StoreError.inUse, .cannotOpen(code: 26), .unreachable(errno: ENOENT), .newerSchema(found: -1, known: 1)])
    func told(_ error: StoreError) {
        let text = "\(UnopenedStore(URL(fileURLWithPath: "/var/lib/trackme/ingest/ingest.db"), error))"
        #expect(text.hasPrefix("/var/lib/trackme/ingest/ingest.db: \(error.cause). ") && text.hasSuffix(error.mend))
        #expect(!error.cause.isEmpty && !error.mend.isEmpty && !text.contains("\(error)"))
    }

    @Test("a file of another program is refused and left alone")
    func foreign() async throws {
        try await withTemporaryFolder { folder in
            let other = try DatabaseQueue(path: NoteStore.file(in: folder).path)
            try other.inDatabase { try $0.execute(sql: "CREATE TABLE theirs (a); PRAGMA application_id = 7") }
            try other.close()
            let before = try Data(contentsOf: NoteStore.file(in: folder))
            #expect(throws: StoreError.foreign(applicationID: 7)) { try NoteStore.open(in: folder) }
            #expect(try Data(contentsOf: NoteStore.file(in: folder)) == before)
        }
    }

    @Test("a file that is no database is refused with SQLite's code")
    func picture() async throws {
        try await withTemporaryFolder { folder in
            try Data(repeating: 0x42, count: 8192).write(to: NoteStore.file(in: folder))
            #expect(throws: StoreError.cannotOpen(code: 26)) { try NoteStore.open(in: folder) }
        }
    }

    @Test("the same file cannot be opened twice, and can after the first is closed")
    func twice() async throws {
        try await withTemporaryFolder { folder in
            let store = try NoteStore.open(in: folder)
            #expect(throws: StoreError.inUse) { try NoteStore.open(in: folder) }
            await store.close()
            await (try NoteStore.open(in: folder)).close()
        }
    }

    @Test("a table that is not STRICT stops the start")
    func lax() async throws {
        try await withTemporaryFolder { folder in
            let lax = Migration(1, "lax") { try $0.execute(sql: "CREATE TABLE lax (id INTEGER PRIMARY KEY)") }
            #expect(throws: StoreError.tableNotStrict("lax")) { try NoteStore.open(in: folder, migrations: [lax]) }
        }
    }

    @Test("migrations that skip a number stop the start")
    func skipped() async throws {
        try await withTemporaryFolder { folder in
            _ = #expect(throws: StoreError.misnumberedMigration(3)) {
                try NoteStore.open(in: folder, migrations: NoteStore.migrations + [Migration(3, "late") { _ in }])
            }
        }
    }

    @Test("ING-11: what was written is there after closing and opening again")
    func reopening() async throws {
        try await withTemporaryFolder { folder in
            let first = try NoteStore.open(in: folder)
            _ = try await first.write(NoteStore.insert("kept"))
            await first.close()
            await #expect(throws: StoreError.closed) { try await first.write(NoteStore.insert("late")) }
            await #expect(throws: StoreError.closed) { try await first.read(NoteStore.texts) }
            let second = try NoteStore.open(in: folder)
            #expect(try await second.read(NoteStore.texts) == ["kept"])
            await second.close()
        }
    }
}
