// A service starts with all of its store, its keys and its secrets, or not at all: stories of parts that are gone or are others.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import Storage
import TestKit
import Testing

@testable import ServiceKit

@Suite("A store and what belongs to it", .timeLimit(.minutes(2)))
struct WholeStoreTests {
    private static let migrations = [
        Migration(1, "streams") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try AnswerTable.create(in: db)
            try StoreLife.create(in: db)
        }
    ]
    private static let person = PersonID(bits: 7)

    /// The files of one service in a folder of its own.
    private struct Place {
        let folder: URL

        func store(_ name: String) -> URL { folder.appendingPathComponent("consent/\(name)") }
        var key: URL { folder.appendingPathComponent("k/consent/store.kek") }
        var lookup: URL { folder.appendingPathComponent("k/consent/lookup.key") }

        func remove(_ names: String...) throws {
            for name in names {
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store(name).path + suffix) }
            }
        }

        func text(_ file: URL) throws -> String { try String(contentsOf: file, encoding: .utf8) }

        /// As whoever puts a secret back: the same rights.
        func put(_ text: String, in file: URL) throws {
            try text.write(to: file, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }

        var wrapped: [Data] {
            get throws {
                // A start that was just refused lets its locks go in a moment.
                var configuration = Configuration()
                configuration.busyMode = .timeout(10)
                return try DatabaseQueue(path: store("consent-keys.db").path, configuration: configuration).inDatabase { db in
                    try Data.fetchAll(db, sql: "SELECT wrapped FROM wrapped_keys")
                }
            }
        }
    }

    /// One start and an orderly end; `body` is in between.
    private static func start(
        in folder: URL, beginsAnew: Bool = false, _ body: (OpenedStore) async throws -> Void = { _ in }
    ) async throws {
        let runtime = try Runtime.test(.consent, in: folder, beginsAnew: beginsAnew)
        let opened: OpenedStore
        do {
            opened = try await OpenedStore(on: runtime, applicationID: 1, migrations: migrations)
        } catch {
            await runtime.bus.shutdown()
            throw error
        }
        _ = try runtime.lookupKey(for: "anything")
        try await body(opened)
        await runtime.bus.shutdown()
        await opened.store.close()
        await opened.keys.close()
    }

    /// A service that has run once and holds one person's key.
    private static func with(_ body: (Place) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await start(in: folder) { opened in _ = try await opened.keys.makeKey(for: person) }
            try await body(Place(folder: folder))
        }
    }

    /// A refused start lets its locks go when its threads have ended: until then others wait.
    private static func startWhenFree(
        in place: Place, beginsAnew: Bool = false, _ body: (OpenedStore) async throws -> Void = { _ in }
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            do {
                return try await start(in: place.folder, beginsAnew: beginsAnew, body)
            } catch let error as UnopenedStore where error.error == .inUse && ContinuousClock.now < deadline {
                // The test before lets go of its file in a moment; the deadline bounds it.
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// What is said where the start is refused.
    private static func refusal(in place: Place) async throws -> String {
        do {
            try await startWhenFree(in: place)
        } catch {
            return "\(error)"
        }
        Issue.record("it started")
        return ""
    }

    @Test("X6: a wrong but valid key-encryption key stops the start before anything is written under it; the right one then opens all")
    func otherKey() async throws {
        try await Self.with { place in
            let right = try place.text(place.key)
            let before = try place.wrapped
            try place.put(String(repeating: "0a", count: 32) + "\n", in: place.key)
            let said = try await Self.refusal(in: place)
            #expect(said.contains(place.key.path) && said.contains("consent-keys.db") && said.contains("restore"))
            #expect(try place.wrapped == before)
            try place.put(right, in: place.key)
            try await Self.startWhenFree(in: place) { opened in
                let key = try opened.keys.key(of: Self.person)
                #expect(key != nil)
            }
        }
    }

    @Test("X6: a store of before there were checks is refused under another key too, and gets its check under the right one")
    func oldStore() async throws {
        try await Self.with { place in
            func forget() throws {
                try DatabaseQueue(path: place.store("consent-keys.db").path).inDatabase { try $0.execute(sql: "DELETE FROM key_checks") }
            }
            let right = try place.text(place.key)
            try forget()
            try place.put(String(repeating: "0a", count: 32), in: place.key)
            let said = try await Self.refusal(in: place)
            #expect(said.contains(place.key.path))
            try place.put(right, in: place.key)
            try await Self.startWhenFree(in: place)
            let checks = try DatabaseQueue(path: place.store("consent-keys.db").path).inDatabase { try KeyChecks().all($0) }
            #expect(checks.keys.sorted() == ["answers.key", "lookup.key", "store.kek"])
        }
    }

    @Test(
        "X6: another look-up key, or none, would hide what is stored: it stops the second start as every later one",
        arguments: [true, false])
    func otherSecret(isThere: Bool) async throws {
        try await Self.with { place in
            let right = try place.text(place.lookup)
            if isThere {
                try place.put(String(repeating: "0a", count: 32), in: place.lookup)
            } else {
                try FileManager.default.removeItem(at: place.lookup)
            }
            let said = try await Self.refusal(in: place)
            #expect(said.contains(place.lookup.path) && said.contains("restore"))
            try place.put(right, in: place.lookup)
            try await Self.startWhenFree(in: place)
        }
    }

    @Test(
        "X16: another secret in the first dispatcher's folder, or none, and the deputy named emergencies by it: it stops the deputy too",
        arguments: [true, false])
    func sharedSecret(isThere: Bool) async throws {
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder)
            let file = folder.appendingPathComponent("k/sos-dispatcher/emergency-identity.key")
            func start() async throws -> [UInt8] {
                let runtime = try Runtime.test(.sosDeputy, in: folder)
                do {
                    let keys = try runtime.openPersonKeys()
                    let secret = try runtime.secret("emergency-identity.key", of: .sosDispatcher)
                    await keys.close()
                    await runtime.bus.shutdown()
                    return secret
                } catch {
                    await runtime.bus.shutdown()
                    throw error
                }
            }
            let first = try await start()
            #expect(try await start() == first)
            if isThere {
                try place.put(String(repeating: "0a", count: 32), in: file)
            } else {
                try FileManager.default.removeItem(at: file)
            }
            let fault = await #expect(throws: KeyFiles.Fault.self) { try await start() }
            #expect(fault?.description.contains(file.path) == true && fault?.description.contains("restore") == true)
            #expect(isThere || !FileManager.default.fileExists(atPath: file.path), "none is made in its place")
        }
    }

    @Test("A damaged check does not keep the right key out, nor does one damaged key")
    func damagedCheck() async throws {
        try await Self.with { place in
            try DatabaseQueue(path: place.store("consent-keys.db").path).inDatabase {
                try $0.execute(sql: "UPDATE key_checks SET sealed = x'01' WHERE name = 'store.kek'")
            }
            try await Self.startWhenFree(in: place) { opened in
                let key = try opened.keys.key(of: Self.person)
                #expect(key != nil)
            }
        }
    }

    @Test(
        "X7: a store that is gone beside its keys, or beside its .life, or keys that are gone beside their store, are not begun anew as if ready",
        arguments: [
            ["consent.db"], ["consent.db", "consent.life"], ["consent.db", "consent-keys.db"], ["consent-keys.db"],
            ["consent-keys.db", "consent.life"],
        ])
    func missing(_ gone: [String]) async throws {
        try await Self.with { place in
            for name in gone { try place.remove(name) }
            let said = try await Self.refusal(in: place)
            #expect(said.contains(place.store(gone[0]).path) && said.contains("put it back") && said.contains("--new"))
            #expect(!FileManager.default.fileExists(atPath: place.store(gone[0]).path), "nothing is made in its place")
            try await Self.startWhenFree(in: place, beginsAnew: true) { opened in
                let key = try opened.keys.key(of: Self.person)
                #expect(key == nil)
            }
            let aside = try FileManager.default.contentsOfDirectory(atPath: place.folder.appendingPathComponent("consent").path)
                .filter { $0.hasPrefix("aside-") }
            #expect(aside.count == 1)
            try await Self.startWhenFree(in: place)
        }
    }

    @Test("X7: an empty file in a store's place is no store")
    func emptied() async throws {
        try await Self.with { place in
            try place.remove("consent.db")
            try Data().write(to: place.store("consent.db"))
            let said = try await Self.refusal(in: place)
            #expect(said.contains(place.store("consent.db").path))
        }
    }

    @Test("--new leaves a store alone that is whole")
    func newOfWhole() async throws {
        try await Self.with { place in
            try await Self.startWhenFree(in: place, beginsAnew: true) { opened in
                let key = try opened.keys.key(of: Self.person)
                #expect(key != nil)
            }
        }
    }

    @Test("A first start that was broken off before there was a store goes on")
    func brokenOff() async throws {
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder)
            try await Self.start(in: folder)
            try place.remove("consent.db", "consent.life")
            try await Self.startWhenFree(in: place)
        }
    }
}
