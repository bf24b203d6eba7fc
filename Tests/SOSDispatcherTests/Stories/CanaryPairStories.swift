// Two dispatchers that test themselves: neither takes the other's test for a person's emergency.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Test emergencies of two dispatchers, whole service", .timeLimit(.minutes(4)))
struct CanaryPairStories {
    private static let settings = ["TRACKME_SOS_CANARY": "true", "TRACKME_SOS_DISPATCH_AT_S": "3"]

    private static func store(_ stage: Stage, _ role: PairRole) -> URL {
        stage.folder.appendingPathComponent("\(role.peer)/\(role.peer).db")
    }

    /// Who flies there, as soon as its emergency is in the file.
    private static func flying(_ dispatcher: Stage.Dispatcher) async throws -> PersonID {
        try await eventually("a flight is under way", within: .seconds(60)) {
            try await dispatcher.parts.store.store.read { db -> PersonID? in
                guard let known = try CanaryStore().load(db) else { return nil }
                let open = try Row.fetchOne(
                    db, sql: "SELECT 1 FROM emergencies JOIN subscribers USING (person) WHERE person = ? AND closed_at IS NULL",
                    arguments: [known.person])
                return open == nil ? nil : known.person
            }
        }
    }

    /// Each has landed in time or late, and nobody was called for them.
    private static func land(_ dispatchers: [Stage.Dispatcher], _ stage: Stage, _ desk: Desk) async throws {
        for dispatcher in dispatchers {
            try await eventually(
                "a test emergency is acknowledged by the probe", within: .seconds(60),
                isTrue: { ["ok", "late"].contains(await dispatcher.parts.canary.last?.outcome.word) })
            #expect(desk.receipts.isEmpty)
            for person in await dispatcher.parts.supervision.names.synthetic.all {
                let listed = try await stage.question(ListEmergencies(person: person, limit: 10), of: dispatcher.parts.pair.role)
                #expect(listed.emergencies.isEmpty)
            }
            let all = try await stage.question(ListEmergencies(person: nil, limit: 10), of: dispatcher.parts.pair.role)
            #expect(all.emergencies.isEmpty)
        }
    }

    /// A person's own call goes to the emergency service, with tests under way.
    private static func calls(for person: PersonID, _ stage: Stage, _ desk: Desk) async throws {
        try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
        try await eventually("the person's call") { !desk.receipts.isEmpty }
        let emergency = try await stage.emergency(of: person)
        #expect(desk.receipts.allSatisfy { $0.id.hasPrefix("\(emergency)-") })
    }

    @Test(
        "SOS-17, NFR-05: on a fresh start the test emergency of the other dispatcher was called for in earnest, each second and by text: it goes to the other's probe alone"
    )
    func freshStart() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let second = try await stage.start(Self.settings, role: .second)
            let person = PersonID.random()
            _ = try await stage.question(SubscribePerson(person: person, clausesAccepted: true, bounds: [:]), of: .second)
            try await second.parts.journal.commitEverything()
            let flying = try await Self.flying(second)
            let first = try await stage.start(Self.settings)
            try await eventually("the first has heard who is supervised") { await first.parts.supervision.people[person] != nil }
            #expect(await !first.parts.supervision.isSubscribed(flying))
            try await Self.land([first, second], stage, desk)
            try await Self.calls(for: person, stage, desk)
        }
    }

    @Test(
        "SOS-17, NFR-05: with both stores put back from copies test emergencies were called for in earnest: each goes to its own probe alone"
    )
    func bothPutBack() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            var dispatchers: [Stage.Dispatcher] = []
            for role in PairRole.allCases { dispatchers.append(try await stage.start(Self.settings, role: role)) }
            let person = try await stage.subscriber()
            var flying: [PersonID] = []
            for (role, dispatcher) in zip(PairRole.allCases, dispatchers) {
                try await eventually("both know the person") { await dispatcher.parts.supervision.people[person] != nil }
                try await dispatcher.parts.journal.commitEverything()
                flying.append(try await Self.flying(dispatcher))
                let copy = stage.folder.appendingPathComponent("\(role.rawValue).copy")
                try await DatabaseQueue(path: Self.store(stage, role).path).vacuum(into: copy.path)
            }
            for dispatcher in dispatchers { await dispatcher.stop() }
            for role in PairRole.allCases {
                let file = Self.store(stage, role)
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + suffix) }
                try FileManager.default.copyItem(at: stage.folder.appendingPathComponent("\(role.rawValue).copy"), to: file)
            }

            dispatchers = []
            for role in PairRole.allCases { dispatchers.append(try await stage.start(Self.settings, role: role)) }
            for (dispatcher, others) in zip(dispatchers, flying.reversed()) {
                try await eventually("all is told back", within: .seconds(30)) { try await !dispatcher.parts.store.hasForgotten() }
                #expect(await !dispatcher.parts.supervision.isSubscribed(others))
            }
            try await Self.land(dispatchers, stage, desk)
            try await Self.calls(for: person, stage, desk)
        }
    }

    /// - Parameter role: whose test it is; the first one hears it.
    @Test(
        "A test emergency whose probe is not known is sent to nobody, whichever dispatcher's it is; a person's beside it is called for",
        arguments: PairRole.allCases)
    func noProbe(role: PairRole) async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let supervision = dispatcher.parts.supervision
            let synthetic = await supervision.names.synthetic.person(of: role)
            _ = try await supervision.keys.makeKey(for: synthetic)
            await supervision.beginFlight(of: synthetic, bounds: [.heartRate: Bounds(low: 100, high: nil)])
            try await stage.ingest.say(synthetic, [Sample(type: .heartRate, at: .now, value: 79)])
            try await eventually("its time to be called has come", within: .seconds(30)) {
                await supervision.people[synthetic]?.subscriber.supervision.stage == .dispatching
            }
            try await Self.calls(for: try await stage.subscriber(), stage, desk)
            #expect(await !supervision.hasLanded(synthetic), "it has failed")
        }
    }

    @Test(
        "SOS-17: whether the other dispatcher was told of a test's subscriber, and called for it in earnest, hung on a row: the identity alone says who is nobody",
        arguments: PairRole.allCases)
    func untold(role: PairRole) async throws {
        try await Stage.playStarted { stage, dispatcher in
            let (supervision, store) = (dispatcher.parts.supervision, dispatcher.parts.store)
            let person = try await stage.subscriber()
            let synthetic = await supervision.names.synthetic
            _ = try await supervision.keys.makeKey(for: synthetic.person(of: role))
            await supervision.beginFlight(of: synthetic.person(of: role), bounds: [.heartRate: Bounds(low: 100, high: nil)])
            try await dispatcher.parts.journal.commitEverything()
            let (stored, known) = try await store.store.read { db in
                (try Int.fetchOne(db, sql: "SELECT count(*) FROM subscribers"), try CanaryStore().load(db)?.person)
            }
            #expect(stored == 2 && known == nil)
            let page = try await store.snapshot(
                SnapshotStream(stream: PairRole.first.stream, after: nil), participants: [:], steady: await supervision.clock.now,
                except: synthetic)
            #expect(page.facts.map(\.header.subject) == ["\(person)"])
        }
    }

    @Test("A test's subscriber of an earlier release, whom the other dispatcher supervises as anybody, is supervised by nobody any more")
    func takenBack() async throws {
        try await Stage.playPair(Desk(.acknowledges(.accepted))) { stage, first, second in
            let former = try await stage.subscriber()
            try await eventually("the second supervises it") { await second.parts.supervision.isSubscribed(former) }
            try await first.parts.journal.commitEverything()
            try await first.parts.store.store.write { db in
                try CanaryStore().save(db, CanaryStore.Known(person: former, since: .now, lastAt: .now))
            }
            await first.stop()
            let again = try await stage.start(Self.settings)
            #expect(await !again.parts.supervision.isSubscribed(former))
            try await eventually("the second hears it", within: .seconds(30)) { await !second.parts.supervision.isSubscribed(former) }
        }
    }
}
