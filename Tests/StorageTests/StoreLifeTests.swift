// A store that was put back from a copy is told from one that goes on, whatever is killed when.

import Foundation
import GRDB
import Synchronization
import TestKit
import Testing

@testable import Storage

@Suite("The life of a store")
struct StoreLifeTests {
    private static let migrations = NoteStore.migrations + [Migration(2, "life") { db in try StoreLife.create(in: db) }]

    private static func life(in folder: URL) -> StoreLife { StoreLife(beside: NoteStore.file(in: folder)) }

    private static func witness(in folder: URL) -> URL { folder.appendingPathComponent("notes.life") }

    /// One run of a service.
    /// - Returns: whether it found its store put back.
    private func run(
        in folder: URL, migrations: [Migration] = StoreLifeTests.migrations, _ body: (Store) async throws -> Void = { _ in }
    ) async throws -> Bool {
        let store = try NoteStore.open(in: folder, migrations: migrations)
        let isRestored = try await Self.life(in: folder).begin(store) { db in _ = try NoteStore.insert("restored")(db) }
        try await body(store)
        await store.close()
        return isRestored
    }

    private func texts(in folder: URL) async throws -> [String] {
        let store = try NoteStore.open(in: folder, migrations: Self.migrations)
        let texts = try await store.read(NoteStore.texts)
        await store.close()
        return texts
    }

    /// What an operator does: the service is stopped.
    private func putBack(_ copy: URL, in folder: URL) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: NoteStore.file(in: folder).path + suffix) }
        try FileManager.default.copyItem(at: copy, to: NoteStore.file(in: folder))
    }

    @Test("a new store, a restart and a store from before this was kept all go on; nothing begins anew")
    func goesOn() async throws {
        try await withTemporaryFolder { folder in
            let old = try NoteStore.open(in: folder)
            await old.close()
            for _ in 0..<3 { #expect(try await run(in: folder) == false) }
            #expect(try await texts(in: folder) == [])
        }
    }

    @Test("a copy that is put back is noticed at the next start, once, also where it was made by the run before")
    func putBack() async throws {
        try await withTemporaryFolder { folder in
            let copy = folder.appendingPathComponent("copy.db")
            let isRestored = try await run(in: folder) { store in try await store.copy(to: copy) }
            #expect(!isRestored)
            #expect(try await run(in: folder) == false)
            try putBack(copy, in: folder)
            #expect(try await run(in: folder))
            #expect(try await texts(in: folder) == ["restored"])
            #expect(try await run(in: folder) == false)
            #expect(try await texts(in: folder) == ["restored"])
            // The same copy once more.
            try putBack(copy, in: folder)
            #expect(try await run(in: folder))
            #expect(try await run(in: folder) == false)
        }
    }

    @Test("a copy of the same run is noticed once the mark has changed, as it does each minute and at the end of a run")
    func sameRun() async throws {
        try await withTemporaryFolder { folder in
            let copy = folder.appendingPathComponent("copy.db")
            _ = try await run(in: folder) { store in
                try await store.copy(to: copy)
                let life = Self.life(in: folder)
                let running = Task { try await life.run(store) }
                running.cancel()
                await #expect(throws: CancellationError.self) { try await running.value }
                try await life.goOn(store)
            }
            try putBack(copy, in: folder)
            #expect(try await run(in: folder))
        }
    }

    @Test("on another machine, where nothing is beside the store, it was put back; a copy from before this was kept too")
    func elsewhere() async throws {
        try await withTemporaryFolder { folder in
            let (copy, older) = (folder.appendingPathComponent("copy.db"), folder.appendingPathComponent("older.db"))
            let old = try NoteStore.open(in: folder)
            try await old.copy(to: older)
            await old.close()
            _ = try await run(in: folder) { store in try await store.copy(to: copy) }
            try FileManager.default.removeItem(at: Self.witness(in: folder))
            #expect(try await run(in: folder))
            try putBack(older, in: folder)
            #expect(try await run(in: folder))
        }
    }

    @Test("a kill between file and store, on either side of each write, is no restore; one while a new epoch begins does not lose it")
    func kills() async throws {
        try await withTemporaryFolder { folder in
            _ = try await run(in: folder)
            let (witness, copy) = (Self.witness(in: folder), folder.appendingPathComponent("copy.db"))
            let before = try Data(contentsOf: witness)
            let known = try #require(try JSONDecoder().decode([String].self, from: before).first)
            // The file knows both, and the store still has the old one.
            try JSONEncoder().encode([known, "next"]).write(to: witness)
            let isRestored = try await run(in: folder) { store in try await store.copy(to: copy) }
            #expect(!isRestored)
            // The store has the new one, and the file knows both.
            let now = try #require(try JSONDecoder().decode([String].self, from: Data(contentsOf: witness)).first)
            try JSONEncoder().encode(["earlier", now]).write(to: witness)
            #expect(try await run(in: folder) == false)
            // Put back, and killed when the file knew the new mark already and the store not yet.
            try putBack(copy, in: folder)
            try JSONEncoder().encode(["fresh"]).write(to: witness)
            #expect(try await run(in: folder))
        }
    }

    @Test("Damage to the end of the log was taken for a store that was put back: the start is refused and names the log")
    func damagedEnd() async throws {
        try await withTemporaryFolder { folder in
            let (whole, damaged) = (folder.appendingPathComponent("whole"), folder.appendingPathComponent("damaged"))
            _ = try await run(in: folder) { store in
                // Its mark is the last commit.
                try await Self.life(in: folder).goOn(store)
                for image in [whole, damaged] {
                    try FileManager.default.createDirectory(at: image, withIntermediateDirectories: false)
                    for name in ["notes.db", "notes.db-wal", "notes.life"] {
                        try FileManager.default.copyItem(at: folder.appendingPathComponent(name), to: image.appendingPathComponent(name))
                    }
                }
            }
            #expect(try await run(in: whole) == false, "as a kill leaves them")

            let log = damaged.appendingPathComponent("notes.db-wal")
            var bytes = Array(try Data(contentsOf: log))
            bytes[bytes.count - 1000] ^= 1
            try Data(bytes).write(to: log)
            for _ in 0..<2 {
                let error = await #expect(throws: StoreError.self) { _ = try await run(in: damaged) }
                guard case .damagedLog(let frame, let count)? = error else { throw try #require(error) }
                #expect(frame > 0 && frame <= count)
                #expect(Array(try Data(contentsOf: log)) == bytes)
            }
        }
    }

    @Test("A power cut while a store that was put back begins anew, and tears its log, is no damage")
    func cutAtBeginning() async throws {
        try await withTemporaryFolder { folder in
            let image = folder.appendingPathComponent("image")
            try FileManager.default.createDirectory(at: image, withIntermediateDirectories: false)
            _ = try await run(in: folder) { store in
                _ = try await store.write(NoteStore.insert("last"))
                for name in ["notes.db", "notes.db-wal"] {
                    try FileManager.default.copyItem(at: folder.appendingPathComponent(name), to: image.appendingPathComponent(name))
                }
            }
            let log = image.appendingPathComponent("notes.db-wal")
            try Data(try Data(contentsOf: log).dropLast(1000)).write(to: log)
            try JSONEncoder().encode(["fresh", "beginning"]).write(to: Self.witness(in: image))
            #expect(try await run(in: image))
            #expect(try await run(in: image) == false)
        }
    }

    @Test("what has to begin anew is one with the mark: where it fails it is done at the next start")
    func atomic() async throws {
        try await withTemporaryFolder { folder in
            let copy = folder.appendingPathComponent("copy.db")
            _ = try await run(in: folder) { store in try await store.copy(to: copy) }
            _ = try await run(in: folder)
            try putBack(copy, in: folder)
            let store = try NoteStore.open(in: folder, migrations: Self.migrations)
            await #expect(throws: Refused.self) { try await Self.life(in: folder).begin(store) { _ in throw Refused() } }
            await store.close()
            #expect(try await run(in: folder))
        }
    }
}
