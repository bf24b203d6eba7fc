// A person's key: made once, the same after a restart, gone when destroyed.

import Contracts
import Foundation
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
