// Two dispatchers over one ingest and one desk: who calls, who keeps silent, and what each knows of the other.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Two dispatchers, whole service")
struct PairStories {
    private static func subscribed(_ person: PersonID, _ stage: Stage, _ dispatchers: Stage.Dispatcher...) async throws {
        try await stage.subscribe(person)
        for dispatcher in dispatchers {
            try await eventually("both supervise") { await dispatcher.parts.supervision.isSubscribed(person) }
        }
    }

    private static func attempts(_ dispatcher: Stage.Dispatcher, _ emergency: EmergencyID) async throws -> Int {
        try await dispatcher.parts.store.audit(of: "\(emergency)").count { $0.action == "dispatch-attempted" }
    }

    @Test("SOS-15, SOS-24: while the first calls, the second knows the same emergency and the same bytes, and sends nothing")
    func secondIsSilent() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let first = try await stage.start(["TRACKME_SOS_RETRY_S": "1"])
            let second = try await stage.start(["TRACKME_SOS_RETRY_S": "1"], role: .second, lead: .seconds(60))
            let person = PersonID.random()
            try await Self.subscribed(person, stage, first, second)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let receipt = try await eventually("the call") { desk.receipts.first }
            let emergency = try #require(receipt.message.flatMap { EmergencyID($0.emergencyId) })
            let held = try await eventually("the second has it") {
                await second.parts.dispatcher.works[emergency]?.file.decided.first
            }
            #expect(held.body == receipt.body)
            try await eventually("repeats") { desk.receipts.count >= 3 }
            #expect(Set(desk.receipts.map(\.id)) == ["\(emergency)-0"])
            #expect(try await Self.attempts(second, emergency) == 0)
            // The acknowledgement that one of them gets ends it for both.
            desk.become(.acknowledges(.accepted))
            try await eventually("both know") {
                let states = try await [first, second].asyncMap { try await $0.parts.store.emergency(emergency)?.state }
                return states == [.dispatched, .dispatched]
            }
            #expect(try await Self.attempts(second, emergency) == 0)
        }
    }

    @Test(
        "SOS-24, SOS-28: killed after it heard the other dispatcher's call and before its own: it calls under the same number, not once more"
    )
    func killedBeforeItsOwnCall() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let settings = ["TRACKME_SOS_RETRY_S": "1", "TRACKME_SOS_SUSTAIN_S": "4", "TRACKME_SOS_DISPATCH_AT_S": "4.9"]
            let dispatcher = try await stage.start(settings)
            let person = PersonID.random()
            try await Self.subscribed(person, stage, dispatcher)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.emergency(of: person)
            let integrator = try #require(await dispatcher.parts.dispatcher.registry.order(for: nil).first)
            let attempt = MadeAttempt(
                person: person, emergency: emergency, sequence: 0, kind: .alert, integrator: integrator, body: "{}", at: .now)
            await dispatcher.parts.dispatcher.heard([.attempted(attempt)])
            try await eventually("it sends it too") { !desk.receipts.isEmpty }
            await dispatcher.stop()

            try await stage.start(settings)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .help))
            let before = desk.receipts.count
            try await eventually("it goes on calling") { desk.receipts.count >= before + 2 }
            #expect(Set(desk.receipts.map(\.id)) == ["\(emergency)-0"])
        }
    }

    @Test("SOS-15, SOS-28: the first ends between t0 and the call: the second calls for somebody who subscribed at the first")
    func secondCalls() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playPair(desk) { stage, first, second in
            let person = PersonID.random()
            try await Self.subscribed(person, stage, first, second)
            let t0 = Timestamp.now
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: t0, value: 31)], receivedAt: t0)
            let opened = try await eventually("the alert") {
                try await stage.question(ListEmergencies(person: person, limit: 1)).emergencies.first
            }
            await first.stop()
            let receipt = try await eventually("the call") { desk.receipts.first }
            #expect(receipt.at - t0 >= .milliseconds(3890))
            #expect(receipt.id == "\(opened.emergency)-0")
            try await eventually("the acknowledgement") { try await second.parts.store.emergency(opened.emergency)?.state == .dispatched }
            #expect(Set(desk.receipts.map(\.id)).count == 1)
        }
    }

    @Test("SOS-14, SOS-28: what the person said to the second while the first was down holds when the first is back: nobody is called")
    func answeredAtTheSecond() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playPair(desk) { stage, first, second in
            let person = PersonID.random()
            try await Self.subscribed(person, stage, first, second)
            await first.stop()
            let t0 = Timestamp.now
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: t0, value: 31)], receivedAt: t0)
            let emergency = try await eventually("the alert") {
                try await stage.question(ListEmergencies(person: person, limit: 1), of: .second).emergencies.first?.emergency
            }
            _ = try await stage.question(AnswerPrompt(person: person, answer: .fine), of: .second)
            let back = try await stage.start()
            try await eventually("the first knows") { try await back.parts.store.emergency(emergency)?.state == .muted }
            try await eventually("its time is over") { Timestamp.now - t0 > .seconds(5) }
            #expect(desk.receipts.isEmpty)
            // Pauses and ends travel the other way too.
            _ = try await stage.question(PauseSupervision(person: person, paused: true), of: .second)
            try await eventually("paused at the first") { await back.parts.supervision.status(of: person).paused }
            _ = try await stage.question(UnsubscribePerson(person: person))
            try await eventually("gone at the second") { await !second.parts.supervision.isSubscribed(person) }
        }
    }

    @Test(
        "SOS-14, SOS-28: called off at the second while the first was down: whoever was called last is told, not whoever had rejected the call"
    )
    func calledOffWhileDown() async throws {
        let (refusing, called) = (Desk(.acknowledges(.rejected)), Desk(.silent))
        try await Stage.playStarted(called, and: refusing) { stage, first in
            let second = try await stage.start(role: .second, lead: .seconds(60))
            let area = ServiceArea(circle: .init(centre: .init(latitude: 45.5, longitude: 9.25), radiusKm: 30))
            let settings = IntegratorSettings(name: "milan", area: area, url: refusing.address)
            let reply = try await stage.question(AddIntegrator(settings: settings, replaces: false))
            refusing.share(try WebhookSecret(reply.webhookSecret))
            let person = PersonID.random()
            try await Self.subscribed(person, stage, first, second)
            let place = Position(latitude: 45.5, longitude: 9.25, accuracy: 10)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: place)])
            let emergency = try await stage.askForHelp(person)
            try await eventually("the next service is called") { !called.receipts.isEmpty }
            try await eventually("the second knows") {
                await second.parts.dispatcher.works[emergency]?.file.lines[Integrator.configuredID] != nil
            }
            await first.stop()
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm), of: .second)
            try await stage.start()
            try await eventually("it is told") { called.receipts.contains { $0.id == "\(emergency)-1" } }
            #expect(Set(refusing.receipts.map(\.id)) == ["\(emergency)-0"])
        }
    }

    @Test("SOS-14, SOS-15: started anew after the first's call was taken, and alone, the second tells the service that it is called off")
    func calledOffAlone() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, first in
            let second = try await stage.start(role: .second, lead: .seconds(60))
            let person = PersonID.random()
            try await Self.subscribed(person, stage, first, second)
            let emergency = try await stage.callForHelp(person)
            try await eventually("the second knows") { try await second.parts.store.emergency(emergency)?.state == .dispatched }
            await second.stop()
            await first.stop()
            try await stage.start(role: .second)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm), of: .second)
            try await eventually("the service is told") { desk.receipts.contains { $0.id == "\(emergency)-1" } }
        }
    }

    @Test(
        "SOS-14, SOS-24: several answers of one person at once left the two dispatchers in opposite states for good",
        arguments: [[PairRole.first], [.first, .second]])
    func answersAtOnce(at roles: [PairRole]) async throws {
        try await Stage.playPair(Desk(.acknowledges(.accepted))) { stage, first, second in
            for _ in 0..<6 {
                let person = PersonID.random()
                try await Self.subscribed(person, stage, first, second)
                try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
                let opened = try await eventually("the alert on both") { () -> EmergencyID? in
                    let known = try await stage.question(ListEmergencies(person: person, limit: 1)).emergencies.first?.emergency
                    let listing = ListEmergencies(person: person, limit: 1)
                    return try await stage.question(listing, of: .second).emergencies.first?.emergency == known ? known : nil
                }
                if roles.count > 1 {
                    // Before the call "I am fine" ends the emergency, and help is another one.
                    for dispatcher in [first, second] {
                        try await eventually(
                            "it is called for", isTrue: { try await dispatcher.parts.store.emergency(opened)?.state == .dispatched })
                    }
                }
                await withTaskGroup { group in
                    for number in 0..<8 {
                        let answer: AnswerPrompt.Answer = number.isMultiple(of: 2) ? .fine : .help
                        let role = roles[number / 2 % roles.count]
                        group.addTask { _ = try? await stage.question(AnswerPrompt(person: person, answer: answer), of: role) }
                    }
                }
                let last = try await eventually("both know every answer", within: .seconds(10)) { () -> [EmergencyRecord.State]? in
                    let states = [
                        try await first.parts.store.emergency(opened)?.state, try await second.parts.store.emergency(opened)?.state,
                    ].compactMap(\.self)
                    let isOver = states.map { $0 == .stoodDown || $0 == .closed || $0 == .muted }
                    return Set(isOver).count == 1 && states.count == 2 && !states.contains(.alerted) ? states : nil
                }
                #expect(last.count == 2)
            }
        }
    }

    @Test("SOS-24, SOS-35: help, I am fine, help again: the second dispatcher took the last for the first and stayed stood down")
    func helpAgain() async throws {
        try await Stage.playPair(Desk(.acknowledges(.accepted))) { stage, first, second in
            let person = PersonID.random()
            try await Self.subscribed(person, stage, first, second)
            let called = try await stage.question(AnswerPrompt(person: person, answer: .help)).emergency
            let emergency = try #require(called)
            for (answer, isOver) in [(AnswerPrompt.Answer.fine, true), (.help, false)] {
                try await eventually(
                    "the second knows what was before",
                    isTrue: {
                        let state = try await second.parts.store.emergency(emergency)?.state
                        return isOver ? state == .dispatched : state == .closed || state == .stoodDown
                    })
                let now = try await stage.question(AnswerPrompt(person: person, answer: answer)).emergency ?? emergency
                try await eventually(
                    "the second knows it",
                    isTrue: {
                        let state = try await second.parts.store.emergency(now)?.state
                        return isOver ? state == .closed || state == .stoodDown : state == .dispatched
                    })
            }
        }
    }

    @Test(
        "SOS-19, SOS-41: an acknowledgement that was posted to the second stops the first when it is back; it dated it by when it heard of it"
    )
    func acknowledgedAtTheSecond() async throws {
        let desk = Desk(.silent)
        try await Stage.playPair(desk) { stage, first, second in
            let person = PersonID.random()
            try await Self.subscribed(person, stage, first, second)
            let emergency = try await stage.callForHelp(person)
            try await eventually("the first calls") { desk.receipts.count >= 2 }
            await first.stop()
            let before = desk.receipts.count
            try await eventually("the second goes on") { desk.receipts.count >= before + 3 }
            #expect(Set(desk.receipts.map(\.id)) == ["\(emergency)-0"])
            #expect(Set(desk.receipts.map(\.body)).count == 1)
            let acknowledgement = Acknowledgement(messageId: "\(emergency)-0", result: .accepted, ackId: "desk-1", reason: nil)
            let configured = try #require(await second.parts.dispatcher.registry.integrator(Integrator.configuredID))
            _ = try await second.parts.dispatcher.receive(acknowledgement, from: configured, form: "post")
            try await eventually("it stops") { try await second.parts.store.emergency(emergency)?.state == .dispatched }
            let heard = desk.receipts.count
            let back = try await stage.start()
            try await eventually("the first knows") { try await back.parts.store.emergency(emergency)?.state == .dispatched }
            #expect(desk.receipts.count == heard)
            let given = try #require(await second.parts.store.emergency(emergency)?.acknowledgedAt)
            #expect(try await back.parts.store.emergency(emergency)?.acknowledgedAt == given)
            let steps = try await stage.question(ReadTimeline(emergency: emergency)).steps
            #expect(steps.filter { $0.event == "acknowledged" }.map { ($0.at - given).wholeMilliseconds.magnitude < 50 } == [true])
        }
    }

    @Test("SOS-24: what was acknowledged is not sent again when both dispatchers are restarted", arguments: PairRole.allCases)
    func restartedBoth(stoppedFirst: PairRole) async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playPair(desk) { stage, first, second in
            let people = [PersonID.random(), .random()]
            for person in people { try await Self.subscribed(person, stage, first, second) }
            try await stage.ingest.say(people[0], [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.emergency(of: people[0])
            try await eventually("both know that it is taken", within: .seconds(20)) {
                let states = try await [first, second].asyncMap { try await $0.parts.store.emergency(emergency)?.state }
                return states == [.dispatched, .dispatched]
            }
            for dispatcher in stoppedFirst == .first ? [first, second] : [second, first] { await dispatcher.stop() }
            let before = desk.receipts.count
            for role in stoppedFirst == .first ? [PairRole.first, .second] : [.second, .first] { try await stage.start(role: role) }
            try await stage.ingest.say(people[1], [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("the other person's call", within: .seconds(20)) { desk.receipts.count > before }
            #expect(desk.receipts.filter { $0.id == "\(emergency)-0" }.count == before)
        }
    }

    @Test("SOS-24: from the same entries each of the two makes the same id and the same bytes by itself")
    func sameBytes() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let (person, t0) = (PersonID.random(), Timestamp.now)
            let entry = Sample(type: .heartRate, at: t0, value: 31, position: Position(latitude: 45.5, longitude: 9.25))
            for role in PairRole.allCases {
                let dispatcher = try await stage.start(role: role)
                _ = try await stage.question(SubscribePerson(person: person, clausesAccepted: true, bounds: [:]), of: role)
                try await stage.ingest.say(person, [entry], receivedAt: t0)
                let count = role == .first ? 1 : 2
                try await eventually("the call") { desk.receipts.count >= count }
                await dispatcher.stop()
            }
            #expect(Set(desk.receipts.map(\.id)).count == 1)
            #expect(Set(desk.receipts.map(\.body)).count == 1)
        }
    }

    @Test("A second that comes new knows who is subscribed, with own bounds, and an emergency that runs; a lost store is made good")
    func newcomer() async throws {
        let desk = Desk(.silent)
        try await Stage.playStarted(desk) { stage, _ in
            let (calm, calling) = (PersonID.random(), PersonID.random())
            try await stage.subscribe(calm, bounds: ["heart-rate": Bounds(low: 50, high: nil)])
            let emergency = try await stage.callForHelp(calling)
            for round in 0..<2 {
                let second = try await stage.start(role: .second)
                try await eventually("it knows both") {
                    let people = await second.parts.supervision.people
                    return people[calm]?.subscriber.supervision.own[.heartRate]?.low == 50
                        && people[calling]?.subscriber.supervision.episode != nil
                }
                let episode = try #require(await second.parts.supervision.people[calling]?.subscriber.supervision.episode)
                #expect(await second.parts.supervision.names.emergency(of: calling, episode.trigger) == emergency)
                await second.stop()
                if round == 0 { try FileManager.default.removeItem(at: stage.folder.appendingPathComponent("sos-deputy")) }
            }
            #expect(Set(desk.receipts.map(\.id)) == ["\(emergency)-0"])
        }
    }

    @Test("ACC-31: an erasure is confirmed once both dispatchers have erased, and the certificate names the stores of both")
    func erasure() async throws {
        try await Stage.playPair { stage, first, second in
            let person = PersonID.random()
            try await Self.subscribed(person, stage, first, second)
            try await eventually("the first has heard of the second") { try await first.parts.store.hasDeputy() }
            let erasure = ErasureID.random()
            let stores = [ErasedStore(store: "sos-deputy.db", removed: 3, at: .now)]
            #expect(first.parts.pair.erased(erasure) == nil)
            var batch = StoreBatch()
            batch.told = [.erased(erasure, stores)]
            second.parts.journal.note(batch)
            try await second.parts.journal.commit()
            try await eventually("the first knows") { first.parts.pair.erased(erasure) == stores }
            await second.stop()
            await first.stop()
            let again = try await stage.start()
            #expect(again.parts.pair.erased(erasure) == stores)
        }
    }

    @Test("ACC-31: what the second had erased before the first ever followed it, the first knows: no erasure waits for it for ever")
    func erasedBeforeTheFirstFollowed() async throws {
        try await Stage.play { stage in
            let second = try await stage.start(role: .second)
            let erasure = ErasureID.random()
            let stores = [ErasedStore(store: "sos-deputy.db", removed: 3, at: .now, kept: PersonErasureStore.kept)]
            var batch = StoreBatch()
            batch.told = [.erased(erasure, stores)]
            second.parts.journal.note(batch)
            try await second.parts.journal.commit()
            let first = try await stage.start()
            try await eventually("the first knows") { first.parts.pair.erased(erasure) == stores }
        }
    }
}
