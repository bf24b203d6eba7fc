// A store whose disk is played: the real file and real transactions, when and if the disk says so.

import Foundation
import GRDB
import Synchronization
import Testing

@testable import Storage

/// Refuses when it is told to.
private final class MoodyDisk: PlayedDisk {
    let refuses = Atomic(false)

    func write<Value: Sendable>(_ commit: @Sendable () throws -> Value) async throws -> Value {
        if refuses.load(ordering: .relaxed) { throw StoreError.full }
        return try commit()
    }
}

@Suite("Played disk")
struct PlayedDiskTests {
    @Test("What a played disk takes is in the file, what it refuses is not, and a body that throws undoes itself alone")
    func takesAndRefuses() async throws {
        let disk = MoodyDisk()
        try await withNotes({ $0.disk = disk }) { store in
            _ = try await store.write(NoteStore.insert("taken"))
            disk.refuses.store(true, ordering: .relaxed)
            await #expect(throws: StoreError.full) { try await store.write(NoteStore.insert("refused")) }
            disk.refuses.store(false, ordering: .relaxed)
            await #expect(throws: (any Error).self) { try await store.write(NoteStore.insert("answers nobody", answers: 77)) }
            _ = try store.writeNow(NoteStore.insert("at once"))
            #expect(try await store.read(NoteStore.texts) == ["taken", "at once"])
        }
    }
}
