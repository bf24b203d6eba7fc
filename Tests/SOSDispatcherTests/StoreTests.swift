// What the tables themselves make sure of.

import Bus
import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

/// A store of its own, with the key of this person.
func withStore(of person: PersonID = PersonID(bits: 7), _ body: (SOSStore) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
        try await withStore(in: folder) { store in
            _ = try await store.keys.makeKey(for: person)
            try await body(store)
        }
    }
}

private func withStore(in folder: URL, _ body: (SOSStore) async throws -> Void) async throws {
    let runtime = try Harness(folder).runtime(.sosDispatcher, under: [:])
    let database = try runtime.openStore(applicationID: Migrations.applicationID, migrations: Migrations.all)
    let keys = try runtime.openPersonKeys()
    let pair = PairTables(role: .first, keys: keys, own: .random())
    let streams = StreamEffects(relays: [:], dispatches: DispatchStreams(runtime, database))
    try await body(SOSStore(database, keys: keys, pair: pair, streams: streams, logger: Running.quiet))
    await database.close()
    await keys.close()
    await runtime.bus.shutdown()
}

@Suite("Store of supervision")
struct StoreTests {
    private func withDamagedKey(_ body: (SOSStore) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await withStore(in: folder) { store in _ = try await store.keys.makeKey(for: Self.person) }
            let file = folder.appendingPathComponent("sos-dispatcher/sos-dispatcher-keys.db")
            let key = try #require(try Store.readCopy(file) { db in try WrappedKeys().living(db, of: Self.person)?.wrapped })
            try flipBit(of: key, in: file)
            try await withStore(in: folder, body)
        }
    }

    private static let person = PersonID(bits: 7)

    private func emergency(_ number: UInt128, closed: Bool = false) -> EmergencyRecord {
        var record = EmergencyRecord(
            id: EmergencyID(bits: number), person: Self.person, t0: Timestamp(milliseconds: Int64(number)))
        if closed { record.follow(.closed, at: Timestamp(milliseconds: 9)) }
        return record
    }

    private func batch(_ records: EmergencyRecord...) -> StoreBatch {
        var batch = StoreBatch()
        for record in records { batch.emergencies[record.id] = record }
        return batch
    }

    @Test("SOS-24: a person has one open emergency at most, also by the table; one that a crash left open is closed by the next, and noted")
    func oneOpen() async throws {
        try await withStore { store in
            try await store.save(batch(emergency(1, closed: true), emergency(2)))
            await #expect(throws: (any Error).self) {
                try await store.store.write { db in
                    try db.execute(
                        sql: "INSERT INTO emergencies (emergency, person, state, t0) VALUES (x'00', ?, 'alerted', 1)",
                        arguments: [Self.person.data])
                }
            }
            try await store.save(batch(emergency(3)))
            let all = try await store.emergencies(of: Self.person, limit: 10)
            #expect(all.map(\.id) == [3, 2, 1].map { EmergencyID(bits: $0) } && all.map { $0.closedAt == nil } == [true, false, false])
            #expect(try await store.audit(of: "\(EmergencyID(bits: 2))").map(\.action) == ["closed"])
        }
    }

    @Test("One person's damaged key kept a dispatcher from starting and everybody's changes from the file: that person is supervised anew")
    func damagedKey() async throws {
        let other = PersonID(bits: 8)
        var both = StoreBatch()
        for person in [Self.person, other] { both.subscribers[person] = Watched() }
        let batch = both
        func sealed(_ store: SOSStore) async throws -> Data? {
            try await store.store.read { db in
                try Data.fetchOne(db, sql: "SELECT sealed FROM subscribers WHERE person = ?", arguments: [Self.person.data])
            }
        }
        try await withTemporaryFolder { folder in
            try await withStore(in: folder) { store in
                for person in [Self.person, other] { _ = try await store.keys.makeKey(for: person) }
                try await store.save(batch)
            }
            let file = folder.appendingPathComponent("sos-dispatcher/sos-dispatcher-keys.db")
            let key = try #require(try Store.readCopy(file) { db in try WrappedKeys().living(db, of: Self.person)?.wrapped })
            try flipBit(of: key, in: file)
            try await withStore(in: folder) { store in
                let memory = try store.load()
                #expect(Array(memory.subscribers.keys) == [other] && Array(memory.unreadable.keys) == [Self.person])
                let before = try await sealed(store)
                var later = batch
                later.emergencies[EmergencyID(bits: 1)] = emergency(1)
                try await store.save(later)
                #expect(try await store.emergencies(of: Self.person, limit: 1).count == 1)
                #expect(try await sealed(store) == before, "what the key opens once it is put back stays")
            }
        }
    }

    @Test(
        "SOS-28, SOS-33: of a person whose key is damaged the other dispatcher was told no answer, and who follows a stream alone no call")
    func damagedKeyIsTold() async throws {
        let (emergency, text) = (self.emergency(1), "help, at the old mill")
        func call(_ sequence: Int, _ body: [UInt8]) -> (id: SOSDispatcher.MessageID, batch: StoreBatch) {
            let id = MessageID(emergency: emergency.id, sequence: sequence)
            let message = OutboxMessage(id: id, kind: .alert, body: body, createdAt: Timestamp(milliseconds: 1))
            var made = batch(emergency)
            made.messages[id] = (Self.person, message)
            made.lines[LineID(message: id, integrator: "milan")] = LineState(message: message, stream: "dispatches.milan")
            return (id, made)
        }
        try await withTemporaryFolder { folder in
            try await withStore(in: folder) { store in
                _ = try await store.keys.makeKey(for: Self.person)
                var first = call(0, [1]).batch
                first.subscribers[Self.person] = Watched()
                try await store.save(first)
            }
            let file = folder.appendingPathComponent("sos-dispatcher/sos-dispatcher-keys.db")
            let key = try #require(try Store.readCopy(file) { db in try WrappedKeys().living(db, of: Self.person)?.wrapped })
            try flipBit(of: key, in: file)
            try await withStore(in: folder) { store in
                let unreadable = try store.load().unreadable[Self.person]
                #expect(unreadable?.open?.id == emergency.id && unreadable?.nextSequence == 1)
                let (id, made) = call(1, Array(text.utf8))
                var later = made
                let said = PairFact.answered(GivenAnswer(person: Self.person, emergency: emergency.id, answer: .help, afterMs: 5))
                let heard = PairFact.answered(GivenAnswer(person: Self.person, emergency: emergency.id, answer: .fine, afterMs: 4))
                (later.told, later.heard) = ([said], [heard])
                try await store.save(later)
                let heads = try await store.store.read { db in
                    try ["dispatches.milan", PairRole.first.stream].map { try StreamLog().head(db, $0) }
                }
                #expect(heads == [2, 1])

                let memory = try store.load()
                #expect(memory.pair.heard == [heard])
                #expect(memory.outboxes[emergency.id]?.outbox.latestAlert?.body == Array(text.utf8), "it goes on after a start")
                let (told, replayed, sealed) = try await store.store.read { db in
                    let row = try #require(try StreamLog().rows(db, PairRole.first.stream, from: 1, limit: 1).first)
                    let sealed = try Data.fetchAll(db, sql: "SELECT sealed FROM dispatch_outbox UNION ALL SELECT sealed FROM pair_heard")
                    return (try store.pair.render(row), try store.dispatchPayload(db, id), sealed + [Data(row.body)])
                }
                let expected = try said.encoded()
                #expect(told == expected && replayed == Array(text.utf8))
                #expect(sealed.allSatisfy { $0.range(of: Data("mill".utf8)) == nil && $0.range(of: Data("answer".utf8)) == nil })
            }
        }
    }

    @Test("SOS-24: somebody whose key is damaged left, and the other dispatcher was not told: it supervised and called on")
    func leavingIsTold() async throws {
        try await withDamagedKey { store in
            let left = PersonSettings(
                person: Self.person, version: SettingsVersion(number: 8), settings: SubscriberSettings(Subscriber()))
            var stays = left
            (stays.version, stays.settings.isSubscribed) = (SettingsVersion(number: 7), true)
            var batch = StoreBatch()
            batch.told = [.settings(stays), .settings(left)]
            try await store.save(batch)
            let told = try await store.store.read { db in
                let rows = try StreamLog().rows(db, PairRole.first.stream, from: 1, limit: 2)
                let row = try #require(rows.count == 1 ? rows.first : nil)
                return try store.pair.render(row).flatMap(PairFact.read)
            }
            #expect(told == .settings(left))
        }
    }

    @Test("ACC-29: what was sealed of somebody whose key is damaged, and written after the erasure, could be read")
    func erasedMeanwhile() async throws {
        try await withDamagedKey { store in
            let id = MessageID(emergency: EmergencyID(bits: 1), sequence: 0)
            let message = OutboxMessage(id: id, kind: .alert, body: [1], createdAt: Timestamp(milliseconds: 1))
            let answer = PairFact.answered(GivenAnswer(person: Self.person, emergency: id.emergency, answer: .fine, afterMs: 5))
            var made = StoreBatch()
            made.messages[id] = (Self.person, message)
            (made.told, made.heard) = ([answer], [answer])
            let sealed = try SealedBatchStore(made, keys: store.keys, pair: store.pair, streams: store.streams)
            try await store.keys.destroyKey(of: Self.person)
            try await store.store.write { try sealed.write($0) }
            #expect(try await store.store.read { try StreamLog().head($0, PairRole.first.stream) } == 0)
            let kept = try await store.store.read { db in
                try Int.fetchOne(db, sql: "SELECT (SELECT count(*) FROM dispatch_outbox) + (SELECT count(*) FROM pair_heard)")
            }
            #expect(kept == 0)
        }
    }

    @Test("A message's bytes are never replaced, and an acknowledgement is taken back by a rejection alone")
    func bytesStay() async throws {
        try await withStore { store in
            let id = MessageID(emergency: EmergencyID(bits: 1), sequence: 0)
            func batch(_ body: [UInt8], _ end: OutboxMessage.End?) -> StoreBatch {
                var batch = StoreBatch()
                let message = OutboxMessage(id: id, kind: .alert, body: body, createdAt: Timestamp(milliseconds: 1), attempts: 3, end: end)
                batch.messages[id] = (Self.person, message)
                batch.lines[LineID(message: id, integrator: "milan")] = LineState(message: message, stream: nil)
                return batch
            }
            try await store.save(batch([1, 2, 3], nil))
            try await store.save(batch([9], .acknowledged))
            try await store.save(batch([9], .superseded))
            let file = try #require(try await store.outbox(of: id.emergency)?.outbox)
            let message = try #require(file.lines["milan"]?.messages.first)
            #expect(message.body == [1, 2, 3] && message.end == .acknowledged && message.attempts == 3)
            #expect(file.isTaken && file.isOver)
            try await store.save(batch([9], .refused))
            #expect(try await store.outbox(of: id.emergency)?.outbox.isTaken == false)
        }
    }

    @Test("SOS-19, SOS-28: who was called when, and the release of whoever was called in vain, come back after a crash as they were stored")
    func release() async throws {
        try await withStore { store in
            let (emergency, order) = (EmergencyID(bits: 1), ["milan", "north"])
            let start = Timestamp(milliseconds: 1000)
            let alert = OutboxMessage(
                id: MessageID(emergency: emergency, sequence: 0), kind: .alert, body: [1], createdAt: start)
            var file = DispatchMachine([alert])
            file.add(alert, order: order, at: start)
            let next = file.escalate(after: .seconds(30), order: order, at: start + .seconds(30))
            #expect(next == "north")
            func save(_ file: DispatchMachine) async throws {
                var batch = StoreBatch()
                for (integrator, outbox) in file.lines {
                    for message in outbox.messages {
                        batch.messages[message.id] = (Self.person, message.anew(at: start))
                        batch.lines[LineID(message: message.id, integrator: integrator)] = LineState(message: message, stream: nil)
                    }
                }
                try await store.save(batch)
            }
            try await save(file)
            #expect(try store.load().outboxes[emergency]?.outbox == file)
            let isNew = file.acknowledged(alert.id, by: "north") { alert, seq in
                OutboxMessage(id: alert.id.release, kind: .cancel, body: [2, UInt8(seq)], createdAt: start + .seconds(40))
            }
            try await save(file)
            let known = try #require(try store.load().outboxes[emergency]?.outbox)
            #expect(isNew && known == file)
            #expect(known.lines["milan"]?.current?.body == [2, 1] && known.lines["north"]?.current == nil)
            #expect(known.unassigned.isEmpty && known.nextSequence == 1 && known.isTaken && !known.isOver)
        }
    }

    @Test("A message that was stored and given to nobody is found again at the start, and one of an erased person leaves no line")
    func lostMessage() async throws {
        try await withStore { store in
            let id = MessageID(emergency: EmergencyID(bits: 1), sequence: 0)
            let message = OutboxMessage(id: id, kind: .alert, body: [1], createdAt: Timestamp(milliseconds: 1))
            var batch = StoreBatch()
            batch.messages[id] = (Self.person, message)
            let stranger = MessageID(emergency: EmergencyID(bits: 2), sequence: 0)
            batch.lines[LineID(message: stranger, integrator: "milan")] = LineState(message: message, stream: nil)
            try await store.save(batch)
            #expect(try store.load().outboxes[id.emergency]?.outbox.unassigned.map(\.id) == [id])
            #expect(try await store.outbox(of: stranger.emergency) == nil)
        }
    }

    @Test("State, message and position come back as they were stored")
    func comesBack() async throws {
        try await withStore { store in
            var watched = Watched()
            var machine = Supervision(rules: SupervisionRules())
            _ = machine.subscribed(
                own: [.heartRate: Bounds(low: 50, high: nil)], declaredInterval: .seconds(5), at: Timestamp(milliseconds: 1000))
            watched.subscriber.supervision = machine.state
            watched.heard = Watched.Heard(epoch: "e", sequence: 12)
            var batch = StoreBatch()
            batch.put(watched, of: Self.person)
            batch.positions["ingest.samples.07"] = StreamPosition(stream: "ingest.samples.07", epoch: "e", next: 13)
            try await store.save(batch)
            let memory = try store.load()
            #expect(memory.subscribers == [Self.person: watched])
            #expect(memory.positions.map(\.next) == [13])
            batch = StoreBatch()
            batch.remove(Self.person)
            try await store.save(batch)
            let emptied = try store.load()
            #expect(emptied.subscribers.isEmpty)
        }
    }

    @Test("SOS-28: a state that an earlier version has stored, as JSON, is read as it was")
    func storedAsJSON() async throws {
        try await withStore { store in
            let watched = CompactFormTests.everything
            let plain = try JSONEncoder().encode(watched)
            try await store.store.write { [keys = store.keys] db in
                let key = try #require(try keys.key(of: Self.person))
                let sealed = try Seal.seal(plain, key: key, context: SealedBatchStore.context(of: Self.person))
                try db.execute(
                    sql: "INSERT INTO subscribers (person, sealed) VALUES (?, ?)", arguments: [Self.person.data, Data(sealed)])
            }
            let memory = try store.load()
            #expect(memory.subscribers == [Self.person: watched] && memory.unreadable.isEmpty)
        }
    }

    @Test("The steady clock keeps its offset through restarts of the process and gets a new one with the machine")
    func steadyOffset() async throws {
        try await withStore { store in
            let offsets = try [("a", 5), ("a", 9), ("b", 9), ("", 11), ("", 12)].map { try store.steadyOffset(boot: $0.0, fresh: $0.1) }
            #expect(offsets == [5, 5, 9, 11, 12])
        }
        let clock = SteadyClock(offset: Timestamp.now.milliseconds - SteadyClock.sinceBoot)
        #expect(clock.steady(fromWall: .now + .seconds(3600)) <= clock.now)
        #expect(clock.now - clock.steady(fromWall: .now - .seconds(3600)) >= .seconds(3600))
    }

    @Test("No fact goes into a state twice, and another epoch begins anew")
    func receivesOnce() {
        func header(_ sequence: Int64, epoch: String = "e") -> StreamHeader {
            StreamHeader(
                stream: "s", epoch: epoch, sequence: sequence, head: sequence, type: "t", subject: "", at: Timestamp(milliseconds: 0),
                trace: "")
        }
        var watched = Watched()
        let took = [header(1), header(3), header(3), header(2), header(4), header(1, epoch: "f")].map { watched.receive($0) }
        #expect(took == [true, true, false, false, true, true])
    }
}
