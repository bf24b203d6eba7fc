// A person's key: made once, the same after a restart, gone when destroyed.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import Storage
import TestKit
import Testing

@testable import ServiceKit

@Suite("PersonKeys")
struct PersonKeysTests {
    private let wrapping = KeyEncryptionKey(.random())
    private let person = PersonID.random()

    private func open(_ folder: URL, _ wrapping: KeyEncryptionKey) throws -> PersonKeys {
        try PersonKeys(
            folder.appendingPathComponent("x-keys.db"), wrappedBy: wrapping, settings: StoreSettings(), logger: Logger(label: "test"))
    }

    @Test("the same key opens after a restart what it sealed before")
    func survivesRestart() async throws {
        try await withTemporaryFolder { folder in
            let before = try open(folder, wrapping)
            let sealed = try await Seal.seal(Array("72".utf8), key: before.makeKey(for: person), context: [])
            await before.close()

            let after = try open(folder, wrapping)
            let key = try #require(try after.key(of: person))

            #expect(try Seal.open(sealed, key: key, context: []) == Array("72".utf8))
            await after.close()
        }
    }

    @Test(
        "With the write-ahead log of a killed service went the keys that stood in it alone, and nobody noticed: they are in the file"
    )
    func withoutLog() async throws {
        try await withTemporaryFolder { folder in
            let keys = try open(folder, wrapping)
            let key = try await keys.makeKey(for: person)
            #expect(try keys.isKept(.random(), named: "lookup.key"))

            try await eventually("the file alone, as a kill leaves it with its log removed since, has the key and the check of the secret")
            {
                let killed = folder.appendingPathComponent(UUID().uuidString, isDirectory: true)
                try FileManager.default.createDirectory(at: killed, withIntermediateDirectories: false)
                try FileManager.default.copyItem(
                    at: folder.appendingPathComponent("x-keys.db"), to: killed.appendingPathComponent("x-keys.db"))
                let after = try open(killed, wrapping)
                let isWhole = try after.key(of: person)?.bytes == key.bytes && !after.isKept(.random(), named: "lookup.key")
                await after.close()
                return isWhole
            }
            await keys.close()
        }
    }

    @Test("a person nobody has made a key for has none")
    func unknownPerson() async throws {
        try await withTemporaryFolder { folder in
            let keys = try open(folder, wrapping)

            #expect(try keys.key(of: person) == nil)
            await keys.close()
        }
    }

    @Test("CON-02: a destroyed key is gone, its bytes leave the files, and no other is ever made for the person")
    func destroyed() async throws {
        try await withTemporaryFolder { folder in
            let keys = try open(folder, wrapping)
            _ = try await keys.makeKey(for: person)

            try await keys.destroyKey(of: person)

            #expect(try keys.key(of: person) == nil)
            await #expect(throws: KeyDestroyed.self) { try await keys.makeKey(for: person) }
            await keys.close()
        }
    }

    @Test("many askers at once get one key")
    func concurrent() async throws {
        try await withTemporaryFolder { folder in
            let keys = try open(folder, wrapping)

            let made = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<50 { group.addTask { try await keys.makeKey(for: person).bytes } }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }

            #expect(made.count == 1)
            await keys.close()
        }
    }

    // MARK: Damage

    private func file(_ folder: URL) -> URL { folder.appendingPathComponent("x-keys.db") }

    private func opened(_ folder: URL) throws -> PersonKeys {
        try PersonKeys(
            file(folder), wrappedBy: wrapping, settings: StoreSettings(),
            backups: KeyBackups(folder: folder.appendingPathComponent("copies"), name: "x-keys"), logger: Logger(label: "test"))
    }

    private func wrapped(_ file: URL) throws -> [UInt8] {
        try #require(try Store.readCopy(file) { db in try WrappedKeys().living(db, of: person)?.wrapped })
    }

    /// One run that ends in order, after which one bit of the person's key is flipped.
    /// - Returns: the key, and what is stored of it now.
    private func damaging(in folder: URL, _ body: (PersonKeys) async throws -> Void) async throws -> (key: [UInt8], stored: [UInt8]) {
        let keys = try opened(folder)
        _ = try await keys.makeKey(for: person)
        try await body(keys)
        let key = try await keys.makeKey(for: person).bytes
        await keys.close()
        try flipBit(of: wrapped(file(folder)), in: file(folder))
        return (key, try wrapped(file(folder)))
    }

    @Test("One flipped bit in one person's key was everybody's end: it concerns that person, and no other key takes its place")
    func damaged() async throws {
        try await withTemporaryFolder { folder in
            let other = PersonID.random()
            let (_, stored) = try await damaging(in: folder) { keys in _ = try await keys.makeKey(for: other) }

            let keys = try opened(folder)
            #expect(keys.remarks.isEmpty)
            #expect(throws: DamagedKey.self) { try keys.key(of: person) }
            await #expect(throws: DamagedKey.self) { try await keys.makeKey(for: person) }
            #expect(try keys.key(of: other) != nil && keys.usableKey(of: person) == nil && !keys.isDestroyed(person))
            let remark = try #require(keys.remarks.first)
            #expect(remark.contains(file(folder).path) && remark.contains("copies/x-keys.1.db"))
            try await keys.renewBackups()
            #expect(try wrapped(file(folder)) == stored)

            try await keys.destroyKey(of: person)
            #expect(try keys.key(of: person) == nil && keys.isDestroyed(person) && keys.remarks.isEmpty)
            await keys.close()
        }
    }

    @Test("The copies of the keys were of no use to a damaged one, and each new copy took a whole one away: it is put back from there")
    func putBack() async throws {
        try await withTemporaryFolder { folder in
            let (key, stored) = try await damaging(in: folder) { keys in try await keys.renewBackups() }

            let keys = try opened(folder)
            #expect(try keys.key(of: person)?.bytes == key && keys.remarks.isEmpty)
            let keeping = Task { try await keys.keepBackups() }
            try await eventually("the file has it again", isTrue: { try wrapped(file(folder)) != stored })
            keeping.cancel()
            _ = await keeping.result
            await keys.close()

            let again = try open(folder, wrapping)
            #expect(try again.key(of: person)?.bytes == key, "without any copy")
            await again.close()
        }
    }

    @Test("A key that was destroyed is not taken from an old copy in place of the one that came after it")
    func destroyedIsNoCopy() async throws {
        try await withTemporaryFolder { folder in
            let (copy, old) = (folder.appendingPathComponent("copies/x-keys.1.db"), folder.appendingPathComponent("old.db"))
            var copied = Data()
            let (_, stored) = try await damaging(in: folder) { keys in
                try await keys.renewBackups()
                copied = try #require(try copiedBytes(folder).first)
                try FileManager.default.copyItem(at: copy, to: old)
                let made = Timestamp.now
                try await keys.destroyKey(of: person)
                try await eventually("the clock has moved on", isTrue: { Timestamp.now > made })
                try await keys.renewKey(of: person)
            }
            try FileManager.default.removeItem(at: copy)
            try FileManager.default.moveItem(at: old, to: copy)

            let keys = try opened(folder)
            #expect(throws: DamagedKey.self) { try keys.key(of: person) }
            #expect(try wrapped(file(folder)) == stored)
            try await keys.renewBackups()
            #expect(try !copiedBytes(folder).contains(copied), "at the next erasure it goes from the copies, too")
            await keys.close()
        }
    }

    // MARK: Damage to whose key it is

    private func copiedBytes(_ folder: URL) throws -> [Data] {
        try (1...2).map { number in
            let file = folder.appendingPathComponent("copies/x-keys.\(number).db")
            return Data(try Store.readCopy(file) { db in try WrappedKeys().living(db, of: person)?.wrapped } ?? [])
        }
    }

    @Test(
        "A flipped byte in whose key it is made the key look absent, and a new one was made: the key is found, and its row mended",
        arguments: [false, true])
    func misnamed(hasCopies: Bool) async throws {
        try await withTemporaryFolder { folder in
            let before = try opened(folder)
            let key = try await before.makeKey(for: person).bytes
            let other = PersonID.random()
            let others = try await before.makeKey(for: other).bytes
            if hasCopies { try await before.renewBackups() }
            await before.close()
            try flipBit(of: person.bytes, in: file(folder))
            #expect(try Store.readCopy(file(folder)) { db in try WrappedKeys().living(db, of: person) } == nil, "no row names the person")

            let keys = try opened(folder)
            let newcomer = PersonID.random()
            let new = try await keys.makeKey(for: newcomer).bytes
            #expect(new != key && new != others, "who is new gets a new one")
            if !hasCopies { #expect(try await keys.makeKey(for: person).bytes == key) }
            try await keys.renewBackups()
            #expect(keys.remarks.isEmpty)
            await keys.close()

            let again = try open(folder, wrapping)
            #expect(try again.key(of: person)?.bytes == key && again.key(of: other)?.bytes == others)
            #expect(try again.key(of: newcomer)?.bytes == new)
            #expect(try wrapped(folder.appendingPathComponent("copies/x-keys.1.db")) == wrapped(file(folder)))
            await again.close()
        }
    }

    @Test("CON-02: a key that lies under a damaged name was passed over by the erasure of its person: it goes from the file and all copies")
    func misnamedIsDestroyed() async throws {
        try await withTemporaryFolder { folder in
            let before = try opened(folder)
            _ = try await before.makeKey(for: person)
            try await before.renewBackups()
            await before.close()
            let stored = Data(try wrapped(file(folder)))
            try flipBit(of: person.bytes, in: file(folder))

            let keys = try opened(folder)
            try await keys.destroyKey(of: person)
            try await keys.renewBackups()
            await #expect(throws: KeyDestroyed.self) { try await keys.makeKey(for: person) }
            #expect(keys.remarks.isEmpty)
            await keys.close()

            for name in ["x-keys.db", "copies/x-keys.1.db", "copies/x-keys.2.db"] {
                #expect(try Data(contentsOf: folder.appendingPathComponent(name)).range(of: stored) == nil, "\(name)")
            }
        }
    }

    // MARK: Damage and another's erasure

    @Test("An erasure took the last whole copy of another person's damaged key away, though an operator had just put it there")
    func erasureBesidesDamage() async throws {
        try await withTemporaryFolder { folder in
            let (copy, whole) = (folder.appendingPathComponent("copies/x-keys.1.db"), folder.appendingPathComponent("whole.db"))
            let erased = PersonID.random()
            let (key, _) = try await damaging(in: folder) { keys in
                _ = try await keys.makeKey(for: erased)
                try await keys.renewBackups()
            }
            try FileManager.default.moveItem(at: copy, to: whole)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("copies/x-keys.2.db"))

            let keys = try opened(folder)
            #expect(throws: DamagedKey.self) { try keys.key(of: person) }
            try FileManager.default.moveItem(at: whole, to: copy)
            try await keys.destroyKey(of: erased)
            try await keys.renewBackups()

            #expect(try keys.key(of: person)?.bytes == key && keys.remarks.isEmpty)
            #expect(try Store.readCopy(copy) { db in try WrappedKeys().living(db, of: erased) } == nil)
            await keys.close()
        }
    }

    @Test("An erasure took away a whole key that was not taken for the damaged one: it stays in the copies, and the erased one goes")
    func erasureKeepsCopies() async throws {
        try await withTemporaryFolder { folder in
            let erased = PersonID.random()
            var destroyed = Data()
            var copied: [Data] = []
            _ = try await damaging(in: folder) { keys in
                _ = try await keys.makeKey(for: erased)
                try await keys.renewBackups()
                destroyed = Data(
                    try #require(try Store.readCopy(file(folder)) { db in try WrappedKeys().living(db, of: erased)?.wrapped }))
                copied = try copiedBytes(folder)
            }
            let damage = try DatabaseQueue(path: file(folder).path)
            try await damage.write { [person] db in
                try db.execute(
                    sql: "UPDATE wrapped_keys SET made_at = made_at - 1 WHERE subject = ?", arguments: [Data(person.bytes)])
            }
            try damage.close()

            let keys = try opened(folder)
            try await keys.destroyKey(of: erased)
            try await keys.renewBackups()
            await keys.close()

            #expect(try copiedBytes(folder) == copied)
            for number in 1...2 {
                let bytes = try Data(contentsOf: folder.appendingPathComponent("copies/x-keys.\(number).db"))
                #expect(bytes.range(of: destroyed) == nil)
            }
        }
    }

    @Test("another key-encryption key opens nothing")
    func wrongWrapping() async throws {
        try await withTemporaryFolder { folder in
            let keys = try open(folder, wrapping)
            _ = try await keys.makeKey(for: person)
            await keys.close()

            #expect(throws: WrongKeyEncryptionKey.self) { try open(folder, KeyEncryptionKey(.random())) }
        }
    }
}
