// An answer that comes again after help was called for: whoever sent it did not mean what came later.

import Contracts
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("An answer that comes again", .timeLimit(.minutes(2)))
struct AnswerAgainStories {
    private static func stage(_ person: PersonID, _ supervision: SupervisionService) async -> Supervision.Stage? {
        await supervision.subscriber(of: person)?.supervision.stage
    }

    @Test("SOS-35, SOS-21: \"help is here\" asked back, help pressed again, and \"help is here\" sent again: all calling stopped")
    func helpIsHereBeforeHelp() async throws {
        try await Stage.playStarted(Desk(.silent)) { stage, dispatcher in
            let (supervision, prompts) = (dispatcher.parts.supervision, dispatcher.parts.people.prompts)
            let (person, emergency) = try await stage.caller()
            #expect(try await prompts.answer(.helpIsHere, to: emergency, by: person).asksBack)
            // Within 10 s it is one call with the first.
            _ = try await prompts.answer(.help, to: emergency, by: person)
            #expect(try await prompts.answer(.helpIsHere, to: emergency, by: person).asksBack)
            #expect(await Self.stage(person, supervision) == .dispatching)
            #expect(try await !prompts.answer(.helpIsHere, to: emergency, by: person).asksBack)
            #expect(await Self.stage(person, supervision) == .dispatched)
        }
    }

    @Test(
        "SOS-14, SOS-35: \"fine\" asked back, help pressed again within 10 s, and \"fine\" sent again: it called off the help",
        arguments: ["here", "with a device", "at the other dispatcher"])
    func fineBeforeHelp(help: String) async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let (supervision, prompts) = (dispatcher.parts.supervision, dispatcher.parts.people.prompts)
            let (person, emergency) = try await stage.caller()
            let t0 = try #require(await supervision.subscriber(of: person)?.supervision.episode?.t0)
            _ = try await prompts.answer(.fine, to: emergency, by: person)
            _ = try await prompts.answer(.help, to: emergency, by: person)
            try await eventually("it is called for again") { try await stage.state(emergency) == "dispatched" }
            #expect(try await prompts.answer(.fine, to: emergency, by: person).asksBack)
            switch help {
            case "here": _ = try await prompts.answer(.help, to: emergency, by: person)
            case "with a device":
                try await stage.ingest.say(person, [Sample(type: .help, at: .now, value: 1)])
                try await eventually("it is heard") { await supervision.people[person]?.answers(in: emergency).askedBack == nil }
            default:
                let last = try #require(await supervision.people[person]?.answers(in: emergency).lastAt)
                let elsewhere = GivenAnswer(
                    person: person, emergency: emergency, answer: .help, afterMs: (last - t0).wholeMilliseconds + 3)
                _ = await supervision.hear([.answered(elsewhere)], [])
            }
            #expect(try await prompts.answer(.fine, to: emergency, by: person).asksBack)
            #expect(await Self.stage(person, supervision) != .stoodDown)
            #expect(try await !prompts.answer(.fine, to: emergency, by: person).asksBack)
            #expect(await Self.stage(person, supervision) == .stoodDown)
        }
    }

    @Test(
        "SOS-14, SOS-35: \"fine\" that got 503, or no reply, then help, and \"fine\" sent again without a name: it called off the help",
        arguments: [true, false])
    func fineWithoutName(isStored: Bool) async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let (prompts, store) = (dispatcher.parts.people.prompts, dispatcher.parts.store.store)
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let asked = try await eventually("the prompt") { await prompts.prompt(of: person)?.emergency }
            if isStored {
                _ = try await prompts.answer(.fine, by: person)
            } else {
                try await store.write { db in
                    try db.execute(
                        sql: "CREATE TRIGGER refuses BEFORE INSERT ON prompt_answers BEGIN SELECT RAISE(ABORT, 'not now'); END")
                }
                await #expect(throws: Failure.self) { _ = try await prompts.answer(.fine, by: person) }
                try await store.write { db in try db.execute(sql: "DROP TRIGGER refuses") }
            }
            let called = try #require(try await prompts.answer(.help, by: person).emergency)
            #expect(called != asked)
            try await eventually("the call is taken") { try await stage.state(called) == "dispatched" }
            let again = try await prompts.answer(.fine, by: person)
            #expect(again.emergency == called && again.given.asksBack)
            #expect(try await stage.state(called) == "dispatched")
            #expect(try await !prompts.answer(.fine, by: person).given.asksBack)
            try await stage.calledOff(called)
        }
    }

    @Test("SOS-14, SOS-28: \"fine\", then help at one dispatcher, and \"fine\" sent again at one that began anew: it called off the help")
    func fineAtNewcomer() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let second = try await stage.start(role: .second)
            let person = PersonID.random()
            _ = try await stage.question(SubscribePerson(person: person, clausesAccepted: true, bounds: [:]), of: .second)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.askForHelp(person, of: .second)
            try await eventually("the call is taken") { try await second.parts.store.emergency(emergency)?.state == .dispatched }
            for answer in [AnswerPrompt.Answer.fine, .help] {
                _ = try await second.parts.people.prompts.answer(answer, to: emergency, by: person)
            }
            try await eventually("it calls again") { try await second.parts.store.emergency(emergency)?.state == .dispatched }
            let first = try await stage.start()
            let supervision = first.parts.supervision
            try await eventually("the first stands where the second does") { await Self.stage(person, supervision) == .dispatched }
            let prompts = first.parts.people.prompts
            #expect(try await prompts.answer(.fine, to: emergency, by: person).asksBack)
            #expect(await Self.stage(person, supervision) == .dispatched)
            #expect(try await !prompts.answer(.fine, to: emergency, by: person).asksBack)
            #expect(await Self.stage(person, supervision) == .stoodDown)
        }
    }

    @Test("SOS-14, SOS-28: a dispatcher that was away for long did not learn what help had overtaken, and let it call off the help")
    func fineAfterAbsence() async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let (supervision, prompts) = (dispatcher.parts.supervision, dispatcher.parts.people.prompts)
            let (person, emergency) = try await stage.caller()
            try await eventually("the call is taken") { try await stage.state(emergency) == "dispatched" }
            let subscriber = try #require(await supervision.subscriber(of: person))
            let now = await supervision.clock.now
            var told = PersonSettings(
                person: person, version: .none, settings: SubscriberSettings(subscriber),
                standing: .init(subscriber: subscriber, steady: now, wall: .now))
            _ = await supervision.hear([.settings(told)], [])
            #expect(await supervision.people[person]?.answers(in: emergency).said == nil)
            told.standing?.answered = [Watched.Answered(emergency: emergency, count: 2, last: .help, lastAt: now, said: [.fine])]
            _ = await supervision.hear([.settings(told)], [])
            #expect(try await prompts.answer(.fine, to: emergency, by: person).asksBack)
            #expect(try await stage.state(emergency) == "dispatched")
        }
    }

    @Test(
        "SOS-35, SOS-28: \"help is here\" pressed once, and again at the other dispatcher for want of a reply: it ended all calling",
        arguments: [false, true])
    func helpIsHereAtBoth(joinsLater: Bool) async throws {
        try await Stage.playStarted(Desk(.silent)) { stage, first in
            let person = try await stage.subscriber()
            var started: Stage.Dispatcher?
            if !joinsLater {
                let second = try await stage.start(role: .second)
                try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
                started = second
            }
            let emergency = try #require(try await first.parts.people.prompts.answer(.help, by: person).emergency)
            // Told, and halted before anybody gets the reply.
            #expect(try await first.parts.people.prompts.answer(.helpIsHere, to: emergency, by: person).asksBack)
            try await first.parts.journal.commitEverything()
            if started == nil { started = try await stage.start(role: .second) }
            let other = try #require(started)
            let there = other.parts.supervision
            try await eventually("the second calls") { await Self.stage(person, there) == .dispatching }
            try await eventually("it has heard the press") { await there.people[person]?.answers(in: emergency).count == 1 }
            #expect(try await other.parts.people.prompts.answer(.helpIsHere, to: emergency, by: person).asksBack)
            #expect(await Self.stage(person, there) == .dispatching)
            #expect(await Self.stage(person, first.parts.supervision) == .dispatching)
            #expect(try await !other.parts.people.prompts.answer(.helpIsHere, to: emergency, by: person).asksBack)
            try await eventually("it ends the calling here too") { await Self.stage(person, first.parts.supervision) == .dispatched }
            #expect(await Self.stage(person, there) == .dispatched)
            await other.stop()
        }
    }

    @Test("SOS-35: \"help is here\", said twice at the other dispatcher before help was called for here, ended the calling here")
    func helpIsHereOvertaken() async throws {
        try await Stage.playStarted(Desk(.silent)) { stage, dispatcher in
            let supervision = dispatcher.parts.supervision
            let (person, emergency) = try await stage.caller()
            let t0 = try #require(await supervision.subscriber(of: person)?.supervision.episode?.t0)
            let last = try #require(await supervision.people[person]?.answers(in: emergency).lastAt)
            for (difference, ends) in [(Int64(-3), false), (3, true)] {
                let afterMs = (last - t0).wholeMilliseconds + difference
                var twice = GivenAnswer(person: person, emergency: emergency, answer: .helpIsHere, afterMs: afterMs - 1)
                twice.asksBack = true
                var facts = [PairFact.answered(twice)]
                (twice.afterMs, twice.asksBack) = (afterMs, false)
                facts.append(.answered(twice))
                _ = await supervision.hear(facts, [])
                let expected = ends ? Supervision.Stage.dispatched : .dispatching
                #expect(await Self.stage(person, supervision) == expected)
            }
        }
    }
}
