// One person's key is damaged at one dispatcher: the person is called for, and the other dispatcher knows what is said here.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("A person's damaged key, whole service", .timeLimit(.minutes(3)))
struct DamagedKeyStories {
    /// While the first dispatcher is stopped; the copies of its keys are gone as well.
    private static func damageKey(of person: PersonID, _ stage: Stage) throws {
        let folder = stage.folder.appendingPathComponent("sos-dispatcher")
        let file = folder.appendingPathComponent("sos-dispatcher-keys.db")
        let key = try #require(try Store.readCopy(file) { db in try WrappedKeys().living(db, of: person)?.wrapped })
        try flipBit(of: key, in: file)
        try? FileManager.default.removeItem(at: folder.appendingPathComponent("key-backups"))
    }

    @Test("SOS-28, SOS-24: a start while the call was out closed its record and sent nothing more: it goes on under the same name")
    func startWhileCalling() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let person = PersonID.random()
            var dispatcher = try await stage.start()
            let emergency = try await stage.callForHelp(person)
            try await eventually("the call") { desk.receipts.contains { $0.id == "\(emergency)-0" } }
            try await eventually("it is stored") { try await stage.state(emergency) == "dispatching" }
            await dispatcher.stop()
            try Self.damageKey(of: person, stage)

            // The second time what was called for here is read from the file.
            for _ in 0..<2 {
                dispatcher = try await stage.start()
                let seen = desk.receipts.count
                try await eventually("the call goes on") { desk.receipts.dropFirst(seen).contains { $0.id == "\(emergency)-1" } }
                #expect(try await stage.state(emergency) == "dispatching")
                await dispatcher.stop()
            }
            let alerts = desk.receipts.filter { $0.id == "\(emergency)-1" }
            #expect(alerts.allSatisfy { $0.message?.msgType == .alert } && Set(alerts.map(\.body)).count == 1)
            desk.become(.acknowledges(.accepted))
            dispatcher = try await stage.start()
            try await eventually("it is taken") { try await stage.state(emergency) == "dispatched" }
            #expect(try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.count == 1)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            try await eventually("it is called off") { desk.receipts.contains { $0.id == "\(emergency)-2" } }
        }
    }

    @Test("SOS-21, SOS-24: a start went on with a call that \"fine\" at the other dispatcher had ended, and its alert waited for the key")
    func startAfterFine() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let person = PersonID.random()
            var dispatcher = try await stage.start()
            let emergency = try await stage.callForHelp(person)
            try await eventually("the call") { desk.receipts.contains { $0.id == "\(emergency)-0" } }
            try await eventually("it is stored") { try await stage.state(emergency) == "dispatching" }
            // As a process keeps it to which the key is damaged already.
            let fine = PairFact.answered(GivenAnswer(person: person, emergency: emergency, answer: .fine, afterMs: 60_000))
            let key = dispatcher.parts.store.pair.own
            let sealed = Data(try Seal.seal(fine.encoded(), key: key, context: SealedPairFact.context))
            try await dispatcher.parts.store.store.write { db in
                try db.execute(
                    sql: "INSERT INTO pair_heard (person, sealed, at) VALUES (?, ?, ?)",
                    arguments: [person.data, sealed, Timestamp.now.milliseconds])
            }
            await dispatcher.stop()
            try Self.damageKey(of: person, stage)

            dispatcher = try await stage.start()
            try await eventually("it is over") { try await stage.state(emergency) == "closed" }
            #expect(!desk.receipts.contains { $0.id == "\(emergency)-1" })
            try await dispatcher.parts.journal.commitEverything()
            let waiting = try await dispatcher.parts.store.store.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM every_line WHERE ended IS NULL")
            }
            #expect(waiting == 0)
        }
    }

    @Test("SOS-24: settings from the other side's log took the place of how it supervises: what ran there was not known here")
    func settingsBeforeStanding() async throws {
        try await Stage.play { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let supervision = dispatcher.parts.supervision
            let person = PersonID.random()
            var (machine, now) = (Supervision(rules: await supervision.rules), Timestamp.now)
            _ = machine.subscribed(own: [.heartRate: Bounds(low: 50, high: nil)], declaredInterval: nil, at: now - .seconds(1))
            let entry = Sample(type: .heartRate, at: now, value: 31)
            _ = machine.uploaded(Supervision.Upload(at: now, receivedAt: now, entries: [entry]))
            var subscriber = Subscriber()
            subscriber.supervision = machine.state
            var told = PersonSettings(
                person: person, version: SettingsVersion(at: now, by: .second, after: .none), settings: SubscriberSettings(subscriber))
            await supervision.cannotRead(person)
            #expect(await supervision.hear([.settings(told)], []).isEmpty)
            now = .now
            told.standing = .init(subscriber: subscriber, steady: now, wall: now)
            #expect(await supervision.hear([.settings(told)], []) == [person])
            let running = try #require(machine.state.episode)
            #expect(await supervision.subscriber(of: person)?.supervision.episode?.trigger == running.trigger)
        }
    }

    @Test("SOS-33, SOS-28: an answer was not told to the other dispatcher, which called; the person's own bounds were not asked of it")
    func answerIsTold() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let late = ["TRACKME_SOS_DISPATCH_AT_S": "4.9"]
            let person = PersonID.random()
            var first = try await stage.start(late)
            let second = try await stage.start(late, role: .second)
            try await stage.subscribe(person, bounds: ["heart-rate": Bounds(low: 50, high: nil)])
            try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
            try await second.parts.journal.commitEverything()
            try await eventually("the first knows that there is a second") { [first] in try await first.parts.store.hasDeputy() }
            await first.stop()
            try Self.damageKey(of: person, stage)

            first = try await stage.start(late)
            try await eventually("it goes by the person's bounds") { [first] in
                await first.parts.supervision.subscriber(of: person)?.supervision.own == [.heartRate: Bounds(low: 50, high: nil)]
            }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await eventually("both ask") { [first] () -> EmergencyID? in
                let here = await first.parts.people.prompts.prompt(of: person)?.emergency
                return await second.parts.people.prompts.prompt(of: person)?.emergency == here ? here : nil
            }
            _ = try await first.parts.people.prompts.answer(.fine, to: emergency, by: person)
            try await eventually("the second knows") { try await second.parts.store.emergency(emergency)?.state == .muted }
            #expect(desk.receipts.isEmpty)
            #expect(
                await second.parts.supervision.subscriber(of: person)?.supervision.own == [.heartRate: Bounds(low: 50, high: nil)],
                "the default bounds of the other side have not taken the place of the person's")
        }
    }
}

extension SupervisionService {
    /// As at a start that finds the person's state damaged.
    fileprivate func cannotRead(_ person: PersonID) {
        people[person] = nil
        untold.insert(person)
    }
}
