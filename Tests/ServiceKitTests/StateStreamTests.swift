// A stream whose facts replace each other: what is appended, kept, rendered again, and given to who begins anew.

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

@Suite("StateStream", .timeLimit(.minutes(1)))
struct StateStreamTests {
    private struct Light: Codable, Hashable, Sendable {
        var person: PersonID
        var taken: Bool
        /// With a slash, which JSON may spell in two ways.
        var room = "a/b"
    }

    private struct Undone: Error {}

    private static let stream = StreamFamily.grants.streams[0]
    private let at = Timestamp(milliseconds: 1_789_000_000_000)

    private static func run(_ body: @escaping @Sendable (Store) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let store = try Store.open(
                folder.appendingPathComponent("service.db"), applicationID: 7,
                migrations: [
                    Migration(1, "a stream") { db in
                        try StreamLog.create(in: db)
                        try db.execute(sql: "CREATE TABLE lights (number INTEGER PRIMARY KEY, person BLOB, taken INTEGER) STRICT")
                    }
                ], settings: StoreSettings(), logger: Running.quiet)
            do {
                try await body(store)
                await store.close()
            } catch {
                await store.close()
                throw error
            }
        }
    }

    private static func lights(_ seal: FactSeal = .clear) -> StateStream<Light> {
        StateStream("light.v1", stream: stream, epoch: "e", seal: seal)
    }

    /// Each person's own key, which may be destroyed.
    private final class Keys: Sendable {
        private let keys = Mutex<[PersonID: SymmetricKey]>([:])

        func make(_ person: PersonID) throws {
            let key = try SymmetricKey(bytes: (0..<32).map { _ in UInt8.random(in: 0...255) })
            keys.withLock { $0[person] = key }
        }

        func destroy(_ person: PersonID) {
            keys.withLock { $0[person] = nil }
        }

        var seal: FactSeal {
            FactSeal { [self] payload, place in
                guard let person = place.subject, let key = keys.withLock({ $0[person] }) else { throw KeyDestroyed() }
                return try Seal.seal(payload, key: key, context: Array("\(place.at.milliseconds)".utf8))
            } open: { [self] row in
                guard let person = row.subject, let key = keys.withLock({ $0[person] }) else { return nil }
                return try Seal.open(row.body, key: key, context: Array("\(row.at.milliseconds)".utf8))
            }
        }
    }

    private static func rows(_ store: Store) async throws -> [StreamRow] {
        try await store.read { db in try StreamLog().rows(db, stream, from: 1, limit: 1000) }
    }

    @Test("what was published is rendered again byte for byte, however its rows are sealed, and a sealed row shows nothing of it")
    func renders() async throws {
        let (key, keys) = (try SymmetricKey(bytes: [UInt8](repeating: 5, count: 32)), Keys())
        for (seal, isSealed) in [(FactSeal.clear, false), (.under(key), true), (keys.seal, true)] {
            try await Self.run { [at] store in
                let lights = Self.lights(seal)
                let people = (0..<3).map { _ in PersonID.random() }
                for person in people { try keys.make(person) }
                let published = try await store.write { db in
                    try people.map { try lights.append(db, Light(person: $0, taken: true), about: $0, at: at, trace: "t") }
                }
                let rows = try await Self.rows(store)
                #expect(rows.map(\.sequence) == [1, 2, 3] && rows.map(\.subject) == people)
                for (row, fact) in zip(rows, published) {
                    let payload = try fact.payload()
                    #expect(try lights.render(row) == payload)
                    #expect(row.header(epoch: "e", head: row.sequence) == fact.header)
                    #expect(String(decoding: payload, as: UTF8.self).contains("\"a/b\""))
                    #expect((row.body == payload) == !isSealed)
                    #expect(String(decoding: row.body, as: UTF8.self).contains("a/b") == !isSealed)
                }
            }
        }
    }

    @Test("a sealed row opens in its own place alone")
    func place() async throws {
        let key = try SymmetricKey(bytes: [UInt8](repeating: 5, count: 32))
        try await Self.run { [at] store in
            let (lights, person) = (Self.lights(.under(key)), PersonID.random())
            try await store.write { db in
                _ = try lights.append(db, Light(person: person, taken: true), about: person, at: at)
                _ = try lights.append(db, Light(person: person, taken: false), about: person, at: at + .seconds(1))
                // What somebody with the file could try: an old state in the place of the new one.
                try db.execute(
                    sql: "UPDATE stream_log SET body = (SELECT body FROM stream_log WHERE sequence = 1) WHERE sequence = 2")
            }
            let rows = try await Self.rows(store)
            #expect(try lights.render(rows[0]) != nil)
            #expect(throws: SealingError.self) { try lights.render(rows[1]) }
        }
    }

    @Test("ACC-31: of a person whose key is gone nothing is rendered, and nothing more is appended")
    func keyGone() async throws {
        let keys = Keys()
        try await Self.run { [at] store in
            let (lights, person) = (Self.lights(keys.seal), PersonID.random())
            try keys.make(person)
            _ = try await store.write { db in try lights.append(db, Light(person: person, taken: true), about: person, at: at) }
            keys.destroy(person)
            let row = try #require(try await Self.rows(store).first)
            #expect(try lights.render(row) == nil)
            await #expect(throws: KeyDestroyed.self) {
                _ = try await store.write { db in try lights.append(db, Light(person: person, taken: false), about: person, at: at) }
            }
            #expect(try await Self.rows(store).count == 1)
        }
    }

    @Test("a fact whose transaction is undone is not in the log, and takes no number")
    func undone() async throws {
        try await Self.run { [at] store in
            let (lights, person) = (Self.lights(), PersonID.random())
            await #expect(throws: Undone.self) {
                try await store.write { db in
                    _ = try lights.append(db, Light(person: person, taken: true), about: person, at: at)
                    throw Undone()
                }
            }
            let fact = try await store.write { db in try lights.append(db, Light(person: person, taken: false), about: person, at: at) }
            #expect(fact.header.sequence == 1)
            #expect(try await Self.rows(store).count == 1)
        }
    }

    @Test("two kinds of facts in one stream are numbered together, and facts of one body as well")
    func kinds() async throws {
        try await Self.run { [at] store in
            let log = FactLog(stream: Self.stream, epoch: "e")
            let (lights, names) = (StateStream<Light>("light.v1", in: log), StateStream<String>("name.v1", in: log))
            let published = try await store.write { db in
                let person = PersonID.random()
                var facts = [try lights.append(db, Light(person: person, taken: true), about: person, at: at)]
                facts.append(try names.append(db, "Anna", about: nil, at: at))
                var many = StreamLog.Appending()
                for number in 0..<3 {
                    facts.append(try log.append(db, in: &many, type: "number.v1", subject: nil, body: number, at: at, trace: ""))
                }
                try many.finish(db)
                facts.append(try log.append(db, type: "other.v1", subject: nil, stored: [1], at: at) { Array("whole".utf8) })
                return facts
            }
            #expect(published.map(\.header.sequence) == [1, 2, 3, 4, 5, 6])
            #expect(published.map(\.header.type) == ["light.v1", "name.v1", "number.v1", "number.v1", "number.v1", "other.v1"])
            let last = try #require(try await Self.rows(store).last)
            #expect(last.body == [1])
            #expect(try published[5].payload() == Array("whole".utf8))
        }
    }

    /// Counts how often it is encoded.
    private struct Counted: Encodable, Sendable {
        final class Count: Sendable {
            private let count = Mutex(0)
            var value: Int { count.withLock { $0 } }

            func add() { count.withLock { $0 += 1 } }
        }

        let light: Light
        let encodings = Count()

        func encode(to encoder: any Encoder) throws {
            encodings.add()
            try light.encode(to: encoder)
        }
    }

    @Test(
        "S9: JSON was rendered in the writer's transaction: what was rendered before it is encoded no more, and is kept and published byte for byte",
        arguments: [false, true])
    func renderedBefore(isSealed: Bool) async throws {
        let key = try SymmetricKey(bytes: [UInt8](repeating: 5, count: 32))
        try await Self.run { [at] store in
            let log = FactLog(stream: Self.stream, epoch: "e", seal: isSealed ? .under(key) : .clear)
            let counted = Counted(light: Light(person: .random(), taken: true))
            let payload = try FactLog.payload(counted)
            #expect(counted.encodings.value == 1)
            let published = try await store.write { db in
                var many = StreamLog.Appending()
                let fact = try log.append(db, in: &many, type: "light.v1", subject: nil, payload: payload, at: at, trace: "")
                try many.finish(db)
                return fact
            }
            let row = try #require(try await Self.rows(store).first)
            #expect(try published.payload() == payload)
            #expect(try log.render(row) == payload)
            #expect(counted.encodings.value == 1, "neither in the transaction nor after it")
            // As it would have been rendered there.
            let there = try await store.write { db in try log.append(db, type: "light.v1", subject: nil, body: counted, at: at) }
            #expect(try there.payload() == payload)
        }
    }

    // MARK: Snapshots

    private static func page(_ db: Database, _ lights: StateStream<Light>, after: String?, limit: Int) throws -> SnapshotStream.Reply {
        try lights.snapshot(db, SnapshotStream(stream: stream, after: after), limit: limit) { (after: Int64, limit: Int) in
            try Row.fetchAll(
                db, sql: "SELECT number, person, taken FROM lights WHERE number > ? ORDER BY number LIMIT ?", arguments: [after, limit]
            ).map { row in
                let person = PersonID(bytes: row[1] as Data)
                return (row[0], person, (row[2] as Bool) ? person.map { Light(person: $0, taken: true) } : nil)
            }
        }
    }

    @Test(
        "a snapshot is every thing that is true now, once and in order, whatever the size of its pages; what is not true any more is left out",
        arguments: [1, 2, 3, 7, 20, 21, 1000])
    func pages(limit: Int) async throws {
        try await Self.run { [at] store in
            let lights = Self.lights()
            let taken = try await store.write { db in
                var taken: [Light] = []
                for number in 1...20 {
                    let (person, isTaken) = (PersonID.random(), !number.isMultiple(of: 3))
                    try db.execute(sql: "INSERT INTO lights VALUES (?, ?, ?)", arguments: [number, Data(person.bytes), isTaken])
                    if isTaken { taken.append(Light(person: person, taken: true)) }
                    _ = try lights.append(db, Light(person: person, taken: isTaken), about: person, at: at)
                }
                return taken
            }
            var (found, after, count): ([Light], String?, Int) = ([], nil, 0)
            repeat {
                let asked = after
                let reply = try await store.read { db in try Self.page(db, lights, after: asked, limit: limit) }
                #expect(reply.epoch == "e" && reply.sequence == 20)
                for fact in reply.facts {
                    let light = try JSONDecoder().decode(Light.self, from: Data(fact.payload.utf8))
                    #expect(fact.header.subject == "\(light.person)" && fact.header.type == "light.v1" && fact.header.sequence == 20)
                    found.append(light)
                }
                (after, count) = (reply.next, count + 1)
                try #require(count < 50, "it comes to an end")
            } while after != nil
            #expect(found == taken)
        }
    }

    @Test(
        "a cursor that no page gave is refused, of numbers and of ids",
        arguments: ["", "x", "1x", "per_", "dev_00000000000000000000000001"]
    )
    func cursors(after: String) async throws {
        try await Self.run { store in
            let lights = Self.lights()
            let invalid = Failure(.invalid, "after is the next of the page before")
            await #expect(throws: invalid) { _ = try await store.read { db in try Self.page(db, lights, after: after, limit: 5) } }
            let asked = SnapshotStream(stream: Self.stream, after: after)
            #expect(throws: invalid) { try asked.place(PersonID.self) }
            let person = PersonID.random()
            let known: PersonID = try SnapshotStream(stream: Self.stream, after: person.cursor).place()
            let start: Int64 = try SnapshotStream(stream: Self.stream, after: nil).place()
            #expect(known == person && start == 0)
        }
    }
}
