// A service's part in an erasure: nothing readable is left, in an order that survives a crash at any step, until consent has heard.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import Storage
import Synchronization
import TestKit
import Testing

@testable import ServiceKit

/// What the steps and the consent of a test do, and what they were asked.
private final class Script: Sendable {
    struct State {
        var shut: [ErasureScope] = []
        var finished: [ErasureScope] = []
        var mustWait = false
        var isConsentDown = false
        /// Somebody else's part in it is not done yet.
        var awaited: ErasureID?
        /// Steps that fail the next time.
        var failing: Set<String> = []
        /// Whose rows can never be deleted.
        var stuck: PersonID?
        var confirmations: [ConfirmErasure] = []
    }

    private let state = Mutex(State())

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var now: State { state.withLock { $0 } }

    func pass(_ step: String) throws {
        let fails = state.withLock { $0.failing.remove(step) != nil }
        if fails { throw CocoaError(.fileReadUnknown) }
    }
}

private let notesStream = "ingest.devices"

/// A service with one table.
private struct NoteHarness: Sendable {
    let folder: URL
    let store: Store
    let keys: PersonKeys
    let follower: ErasureFollower

    static let migrations = [
        Migration(1, "notes") { db in
            try StreamLog.create(in: db)
            try ErasureFollower.create(in: db)
            try db.execute(sql: "CREATE TABLE notes (number INTEGER PRIMARY KEY, person BLOB NOT NULL, sealed BLOB NOT NULL) STRICT")
        }
    ]

    init(_ folder: URL, _ script: Script, keepsDataKey: Bool = false) throws {
        let logger = Running.quiet
        self.folder = folder
        store = try Store.open(
            folder.appendingPathComponent("notes.db"), applicationID: 1, migrations: NoteHarness.migrations, logger: logger)
        keys = try PersonKeys(
            folder.appendingPathComponent("notes-keys.db"), wrappedBy: KeyEncryptionKey(bytes: [UInt8](repeating: 9, count: 32)),
            settings: StoreSettings(), backups: KeyBackups(folder: folder.appendingPathComponent("copies"), name: "notes-keys"),
            logger: logger)
        let steps = ErasureSteps(
            shut: { order in
                try script.pass("shut")
                if script.now.mustWait { throw ErasureWaits() }
                script.change { $0.shut.append(order.scope) }
            }, destroysKey: { !keepsDataKey || $0.scope == .account },
            delete: { db, order in
                try script.pass("delete")
                if script.now.stuck == order.person { throw CocoaError(.fileWriteUnknown) }
                // Two rows at a time: the follower asks until there is none.
                try db.execute(
                    sql: "DELETE FROM notes WHERE number IN (SELECT number FROM notes WHERE person = ? LIMIT 2)",
                    arguments: [Data(order.person.bytes)])
                return db.changesCount
            }, streams: { _ in [notesStream] },
            finish: { order in
                try script.pass("finish")
                script.change { $0.finished.append(order.scope) }
            }, kept: "nothing but pseudonyms")
        follower = ErasureFollower(of: Peer("notes"), store: store, keys: keys, steps: steps, logger: logger) { confirmation in
            if script.now.isConsentDown { throw Failure(.deadline, "nobody answers") }
            if script.now.awaited == confirmation.erasure { throw ErasureWaits() }
            script.change { $0.confirmations.append(confirmation) }
        }
    }

    /// Notes of the person, sealed in a row and said on the stream.
    func write(_ texts: [String], of person: PersonID) async throws {
        let key = try await keys.makeKey(for: person)
        let sealed = try texts.map { try Seal.seal(Array($0.utf8), key: key, context: []) }
        try await store.write { db in
            for row in sealed {
                try db.execute(sql: "INSERT INTO notes (person, sealed) VALUES (?, ?)", arguments: [Data(person.bytes), Data(row)])
                try StreamLog().append(
                    db, stream: notesStream, type: "note.v1", subject: person, at: Timestamp(milliseconds: 1), body: row)
            }
        }
    }

    func notes(of person: PersonID) async throws -> [String] {
        guard let key = try keys.key(of: person) else { return [] }
        let rows = try await store.read { db in
            try Data.fetchAll(db, sql: "SELECT sealed FROM notes WHERE person = ? ORDER BY number", arguments: [Data(person.bytes)])
        }
        return try rows.map { String(decoding: try Seal.open($0, key: key, context: [UInt8]()), as: UTF8.self) }
    }

    func order(_ scope: ErasureScope, of person: PersonID, as erasure: ErasureID = .random()) async throws -> ErasureID {
        let order = PersonErased(erasure: erasure, person: person, scope: scope, orderedAt: .now)
        try await store.write { [follower] db in try follower.add(db, order) }
        return erasure
    }

    /// Every byte that lies in the folder.
    func bytes() throws -> [UInt8] {
        let names = FileManager.default.subpaths(atPath: folder.path) ?? []
        return names.flatMap { name in
            FileManager.default.contents(atPath: folder.appendingPathComponent(name).path).map { [UInt8]($0) } ?? []
        }
    }

    func close() async {
        await store.close()
        await keys.close()
    }
}

@Suite("A service's part in an erasure", .timeLimit(.minutes(2)))
struct ErasureTests {
    private static let person = PersonID(bits: 0xE4A5_0000_1111_2222_3333_4444_5555_6666)
    private static let other = PersonID(bits: 0x07EE)

    private func withHarness(keepsDataKey: Bool = false, _ body: (NoteHarness, Script) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let script = Script()
            let harness = try NoteHarness(folder, script, keepsDataKey: keepsDataKey)
            try await harness.write(["one", "two", "three"], of: Self.person)
            try await harness.write(["kept"], of: Self.other)
            try await body(harness, script)
            await harness.close()
        }
    }

    private func running(_ harness: NoteHarness, until isDone: @escaping @Sendable () -> Bool) async throws {
        let running = Task { try await harness.follower.run() }
        defer { running.cancel() }
        try await eventually("it is done") { isDone() }
        running.cancel()
        _ = await running.result
    }

    @Test("ACC-30: an account's data are gone from store, stream, log and both copies of the keys; others read theirs; no new key is made")
    func account() async throws {
        try await withHarness { harness, script async throws in
            try await harness.keys.renewBackups()
            let wrapped = try await wrappedKey(in: harness)
            #expect(try contains(wrapped, in: harness.bytes()))
            let erasure = try await harness.order(.account, of: Self.person)
            try await running(harness) { !script.now.confirmations.isEmpty }

            let confirmation = try #require(script.now.confirmations.first)
            #expect(confirmation.erasure == erasure)
            #expect(confirmation.stores.map(\.store) == ["notes.db", "notes-keys.db", "notes-keys.db backups"])
            #expect(confirmation.stores.map(\.removed) == [6, 1, 2])
            #expect(confirmation.stores[0].kept == "nothing but pseudonyms")
            #expect(try await harness.notes(of: Self.other) == ["kept"])
            #expect(try harness.keys.key(of: Self.person) == nil && harness.keys.isDestroyed(Self.person))
            await #expect(throws: KeyDestroyed.self) { try await harness.keys.makeKey(for: Self.person) }
            // Of the wrapped key not a byte is left in any file: database, write-ahead log, copies.
            #expect(try !contains(wrapped, in: harness.bytes()))
            let rows = try await harness.store.read { try StreamLog().rows($0, notesStream, from: 1, limit: 10) }
            #expect(rows.map(\.isErased) == [true, true, true, false])
            #expect(rows.prefix(3).allSatisfy { $0.subject == nil && $0.body.isEmpty })
        }
    }

    @Test(
        "ACC-29: data alone: the old is gone, the account goes on under a new key, and what comes later stays when the order is heard again"
    )
    func dataOnly() async throws {
        try await withHarness { harness, script async throws in
            let old = try #require(try harness.keys.key(of: Self.person))
            let erasure = try await harness.order(.data, of: Self.person)
            try await running(harness) { !script.now.confirmations.isEmpty }
            #expect(script.now.finished == [.data])
            #expect(try !harness.keys.isDestroyed(Self.person) && !harness.keys.isCurrent(old, of: Self.person))
            #expect(try await harness.notes(of: Self.person) == [])

            try await harness.write(["after"], of: Self.person)
            _ = try await harness.order(.data, of: Self.person, as: erasure)
            let later = try await harness.order(.data, of: PersonID(bits: 77))
            try await running(harness) { script.now.confirmations.contains { $0.erasure == later } }
            #expect(try await harness.notes(of: Self.person) == ["after"])
            #expect(script.now.confirmations.count == 2)
        }
    }

    @Test("where nothing but the account is kept, data alone take nothing")
    func nothingCollected() async throws {
        try await withHarness(keepsDataKey: true) { harness, script async throws in
            _ = try await harness.order(.data, of: Self.person)
            try await running(harness) { !script.now.confirmations.isEmpty }
            #expect(try harness.keys.key(of: Self.person) != nil)
            let stores = try #require(script.now.confirmations.first?.stores)
            #expect(stores[1].removed == 0 && stores[1].kept != nil)
        }
    }

    @Test("a step that fails is tried again, whichever it is; it ends in one confirmation", arguments: ["shut", "delete", "finish"])
    func failures(step: String) async throws {
        try await withHarness { harness, script async throws in
            script.change { $0.failing = [step] }
            _ = try await harness.order(.data, of: Self.person)
            try await running(harness) { !script.now.confirmations.isEmpty }
            #expect(script.now.confirmations.count == 1)
            #expect(try await harness.notes(of: Self.person) == [])
            #expect(try await harness.notes(of: Self.other) == ["kept"])
        }
    }

    @Test("while consent is down the erasure is done all the same, and confirmed after a restart; what was recorded since stays")
    func consentDown() async throws {
        try await withTemporaryFolder { folder in
            let script = Script()
            script.change { $0.isConsentDown = true }
            let harness = try NoteHarness(folder, script)
            try await harness.write(["one"], of: Self.person)
            _ = try await harness.order(.data, of: Self.person)
            try await running(harness) { !script.now.finished.isEmpty }
            #expect(try await harness.notes(of: Self.person) == [])
            try await harness.write(["since"], of: Self.person)
            await harness.close()

            script.change { $0.isConsentDown = false }
            let again = try NoteHarness(folder, script)
            try await running(again) { !script.now.confirmations.isEmpty }
            #expect(try await again.notes(of: Self.person) == ["since"])
            #expect(script.now.shut == [.data])
            let named = try await again.store.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM erasure_duties WHERE person IS NOT NULL")
            }
            #expect(named == 0)
            await again.close()
        }
    }

    @Test("an order waits for what is under way, and is carried out then")
    func waits() async throws {
        try await withHarness { harness, script async throws in
            script.change { $0.mustWait = true }
            _ = try await harness.order(.account, of: Self.person)
            let running = Task { try await harness.follower.run() }
            try await eventually("it is looked at") { try await harness.notes(of: Self.person).count == 3 }
            #expect(script.now.confirmations.isEmpty)
            script.change { $0.mustWait = false }
            try await eventually("then it is done") { !script.now.confirmations.isEmpty }
            running.cancel()
            _ = await running.result
        }
    }

    @Test("an erasure whose confirmation waits for somebody else's part keeps no later erasure waiting")
    func waitsForOthers() async throws {
        try await withHarness { harness, script async throws in
            let first = try await harness.order(.account, of: Self.person)
            script.change { $0.awaited = first }
            let second = try await harness.order(.account, of: Self.other)
            let running = Task { try await harness.follower.run() }
            try await eventually("the later one is confirmed") { script.now.confirmations.map(\.erasure) == [second] }
            script.change { $0.awaited = nil }
            try await eventually("then the first") { script.now.confirmations.map(\.erasure) == [second, first] }
            #expect(script.now.shut.count == 2, "what is erased is not erased again")
            running.cancel()
            _ = await running.result
        }
    }

    @Test("ACC-29, ACC-30: an erasure that fails again and again keeps no later erasure waiting, and is done when it can be")
    func failsForever() async throws {
        try await withHarness { harness, script async throws in
            script.change { $0.stuck = Self.person }
            let first = try await harness.order(.account, of: Self.person)
            let second = try await harness.order(.data, of: Self.other)
            let running = Task { try await harness.follower.run() }
            try await eventually("the later one is confirmed") { script.now.confirmations.map(\.erasure) == [second] }
            let third = try await harness.order(.account, of: Self.other)
            try await eventually("and one that comes later still") { script.now.confirmations.map(\.erasure) == [second, third] }
            script.change { $0.stuck = nil }
            try await eventually("then the first") { script.now.confirmations.map(\.erasure) == [second, third, first] }
            #expect(try await harness.notes(of: Self.person) == [])
            running.cancel()
            _ = await running.result
        }
    }

    @Test("a key that was read while it was destroyed does not come back, however the two meet")
    func races() async throws {
        try await withTemporaryFolder { folder in
            let harness = try NoteHarness(folder, Script())
            for round in 0..<30 {
                let person = PersonID(bits: UInt128(round + 1))
                _ = try await harness.keys.makeKey(for: person)
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { _ = try? harness.keys.key(of: person) } }
                    group.addTask { try? await harness.keys.destroyKey(of: person) }
                    for _ in 0..<4 { group.addTask { _ = try? harness.keys.key(of: person) } }
                }
                #expect(try harness.keys.key(of: person) == nil)
            }
            await harness.close()
        }
    }

    @Test("the copies of the keys take turns, open with the same key-encryption key, and are readable by their owner alone")
    func copies() async throws {
        try await withTemporaryFolder { folder in
            let harness = try NoteHarness(folder, Script())
            try await harness.write(["one"], of: Self.person)
            let backups = KeyBackups(folder: folder.appendingPathComponent("copies"), name: "notes-keys")
            #expect(backups.next == backups.files[0])
            #expect(try await harness.keys.renewBackups() == 2)
            for file in backups.files {
                let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                let restored = folder.appendingPathComponent("restored-\(file.lastPathComponent)")
                try FileManager.default.copyItem(at: file, to: restored)
                let keys = try PersonKeys(
                    restored, wrappedBy: KeyEncryptionKey(bytes: [UInt8](repeating: 9, count: 32)), settings: StoreSettings(),
                    logger: Running.quiet)
                #expect(try keys.key(of: Self.person)?.bytes == harness.keys.key(of: Self.person)?.bytes)
                await keys.close()
            }
            await harness.close()
        }
    }

    // MARK: Bytes

    /// The person's key as the file holds it.
    private func wrappedKey(in harness: NoteHarness) async throws -> [UInt8] {
        let file = harness.folder.appendingPathComponent("copies/notes-keys.1.db")
        let queue = try DatabaseQueue(path: file.path)
        let entry = try await queue.read { try WrappedKeys().find($0, of: Self.person) }
        try queue.close()
        guard case .wrapped(let bytes) = entry else { throw CocoaError(.fileReadCorruptFile) }
        return bytes
    }

    private func contains(_ needle: [UInt8], in hay: [UInt8]) throws -> Bool {
        Data(hay).range(of: Data(needle)) != nil
    }
}
