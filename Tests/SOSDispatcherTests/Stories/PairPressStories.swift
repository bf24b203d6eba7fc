// A press of help that a dispatcher hears of more than once.

import Contracts
import Dispatch
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("A press of help, heard again")
struct PairPressStories {
    private static func press(_ person: PersonID, at time: Timestamp) -> GivenAnswer {
        GivenAnswer(person: person, emergency: nil, answer: .help, afterMs: 0, at: time)
    }

    private static func emergency(of person: PersonID, pressed time: Timestamp, _ supervision: SupervisionService) async -> EmergencyID {
        await supervision.names.emergency(of: person, Trigger(.help, at: time, kind: .manual))
    }

    private static func running(_ person: PersonID, _ supervision: SupervisionService) async -> Episode? {
        await supervision.subscriber(of: person)?.supervision.episode
    }

    @Test(
        "SOS-35, SOS-21: a press of help was heard again, another more than 10 s after it: it called for what was called off",
        arguments: [false, true])
    func heardTwice(afterRestart: Bool) async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            let now = Timestamp.now
            for time in [now - .seconds(70), now - .seconds(10)] {
                let over = await Self.emergency(of: person, pressed: time, dispatcher.parts.supervision)
                let fine = GivenAnswer(person: person, emergency: over, answer: .fine, afterMs: 5)
                _ = await dispatcher.parts.supervision.hear([.answered(Self.press(person, at: time)), .answered(fine)], [])
                #expect(await Self.running(person, dispatcher.parts.supervision) == nil)
                try await eventually("it is closed") { try await stage.state(over) == "closed" }
            }
            if afterRestart {
                await dispatcher.stop()
                dispatcher = try await stage.start()
            }
            // What was told before it was stored comes behind what was stored.
            _ = await dispatcher.parts.supervision.hear([.answered(Self.press(person, at: now - .seconds(70)))], [])
            #expect(await Self.running(person, dispatcher.parts.supervision) == nil)
            try await dispatcher.parts.journal.commitEverything()
            let kept = try await dispatcher.parts.store.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM pair_heard") }
            #expect(kept == 4, "each is kept once")
        }
    }

    @Test(
        "SOS-35, SOS-24: a dispatcher that was put back heard its own presses since the copy told back, and called for each",
        arguments: ["long ago", "by this process", "called off since", "by a process that was killed"])
    func toldBackAfterRestore(given: String) async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let supervision = dispatcher.parts.supervision
            let person = try await stage.subscriber()
            let ages = ["long ago": 1000, "by this process": 0]
            let time = Timestamp.now - .seconds(ages[given] ?? 100)
            var press = Self.press(person, at: time)
            press.isReturned = true
            var facts = [PairFact.answered(press)]
            if given == "called off since" {
                let over = await Self.emergency(of: person, pressed: time, supervision)
                facts.append(
                    .answered(GivenAnswer(person: person, emergency: over, answer: .fine, afterMs: 5, at: nil, isReturned: true)))
            }
            await supervision.noteStore(wasPutBack: given == "long ago")
            _ = await supervision.hear(facts, [])
            let isKilled = given == "by a process that was killed"
            #expect(await (Self.running(person, supervision) != nil) == isKilled, "whoever was killed may not have stored it")
            try await dispatcher.parts.journal.commitEverything()
            #expect(try await dispatcher.parts.store.emergencies(of: person, limit: 10).count == (isKilled ? 1 : 0))
        }
    }

    @Test("SOS-24, SOS-35: a press that a killed process had not stored was passed over at a start a quarter of an hour later")
    func toldBackLate() async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let person = try await stage.subscriber()
            var press = Self.press(person, at: .now - .seconds(1200))
            press.isReturned = true
            _ = await dispatcher.parts.supervision.hear([.answered(press)], [])
            #expect(await Self.running(person, dispatcher.parts.supervision) != nil)
        }
    }

    @Test("SOS-35, SOS-24: \"help is here\" pressed once where the disk hangs came twice to the other dispatcher: all calling stopped")
    func helpIsHereOnce() async throws {
        try await Stage.playPair(Desk(.silent)) { stage, first, second in
            let person = try await stage.subscriber()
            try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
            let emergency = try #require(try await first.parts.people.prompts.answer(.help, by: person).emergency)
            try await eventually("both call") { await Self.running(person, second.parts.supervision) != nil }
            let isBeside = try await isDone(whileWriting: first.parts.store.store) {
                let given = try await first.parts.people.prompts.answer(.helpIsHere, to: emergency, by: person)
                #expect(given.asksBack, "whoever gets no reply sends it again")
                let there = await Self.running(person, second.parts.supervision)
                #expect(there?.askedBackAt == nil)
            }
            #expect(isBeside)
        }
    }

    @Test("SOS-31, SOS-14: \"fine\" that the other dispatcher was given, sent again here after a fall, ended the fall unasked")
    func fineAgainAfterFall() async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let (supervision, prompts) = (dispatcher.parts.supervision, dispatcher.parts.people.prompts)
            let person = PersonID.random()
            _ = try await stage.question(SubscribePerson(person: person, clausesAccepted: true, bounds: [:], watchesFalls: true))
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await eventually("the prompt") { await prompts.prompt(of: person)?.emergency }
            try await eventually("the call is taken") { try await stage.state(emergency) == "dispatched" }
            let fine = GivenAnswer(person: person, emergency: emergency, answer: .fine, afterMs: 60_000)
            _ = await supervision.hear([.answered(fine)], [])
            try await eventually("it is called off") { try await stage.state(emergency) == "stood-down" }
            try await stage.ingest.say(person, [Sample(type: .fall, at: .now, value: 1)])
            try await eventually("the fall is asked about") {
                await supervision.subscriber(of: person)?.supervision.beside.isEmpty == false
            }
            _ = try? await prompts.answer(.fine, to: emergency, by: person)
            #expect(await supervision.subscriber(of: person)?.supervision.beside.isEmpty == false)
        }
    }

    @Test("SOS-24, SOS-35: \"fine\" and then help where the disk hangs: help was heard at the other first, and two were called for")
    func fineBeforeHelp() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let late = ["TRACKME_SOS_DISPATCH_AT_S": "4.9"]
            let first = try await stage.start(late)
            let second = try await stage.start(late, role: .second)
            let person = try await stage.subscriber()
            try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let asked = try await eventually("both ask") { () -> EmergencyID? in
                let here = await first.parts.people.prompts.prompt(of: person)?.emergency
                return await second.parts.people.prompts.prompt(of: person)?.emergency == here ? here : nil
            }
            let disk = DispatchSemaphore(value: 0)
            let hanging = Task { try await first.parts.store.store.write { _ in disk.wait() } }
            let fine = Task { try await first.parts.people.prompts.answer(.fine, to: asked, by: person) }
            try await eventually("it is over here") { await Self.running(person, first.parts.supervision) == nil }
            let help = Task { try await first.parts.people.prompts.answer(.help, by: person) }
            let there = try? await eventually("the second calls", within: .seconds(2)) { () -> Trigger? in
                let state = await second.parts.supervision.subscriber(of: person)?.supervision
                return state?.stage == .dispatching || state?.stage == .dispatched ? state?.episode?.trigger : nil
            }
            disk.signal()
            _ = try await hanging.value
            _ = try await fine.value
            let called = try #require(try await help.value.emergency)
            let name = await second.parts.supervision.names
            #expect(there.map { name.emergency(of: person, $0) } == called && called != asked)
            // "Fine" is told back as well, and changes nothing where it was given.
            for store in [first.parts.store, second.parts.store] {
                try await eventually("it is taken") { try await store.emergency(called)?.state == .dispatched }
            }
            #expect(try await second.parts.store.emergency(asked)?.state == .muted)
            #expect(desk.receipts.allSatisfy { $0.id.hasPrefix("\(called)-") })
        }
    }

    @Test(
        "SOS-35, SOS-21: a press was told back to the dispatcher that was given it, which called for what was called off",
        arguments: [false, true])
    func toldBack(afterRestart: Bool) async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            _ = try await stage.question(AnswerPrompt(person: person, answer: .help))
            let pressed = try #require(await Self.running(person, dispatcher.parts.supervision)?.trigger.at)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .fine))
            // The disk of the other dispatcher was slow, and another press had come there before.
            let other = pressed - .seconds(30)
            let over = await Self.emergency(of: person, pressed: other, dispatcher.parts.supervision)
            let fine = GivenAnswer(person: person, emergency: over, answer: .fine, afterMs: 5)
            _ = await dispatcher.parts.supervision.hear([.answered(Self.press(person, at: other)), .answered(fine)], [])
            try await eventually("it is closed") { try await stage.state(over) == "closed" }
            if afterRestart {
                await dispatcher.stop()
                dispatcher = try await stage.start()
            }
            _ = await dispatcher.parts.supervision.hear([.answered(Self.press(person, at: pressed))], [])
            #expect(await Self.running(person, dispatcher.parts.supervision) == nil)
        }
    }
}
