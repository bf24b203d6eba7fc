// The dispatcher's store is restored from a copy: no emergency is lost, and none is called under another name.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("A dispatcher that was put back, whole service")
struct RestoreStories {
    private static func store(_ stage: Stage) -> URL {
        stage.folder.appendingPathComponent("sos-dispatcher/sos-dispatcher.db")
    }

    /// As an operator copies it, while the dispatcher runs.
    static func copy(_ stage: Stage) async throws -> URL {
        let copy = stage.folder.appendingPathComponent("copy.db")
        try await DatabaseQueue(path: store(stage).path).vacuum(into: copy.path)
        return copy
    }

    static func putBack(_ copy: URL, _ stage: Stage) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store(stage).path + suffix) }
        try FileManager.default.copyItem(at: copy, to: store(stage))
    }

    private static func epoch(_ dispatcher: Stage.Dispatcher) async throws -> String {
        try await dispatcher.parts.store.store.read { try StreamLog().epoch($0) }
    }

    @Test(
        "SOS-28, INV-15: a restored dispatcher calls again, under the same id and byte for byte, what it does not know it has called; new entries are heard"
    )
    func callsAgain() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let (person, next) = (PersonID.random(), PersonID.random())
            var dispatcher = try await stage.start()
            for person in [person, next] { try await stage.subscribe(person) }
            try await dispatcher.parts.journal.commitEverything()
            let (copy, epoch) = (try await Self.copy(stage), try await Self.epoch(dispatcher))
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let id = try await eventually("the call") { desk.receipts.first?.id }
            await dispatcher.stop()
            let seen = desk.receipts.count

            try Self.putBack(copy, stage)
            dispatcher = try await stage.start()
            #expect(try await Self.epoch(dispatcher) != epoch)
            try await eventually("the call again") { desk.receipts.count > seen }
            try await stage.ingest.say(next, [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("a call for the next") { desk.receipts.contains { $0.id != id } }
            let first = desk.receipts.filter { $0.id == id }
            #expect(Set(first.map(\.body)).count == 1 && Set(desk.receipts.map(\.id)).count == 2)
            try await eventually("two emergencies") {
                try await stage.question(ListEmergencies(person: nil, limit: 10)).emergencies.count == 2
            }
            let restored = try await Self.epoch(dispatcher)
            await dispatcher.stop()
            dispatcher = try await stage.start()
            #expect(try await Self.epoch(dispatcher) == restored, "a restart begins no epoch")
        }
    }

    /// - Parameter role: of the dispatcher that gets the answer; the first one's store is restored.
    @Test(
        "SOS-24: what the person has told either dispatcher since the copy was made is known: a restored one does not call them out",
        arguments: PairRole.allCases)
    func answered(at role: PairRole) async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let (person, next) = (PersonID.random(), PersonID.random())
            let first = try await stage.start()
            let second = try await stage.start(role: .second)
            for person in [person, next] {
                try await stage.subscribe(person)
                try await eventually("the second knows") { await second.parts.supervision.people[person] != nil }
            }
            try await first.parts.journal.commitEverything()
            let copy = try await Self.copy(stage)
            if role == .second { await first.stop() }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            try await stage.sayFine(person, of: role)
            if role == .first {
                try await eventually("the second knows it") {
                    try await second.parts.store.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM pair_heard") } == 1
                }
                await first.stop()
            }
            try await second.parts.journal.commitEverything()

            try Self.putBack(copy, stage)
            try await stage.start()
            // Later than the other: when this one is called, that one's time was over.
            try await stage.ingest.say(next, [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("a call for the next") { !desk.receipts.isEmpty }
            #expect(Set(desk.receipts.map(\.id)).count == 1)
        }
    }

    /// - Parameter isKnown: whether the copy was made after the second had confirmed how far it follows the first.
    @Test(
        "SOS-24: a restored dispatcher that was stopped before the other could be asked asks it at its next start, though its copy knows of none",
        arguments: [true, false])
    func asksAtTheNextStart(isKnown: Bool) async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let person = PersonID.random()
            let first = try await stage.start()
            let second = try await stage.start(role: .second)
            try await stage.subscribe(person)
            try await eventually("the second knows") { await second.parts.supervision.people[person] != nil }
            try await first.parts.journal.commitEverything()
            if isKnown { try await eventually("the first has heard of the second") { try await first.parts.store.hasDeputy() } }
            let copy = try await Self.copy(stage)
            if !isKnown {
                try await DatabaseQueue(path: copy.path).write { try $0.execute(sql: "DELETE FROM stream_confirmations") }
            }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            try await stage.sayFine(person)
            // By its own fact, or by the person's state, where that comes first.
            try await eventually("the second knows it") {
                let told = await second.parts.supervision.people[person]?.answersToTell
                return second.parts.pair.hasAnswers || told?.isEmpty == false
            }
            try await second.parts.journal.commitEverything()
            await first.stop()
            await second.stop()

            try Self.putBack(copy, stage)
            let alone = try await stage.start()
            #expect(try await alone.parts.store.hasForgotten())
            await alone.stop()
            try await stage.start(role: .second)
            let restored = try await stage.start()
            try await eventually("the answer is told back") { restored.parts.pair.hasAnswers }
            try await eventually("that is remembered") { try await !restored.parts.store.hasForgotten() }
        }
    }

    @Test("SOS-24: who subscribed since the copy was made is watched again, as far as there is a second dispatcher that knows")
    func subscribersOfThePair() async throws {
        try await Stage.playPair { stage, first, second in
            let copy = try await Self.copy(stage)
            let person = try await stage.subscriber(bounds: ["heart-rate": Bounds(low: 50, high: nil)])
            try await eventually("the second knows") { await second.parts.supervision.people[person] != nil }
            await first.stop()
            try Self.putBack(copy, stage)
            let restored = try await stage.start()
            try await eventually("the first knows again") {
                await restored.parts.supervision.people[person]?.subscriber.supervision.own[.heartRate]?.low == 50
            }
        }
    }

    @Test(
        "SOS-28, SOS-32: a restored dispatcher knew an emergency that began since the copy by hearsay, and its 'worse' was sent by the other alone: it has its messages and numbers, and sends by itself"
    )
    func emergencyOfThePair() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playPair(desk) { stage, first, second in
            let copy = try await Self.copy(stage)
            let person = try await stage.subscriber()
            try await eventually("the second knows") { await second.parts.supervision.people[person] != nil }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.askForHelp(person)
            for dispatcher in [first, second] {
                try await eventually("it is taken") { try await dispatcher.parts.store.emergency(emergency)?.state == .dispatched }
            }
            let taken = try await second.parts.store.emergency(emergency)
            await first.stop()
            try await second.parts.journal.commitEverything()

            try Self.putBack(copy, stage)
            let restored = try await stage.start()
            try await eventually("the call is known to be taken") {
                await restored.parts.dispatcher.works[emergency]?.file.isTaken == true
            }
            try await eventually("it is listed") { try await restored.parts.store.emergency(emergency) == taken }
            #expect(try await stage.timeline(emergency).prefix(3) == ["alerted", "dispatched", "acknowledged"])
            let stored = try await restored.parts.store.outbox(of: emergency)?.outbox
            #expect(stored?.isTaken == true && stored?.nextSequence == 1)

            await second.stop()
            for (number, rate) in [20.0, 14].enumerated() {
                try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: rate)])
                let news = try await eventually("the desk hears that it is worse") {
                    desk.receipts.first { $0.id == "\(emergency)-\(number + 1)" }
                }
                #expect(news.message?.msgType == .update && news.message?.severity == "worse")
            }
            #expect(Set(desk.receipts.map(\.id)) == Set((0...2).map { "\(emergency)-\($0)" }))
        }
    }

    @Test(
        "SOS-19, SOS-28: a call that nobody had taken when the first dispatcher's store was put back was repeated by the second alone: both go on with it, as one message"
    )
    func callOfThePair() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let first = try await stage.start()
            let second = try await stage.start(role: .second, lead: .seconds(60))
            try await first.parts.journal.commitEverything()
            let copy = try await Self.copy(stage)
            let person = try await stage.subscriber()
            try await eventually("the second knows") { await second.parts.supervision.people[person] != nil }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.askForHelp(person)
            let call = try await eventually("the call") { desk.receipts.first }
            try await eventually("the second has it") {
                await second.parts.dispatcher.works[emergency]?.file.decided.first?.body == call.body
            }
            await first.stop()
            try await second.parts.journal.commitEverything()

            try Self.putBack(copy, stage)
            let restored = try await stage.start()
            try await eventually("the first has it again") {
                await restored.parts.dispatcher.works[emergency]?.file.latestAlert != nil
            }
            await second.stop()
            let seen = desk.receipts.count
            try await eventually("it goes on calling") { desk.receipts.count >= seen + 2 }
            #expect(Set(desk.receipts.map(\.id)) == ["\(emergency)-0"])
            // The restored one may hear of the person's word before it hears of the message, and makes it then, some moments later or
            // earlier than it was made: the same one, said in two ways (dispatch.md).
            let said = desk.receipts.compactMap(\.message)
            #expect(said.count == desk.receipts.count && Set(said.map(\.firstBreachAt)).count == 1 && Set(said.map(\.seq)) == [0])
            #expect(try await stage.state(emergency) == "dispatching")
        }
    }

    @Test(
        "SOS-24, SOS-28: a restored dispatcher that is alone asked for another for ever and waited for it at each start: it calls at once meanwhile, and the operator's word that the other is gone ends both"
    )
    func alone() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let first = try await stage.start()
            try await first.parts.journal.commitEverything()
            let copy = try await Self.copy(stage)
            await first.stop()

            try Self.putBack(copy, stage)
            let restored = try await stage.start()
            let pace = MachinePace()
            defer { pace.end() }
            let begun = ContinuousClock.now
            _ = try await stage.caller()
            try await eventually("the call") { !desk.receipts.isEmpty }
            // Less than the time between two questions to the other dispatcher.
            #expect(ContinuousClock.now - begun < pace.allowed(.seconds(1)))
            let (asks, hasForgotten) = (await restored.parts.link.isAsking, try await restored.parts.store.hasForgotten())
            #expect(asks && hasForgotten, "it was asking all the time")

            try await stage.forget(.sosDeputy, at: .first)
            #expect(try await !restored.parts.store.hasForgotten())
            try await eventually("it asks no more") { await !restored.parts.link.isAsking }
            await restored.stop()
            let next = try await stage.start()
            let (asksAgain, waits) = (await next.parts.link.isAsking, try await next.parts.store.hasOther(.first))
            #expect(!asksAgain && !waits, "nor does the next start")
        }
    }

    @Test("the second dispatcher, left alone for good, waited for the first at each start: not where the operator says that it is gone")
    func secondAlone() async throws {
        try await Stage.play { stage in
            let second = try await stage.start(role: .second)
            #expect(try await second.parts.store.hasOther(.second))
            try await stage.forget(.sosDispatcher, at: .second)
            #expect(try await !second.parts.store.hasOther(.second))
        }
    }
}
