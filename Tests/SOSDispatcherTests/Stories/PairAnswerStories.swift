// What one dispatcher makes of answers that people gave the other.

import Contracts
import Dispatch
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Answers at the other dispatcher")
struct PairAnswerStories {
    @Test("SOS-33: an answer dated ahead, as to a question asked again about one entry, moved supervision's clock half an hour on")
    func answeredAhead() async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let supervision = dispatcher.parts.supervision
            let (person, emergency) = try await stage.caller()
            // As the other side tells it, which counts from a later `t0`.
            let ahead = GivenAnswer(person: person, emergency: emergency, answer: .falseAlarm, afterMs: 1_800_000)
            _ = await supervision.hear([.answered(ahead)], [])
            try await eventually("it counts") { try await dispatcher.parts.store.emergency(emergency)?.state == .stoodDown }
            func lead() async throws -> Duration {
                let clock = await supervision.clock
                return try #require(await supervision.subscriber(of: person)).supervision.now - clock.now
            }
            #expect(try await lead() <= .zero)
            // What is answered here after it must not move it either.
            _ = try? await stage.question(AnswerPrompt(person: person, answer: .fine))
            #expect(try await lead() <= .zero)
        }
    }

    @Test("SOS-36: answers in an emergency and in a fall beside it, each heard from the other side, counted again without end")
    func answeredInBoth() async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let supervision = dispatcher.parts.supervision
            let person = PersonID.random()
            _ = try await stage.question(SubscribePerson(person: person, clausesAccepted: true, bounds: [:], watchesFalls: true))
            try await stage.ingest.say(person, [Sample(type: .fall, at: .now, value: 1)])
            let fallen = try await eventually("the fall is asked about") {
                await supervision.subscriber(of: person)?.supervision.beside.first
            }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let running = try await eventually("the call is taken") {
                let state = await supervision.subscriber(of: person)?.supervision
                return state?.stage == .dispatched && state?.beside.isEmpty == false ? state?.episode : nil
            }
            let names = await supervision.names
            let answers = [running, fallen].map {
                GivenAnswer(person: person, emergency: names.emergency(of: person, $0.trigger), answer: .helpIsHere, afterMs: 100)
            }
            _ = await supervision.hear(answers.map { .answered($0) }, [])
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 70)])
            let known = try await eventually("both are known") { () -> Watched? in
                let watched = await supervision.people[person]
                return answers.allSatisfy { watched?.answers(in: $0.emergency ?? .init(bits: 0)).count == 1 } ? watched : nil
            }
            #expect(known.subscriber.supervision.episode?.helpIsHere == true)
        }
    }

    @Test("SOS-14, SOS-28: \"fine\" here and \"help\" 3 ms later at the other dispatcher: this one could not call it off")
    func helpAfterFine() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let supervision = dispatcher.parts.supervision
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let episode = try await eventually("the alert") { await supervision.subscriber(of: person)?.supervision.episode }
            let emergency = await supervision.names.emergency(of: person, episode.trigger)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .fine))
            let fine = try #require(await supervision.people[person]?.answers(in: emergency).lastAt)
            #expect(await supervision.subscriber(of: person)?.supervision.episode == nil)
            let afterMs = (fine - episode.t0).wholeMilliseconds
            // Said before "fine", it is overtaken; said after it, the person's last word counts.
            for (difference, runs) in [(Int64(-3), false), (3, true)] {
                let help = GivenAnswer(person: person, emergency: emergency, answer: .help, afterMs: afterMs + difference)
                _ = await supervision.hear([.answered(help)], [])
                #expect(await (supervision.subscriber(of: person)?.supervision.episode != nil) == runs)
            }
            try await eventually("the desk has it") { try await stage.state(emergency) == "dispatched" }
            #expect(await supervision.subscriber(of: person)?.supervision.mutes == nil)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            try await eventually("it is called off here") { try await stage.state(emergency) == "stood-down" }
        }
    }

    @Test("SOS-14, SOS-28: a dispatcher that begins anew heard \"false alarm\" without the help that followed, and called it off")
    func helpAfterFalseAlarm() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let second = try await stage.start(role: .second)
            let person = PersonID.random()
            _ = try await stage.question(SubscribePerson(person: person, clausesAccepted: true, bounds: [:]), of: .second)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.askForHelp(person, of: .second)
            try await eventually("the call is taken") { try await second.parts.store.emergency(emergency)?.state == .dispatched }
            for answer in [AnswerPrompt.Answer.falseAlarm, .help] {
                _ = try await stage.question(AnswerPrompt(person: person, answer: answer), of: .second)
            }
            try await eventually("it calls again") { try await second.parts.store.emergency(emergency)?.state == .dispatched }
            let first = try await stage.start()
            try await eventually("the first stands where the second does") {
                await first.parts.supervision.subscriber(of: person)?.supervision.episode != nil
            }
            // What it has heard is in force by now: the snapshot is one stretch.
            #expect(await first.parts.supervision.subscriber(of: person)?.supervision.stage == .dispatched)
            #expect(try await first.parts.store.emergency(emergency)?.state != .stoodDown)
        }
    }

    @Test("SOS-24, SOS-35: help pressed where the disk hangs, and again at the other dispatcher, became two emergencies")
    func helpWhileTheDiskHangs() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playPair(desk) { stage, first, second in
            let person = try await stage.subscriber()
            try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
            let disk = DispatchSemaphore(value: 0)
            let hanging = Task { try await first.parts.store.store.write { _ in disk.wait() } }
            let pressed = Task { try await first.parts.people.prompts.answer(.help, by: person) }
            // The edge turns to it after 2 s.
            _ = try? await eventually("the second knows", within: .seconds(2)) {
                await second.parts.supervision.subscriber(of: person)?.supervision.episode
            }
            let again = try await second.parts.people.prompts.answer(.help, by: person)
            disk.signal()
            _ = try await hanging.value
            #expect(try await pressed.value.emergency == again.emergency)
            try await first.parts.journal.commitEverything()
            for dispatcher in [first, second] {
                try await eventually("it is taken") {
                    try await dispatcher.parts.store.emergencies(of: person, limit: 10).map(\.state) == [.dispatched]
                }
                let known = try await dispatcher.parts.store.emergencies(of: person, limit: 10)
                #expect(known.map(\.id) == [again.emergency])
            }
            #expect(Set(desk.receipts.map(\.id)).count == 1)
        }
    }

    /// As the other dispatcher tells it: a moment after what was answered last in the emergency.
    private static func helpElsewhere(
        _ person: PersonID, _ emergency: EmergencyID, since t0: Timestamp, _ supervision: SupervisionService
    ) async throws {
        let last = try #require(await supervision.people[person]?.answers(in: emergency).lastAt)
        let help = GivenAnswer(
            person: person, emergency: emergency, answer: .help, afterMs: (last - t0).wholeMilliseconds + 3)
        _ = await supervision.hear([.answered(help)], [])
    }

    @Test(
        "SOS-14, SOS-21, SOS-35: \"fine\", help, \"fine\" again: it called off the help, or nothing did; it is asked back, and counts the next time",
        arguments: ["the other dispatcher", "a device", "this dispatcher"])
    func fineAgain(help: String) async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            var dispatcher = try await stage.start()
            let (person, emergency) = try await stage.caller()
            try await eventually("the call is taken") { try await stage.state(emergency) == "dispatched" }
            let t0 = try #require(await dispatcher.parts.supervision.subscriber(of: person)?.supervision.episode?.t0)
            var receipts: [PromptStore.Given] = []
            for round in 0..<3 {
                // In the last round the process that gave the receipt before is another one.
                if round == 2 {
                    await dispatcher.stop()
                    dispatcher = try await stage.start()
                }
                let prompts = dispatcher.parts.people.prompts
                if round > 0 {
                    // As a program sends it whose first reply was lost: it must not call off what came later.
                    let askedBack = try await prompts.answer(.fine, to: emergency, by: person)
                    #expect(askedBack.asksBack)
                    #expect(try await stage.state(emergency) == "dispatched")
                }
                let given = try await prompts.answer(.fine, to: emergency, by: person)
                #expect(!given.asksBack && !receipts.contains(given))
                try await eventually("it is called off") { try await stage.state(emergency) == "stood-down" }
                #expect(try await prompts.answer(.fine, to: emergency, by: person) == given, "the same answer once more is the same one")
                receipts.append(given)
                guard round < 2 else { break }
                if help == "a device" {
                    try await stage.ingest.say(person, [Sample(type: .help, at: .now, value: 1)])
                } else if help == "this dispatcher" {
                    _ = try await prompts.answer(.help, to: emergency, by: person)
                } else {
                    try await Self.helpElsewhere(person, emergency, since: t0, dispatcher.parts.supervision)
                }
                try await eventually("it is called for again") { try await stage.state(emergency) == "dispatched" }
            }
        }
    }

    @Test(
        "SOS-14, SOS-28: \"fine\" at the other dispatcher, help here, and that \"fine\" sent again here: it called off the help",
        arguments: [false, true])
    func fineFromTheOther(isOvertaken: Bool) async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let (supervision, prompts) = (dispatcher.parts.supervision, dispatcher.parts.people.prompts)
            let (person, emergency) = try await stage.caller()
            try await eventually("the call is taken") { try await stage.state(emergency) == "dispatched" }
            let t0 = try #require(await supervision.subscriber(of: person)?.supervision.episode?.t0)
            let last = try #require(await supervision.people[person]?.answers(in: emergency).lastAt)
            let fine = GivenAnswer(
                person: person, emergency: emergency, answer: .fine, afterMs: (last - t0).wholeMilliseconds + (isOvertaken ? -3 : 3))
            _ = await supervision.hear([.answered(fine)], [])
            if !isOvertaken {
                try await eventually("it is called off") { try await stage.state(emergency) == "stood-down" }
                _ = try await prompts.answer(.help, to: emergency, by: person)
                try await eventually("it is called for again") { try await stage.state(emergency) == "dispatched" }
            }
            #expect(try await prompts.answer(.fine, to: emergency, by: person).asksBack)
            #expect(try await stage.state(emergency) == "dispatched")
            _ = try await prompts.answer(.falseAlarm, to: emergency, by: person)
            try await eventually("another answer counts") { try await stage.state(emergency) == "stood-down" }
        }
    }

    @Test(
        "SOS-14, SOS-28, SOS-36: \"fine\" here and \"help\" 3 ms later at the other dispatcher was passed over here",
        arguments: ["of a fall", "after a restart", "with \"help is here\" behind it"])
    func helpAfterFineOf(_ what: String) async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            var dispatcher = try await stage.start()
            let person = PersonID.random()
            _ = try await stage.question(SubscribePerson(person: person, clausesAccepted: true, bounds: [:], watchesFalls: true))
            let entry =
                what == "of a fall" ? Sample(type: .fall, at: .now, value: 1) : Sample(type: .heartRate, at: .now, value: 31)
            try await stage.ingest.say(person, [entry])
            let before = dispatcher.parts.supervision
            let asked = try await eventually("it is asked about") { () -> Episode? in
                let state = await before.subscriber(of: person)?.supervision
                return state?.episode ?? state?.beside.first
            }
            let emergency = await before.names.emergency(of: person, asked.trigger)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .fine))
            if what == "after a restart" {
                await dispatcher.stop()
                dispatcher = try await stage.start()
            }
            let supervision = dispatcher.parts.supervision
            let last = try #require(await supervision.people[person]?.answers(in: emergency).lastAt)
            let afterMs = (last - asked.t0).wholeMilliseconds
            var heard = [GivenAnswer(person: person, emergency: emergency, answer: .help, afterMs: afterMs + 3)]
            if what == "with \"help is here\" behind it" {
                heard.append(GivenAnswer(person: person, emergency: emergency, answer: .helpIsHere, afterMs: afterMs + 4))
            }
            _ = await supervision.hear(heard.map { .answered($0) }, [])
            #expect(await supervision.subscriber(of: person)?.supervision.episode?.trigger == asked.trigger)
            #expect(await supervision.people[person]?.answers(in: emergency).count == heard.count)
            try await eventually("the desk has it") { try await stage.state(emergency) == "dispatched" }
            // The "fine" of before is asked back here too, and a new one calls it off.
            let prompts = dispatcher.parts.people.prompts
            #expect(try await prompts.answer(.fine, to: emergency, by: person).asksBack)
            #expect(try await !prompts.answer(.fine, to: emergency, by: person).asksBack)
            try await stage.calledOff(emergency)
        }
    }

    @Test("SOS-35: \"help\" after a \"fine\" at the other dispatcher: its receipt named what was over, not what is called for")
    func helpAfterFineElsewhere() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let (supervision, prompts) = (dispatcher.parts.supervision, dispatcher.parts.people.prompts)
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let over = try await eventually("the prompt") { await prompts.prompt(of: person)?.emergency }
            _ = await supervision.hear([.answered(GivenAnswer(person: person, emergency: over, answer: .fine, afterMs: 100))], [])
            try await eventually("it is over here too") { try await stage.state(over) == "muted" }
            let help = try await prompts.answer(.help, to: over, by: person)
            let called = try #require(help.calledFor)
            #expect(called != over)
            try await eventually("the desk has it") { try await stage.state(called) == "dispatched" }
            // Sent again, it is the same one.
            #expect(try await prompts.answer(.help, to: over, by: person).calledFor == called)
            #expect(try await stage.state(over) == "muted")
        }
    }

    @Test("SOS-14, SOS-28: \"fine\" sent again came by the other dispatcher's door, and was told that there is nothing to answer")
    func fineTwiceByTwoDoors() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let first = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let second = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"], role: .second)
            let person = try await stage.subscriber()
            try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await eventually("both ask") {
                let asked = await [first, second].asyncMap { await $0.parts.people.prompts.prompt(of: person)?.emergency }
                return asked[0] == asked[1] ? asked[0] : nil
            }
            _ = try await first.parts.people.prompts.answer(.fine, to: emergency, by: person)
            try await eventually("the second knows") { try await second.parts.store.emergency(emergency)?.state == .muted }
            let again = try await second.parts.people.prompts.answer(.fine, to: emergency, by: person)
            #expect(again.answer == .fine && !again.alreadyDispatched)
            await #expect(throws: Failure.self) {
                try await second.parts.people.prompts.answer(.falseAlarm, to: emergency, by: person)
            }
        }
    }

    @Test(
        "SOS-14, SOS-28, SOS-35: \"fine\" closed a manual call at once, and help 3 ms later at the other dispatcher: this one stayed closed"
    )
    func helpAfterFineOfManual() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let supervision = dispatcher.parts.supervision
            let person = try await stage.subscriber()
            let called = try await stage.question(AnswerPrompt(person: person, answer: .help)).emergency
            let emergency = try #require(called)
            try await eventually("the call is taken") { try await stage.state(emergency) == "dispatched" }
            let episode = try #require(await supervision.subscriber(of: person)?.supervision.episode)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .fine))
            try await eventually("it is closed") { try await stage.state(emergency) == "closed" }
            try await Self.helpElsewhere(person, emergency, since: episode.t0, supervision)
            #expect(await supervision.subscriber(of: person)?.supervision.episode?.trigger == episode.trigger)
            // Under the numbers that the call and its cancellation had, nobody would go once more.
            try await eventually("the desk has it anew") { desk.receipts.contains { $0.id == "\(emergency)-2" } }
            try await eventually("it is taken") { try await stage.state(emergency) == "dispatched" }
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            try await eventually("it is called off here") { try await stage.state(emergency) == "closed" }
        }
    }
}
