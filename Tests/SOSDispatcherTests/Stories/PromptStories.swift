// The person's prompt through an emergency: shown, pushed, answered, over.

import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("The prompt, played", .timeLimit(.minutes(2)))
struct PromptStories {
    private func alert(_ stage: Stage, _ dispatcher: Stage.Dispatcher, _ anna: PersonID) async throws -> PromptState {
        try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 31)])
        return try await eventually("the prompt") { await dispatcher.parts.people.prompts.prompt(of: anna) }
    }

    @Test(
        "SOS-13, SOS-14: the prompt is pushed with a link whose page needs no log-in and no script; \"I am fine\" there keeps everybody from being called"
    )
    func fine() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let anna = try await stage.subscriber()
            let prompt = try await alert(stage, dispatcher, anna)
            #expect(prompt.phase == .asking)
            let push = try await eventually("the push") { notifier.messages(.sosPrompt).first }
            #expect(push.channels == [.push, .inbox] && push.recipient.person == anna)
            #expect(push.path.hasPrefix("/sos/v1/prompt/page/") && !push.path.contains("\(prompt.emergency)"))

            let visitor = await Visitor(of: dispatcher)
            let page = try await visitor.open(push.path)
            for words in ["I am fine", "I need help", "False alarm", "Help is here", "Call in", "<noscript>"] {
                #expect(page.text.contains(words), "\(words)")
            }
            #expect(try await visitor.open(push.path, in: "it-IT").text.contains("Sto bene"))
            #expect(try await visitor.open("/sos/v1/prompt/page/AAAAAAAAAAAAAAAAAAAAAA").status == 404)
            #expect(try await visitor.press("fine", at: push.path, origin: "https://elsewhere.example").status == 403)
            #expect(try await visitor.press("fine", at: push.path).status == 303)
            #expect(await dispatcher.parts.people.prompts.prompt(of: anna) == nil, "it is gone wherever the person looks")
            let done = try await visitor.open(push.path)
            #expect(done.text.contains("Nobody was called") && done.text.contains("I need help"))
            #expect(desk.receipts.isEmpty)
            // A changed mind counts.
            #expect(try await visitor.press("help", at: push.path).status == 303)
            try await eventually("help is called") { !desk.receipts.isEmpty }
        }
    }

    @Test(
        "SOS-19, SOS-21: the page tells that it is still being tried, then that the ambulance is informed; calling it off then says that the call had gone out"
    )
    func afterTheCall() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start()
            let prompts = dispatcher.parts.people.prompts
            let anna = try await stage.subscriber()
            let emergency = try await alert(stage, dispatcher, anna).emergency
            let given = try await prompts.answer(.help, to: emergency, by: anna)
            #expect(!given.alreadyDispatched)
            let path = try await eventually("the push") { notifier.messages(.sosPrompt).first?.path }
            let visitor = await Visitor(of: dispatcher)
            #expect(try await visitor.open(path).text.contains("Still trying"))
            desk.become(.acknowledges(.accepted))
            try await eventually("it is informed") { try await visitor.open(path).text.contains("The ambulance is informed") }
            try await eventually("the person is told too") { notifier.messages(.sosAmbulanceInformed).first?.recipient.person == anna }

            let first = try await prompts.answer(.falseAlarm, to: emergency, by: anna)
            #expect(first.alreadyDispatched)
            #expect(try await prompts.answer(.falseAlarm, to: emergency, by: anna) == first, "idempotent")
            #expect(try await visitor.open(path).text.contains("The call had already gone out"))
            await #expect(throws: Failure.self) { try await prompts.answer(.fine, to: .random(), by: anna) }
            await dispatcher.stop()

            let again = try await stage.start()
            #expect(try await again.parts.people.prompts.answer(.falseAlarm, to: emergency, by: anna) == first, "also after a restart")
            #expect(try await stage.timeline(emergency).count { $0 == "cancelled" } == 1)
            #expect(try await Visitor(of: again).open(path).status == 200, "the link still opens")
        }
    }

    @Test("SOS-14, SOS-21: on the page, \"fine\" after help after \"fine\" called it off; the page asks back, and once more counts")
    func fineAfterHelp() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let anna = try await stage.subscriber()
            let emergency = try await alert(stage, dispatcher, anna).emergency
            let path = try await eventually("the push") { notifier.messages(.sosPrompt).first?.path }
            let visitor = await Visitor(of: dispatcher)
            for (answer, state) in [("help", "dispatched"), ("fine", "stood-down"), ("help", "dispatched")] {
                #expect(try await visitor.press(answer, at: path).status == 303)
                try await eventually("\(answer) counts") { try await stage.state(emergency) == state }
            }
            #expect(try await !visitor.open(path).text.contains("press it once more"))
            #expect(try await visitor.press("fine", at: path).status == 303)
            #expect(try await visitor.open(path).text.contains("press it once more"))
            #expect(try await stage.state(emergency) == "dispatched")
            #expect(try await visitor.press("fine", at: path).status == 303)
            try await eventually("it is called off") { try await stage.state(emergency) == "stood-down" }
        }
    }

    @Test(
        "R10, SOS-35: without an alert help was 409, and during one any answer without the emergency's id: the open one is meant, or a new one"
    )
    func withoutName() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let (anna, bruno) = (PersonID.random(), PersonID.random())
            for person in [anna, bruno] { try await stage.subscribe(person) }
            let prompts = dispatcher.parts.people.prompts
            let called = try await prompts.answer(.help, by: anna).emergency
            let emergency = try #require(called)
            try await eventually("the call") { desk.receipts.contains { $0.id == "\(emergency)-0" } }

            let open = try await alert(stage, dispatcher, bruno).emergency
            let fine = try await prompts.answer(.fine, by: bruno)
            #expect(fine.emergency == open && !fine.given.alreadyDispatched)
            try await eventually("it is muted") { try await stage.state(open) == "muted" }
            #expect(!desk.receipts.contains { $0.message?.emergencyId == "\(open)" })
        }
    }

    @Test("SOS-35: whoever had called for help was told that their values became critical, and asked whether they were well")
    func manualWords() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start()
            let anna = try await stage.subscriber()
            _ = try await dispatcher.parts.people.prompts.answer(.help, by: anna)
            let told = try await eventually("the person is told") { notifier.messages(.sosHelpCalled).first }
            #expect(told.channels == [.push, .inbox] && told.recipient.person == anna)
            #expect(notifier.messages(.sosPrompt).isEmpty)
            let visitor = await Visitor(of: dispatcher)
            for (language, words) in [("en", "critical"), ("it-IT", "critici")] {
                let page = try await visitor.open(told.path, in: language)
                #expect(page.status == 200 && !page.text.contains(words))
            }
        }
    }

    @Test(
        "SOS-21, SOS-36: \"fine\" without a name, a fall beside what was called off before: it got that one's receipt, and the fall called")
    func withoutNameBeside() async throws {
        try await Stage.playStarted(Desk(.acknowledges(.accepted))) { stage, dispatcher in
            let (anna, prompts) = (PersonID.random(), dispatcher.parts.people.prompts)
            _ = try await stage.question(SubscribePerson(person: anna, clausesAccepted: true, bounds: [:], watchesFalls: true))
            let emergency = try await alert(stage, dispatcher, anna).emergency
            _ = try await prompts.answer(.help, to: emergency, by: anna)
            try await eventually("the call is taken") { try await stage.state(emergency) == "dispatched" }
            let first = try await prompts.answer(.fine, by: anna)
            #expect(first.emergency == emergency)
            try await stage.ingest.say(anna, [Sample(type: .fall, at: .now, value: 1)])
            let fallen = try await eventually("the fall is asked about") {
                await prompts.prompt(of: anna).flatMap { $0.phase == .fell ? $0.emergency : nil }
            }
            // What was called off before was answered; its receipt must not seem to answer the fall.
            await #expect(throws: Failure.self) { try await prompts.answer(.fine, to: emergency, by: anna) }
            #expect(await dispatcher.parts.supervision.subscriber(of: anna)?.supervision.fall != nil)
            let second = try await prompts.answer(.fine, by: anna)
            #expect(second.emergency == fallen && second.given != first.given)
            #expect(await dispatcher.parts.supervision.subscriber(of: anna)?.supervision.fall == nil)
        }
    }

    @Test("SOS-12, SOS-13: an alert that passed was gone before anybody saw it: it stays visible until it was seen, also after a restart")
    func passed() async throws {
        try await Stage.play { stage in
            let notifier = try await stage.notifier()
            var dispatcher = try await stage.start()
            let anna = try await stage.subscriber()
            var seen: [EmergencyID] = []
            for _ in 0..<2 {
                let emergency = try await alert(stage, dispatcher, anna).emergency
                // Of an alert that is over nobody is told any more.
                if seen.isEmpty { try await eventually("the push of the first") { !notifier.messages(.sosPrompt).isEmpty } }
                try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 70)])
                try await eventually("it has passed") { try await stage.state(emergency) == "transient" }
                seen.insert(emergency, at: 0)
            }
            #expect(try await dispatcher.parts.people.prompts.passed(of: anna).map(\.id) == seen)
            #expect(try await dispatcher.parts.people.prompts.passed(of: .random()).isEmpty)
            await dispatcher.stop()

            dispatcher = try await stage.start()
            let prompts = dispatcher.parts.people.prompts
            #expect(try await prompts.passed(of: anna).map(\.id) == seen, "a restart is nobody's look")
            try await prompts.see(seen[0], by: .random())
            #expect(try await prompts.passed(of: anna).count == 2, "nor is another person's")
            try await prompts.see(seen[0], by: anna)
            #expect(try await prompts.passed(of: anna).map(\.id) == [seen[1]])
            // The page of the link says it, and opening it is seeing it.
            let push = try await eventually("the push of the first") { notifier.messages(.sosPrompt).first }
            let page = try await Visitor(of: dispatcher).open(push.path)
            #expect(page.text.contains("Your values are normal again"))
            #expect(try await prompts.passed(of: anna).isEmpty)
        }
    }

    @Test("SOS-13: the event stream shows a prompt at once and removes it; who reconnects gets what is new, and nothing that was seen")
    func feed() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let prompts = dispatcher.parts.people.prompts
            let anna = try await stage.subscriber()
            let feed = try #require(PromptFeed(of: anna, seen: nil, service: prompts))
            #expect(try await feed.next()?.event == "removed")
            async let shown = feed.next()
            let emergency = try await alert(stage, dispatcher, anna).emergency
            let event = try #require(try await shown)
            #expect(event.event == "prompt" && event.data.contains("\"phase\":\"asking\"") && event.data.contains("\(emergency)"))
            let again = try #require(PromptFeed(of: anna, seen: event.id, service: prompts))
            async let next = again.next()
            _ = try await prompts.answer(.fine, to: emergency, by: anna)
            #expect(try await next?.event == "removed")
            #expect(try await feed.next()?.event == "removed")
            var open: [PromptFeed] = []
            while let more = PromptFeed(of: anna, seen: nil, service: prompts) { open.append(more) }
            #expect(open.count <= prompts.watchers.limit, "streams of one person are bounded")
        }
    }

    @Test("SOS-25: the person is told when no data arrive")
    func signalLost() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let notifier = try await stage.notifier()
            try await stage.start(["TRACKME_SOS_SIGNAL_LOST_S": "5"])
            let anna = try await stage.subscriber()
            let told = try await eventually("the warning") { notifier.messages(.sosSignalLost).first }
            #expect(told.recipient.person == anna && told.channels == [.push, .inbox])
        }
    }
}
