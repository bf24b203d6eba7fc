// What contacts say to one dispatcher, the other knows: it calls on where the first cannot, and keeps quiet where somebody comes.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Emergency contacts and two dispatchers", .timeLimit(.minutes(2)))
struct ContactPairStories {
    private static let pace = ["TRACKME_SOS_CONTACT_CALL_S": "1", "TRACKME_SOS_CONTACT_ROUNDS": "50"]

    /// Anna, watched by both, with two contacts, whose heart fails.
    private static func call(
        _ stage: Stage, _ dispatchers: Stage.Dispatcher...
    ) async throws -> EmergencyID {
        let anna = try await stage.subscriber()
        await dispatchers[0].parts.supervision.name([.berta, .carlo], nil, of: anna)
        try await eventually("both know the contacts") {
            for dispatcher in dispatchers {
                guard await dispatcher.parts.supervision.contactFacts(of: anna).contacts.count == 2 else { return false }
            }
            return true
        }
        try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 31)])
        let emergency = try await stage.askForHelp(anna)
        for dispatcher in dispatchers {
            try await eventually("each has the alarm") { await dispatcher.alarm(emergency) != nil }
        }
        return emergency
    }

    private static func calls(_ notifier: TalkingNotifier) -> [SendMessage] {
        notifier.messages(.sosContactAlert).filter { $0.channels == [.call] }
    }

    @Test("SOS-22, SOS-28: nobody has answered and the first is down: the second calls on down the list, where the first left off")
    func callsOn() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let notifier = try await stage.notifier()
            let first = try await stage.start(Self.pace)
            let second = try await stage.start(Self.pace, role: .second)
            let emergency = try await Self.call(stage, first, second)
            try await eventually("the first calls again") { Self.calls(notifier).count >= 2 }
            try await eventually("the second has counted") { await second.alarm(emergency)?.calls ?? 0 >= 2 }
            await first.stop()
            let called = Self.calls(notifier).count
            try await eventually("the second calls on") { Self.calls(notifier).count >= called + 2 }
            // One after the other, nobody twice in a row: the second goes on in the list.
            let numbers = Self.calls(notifier).map(\.recipient.phone)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 != $1 })

            // What is said to the second while the first is down, the first knows when it is back.
            let path = try #require(notifier.messages(.sosContactAlert).first { $0.recipient.phone == "+39333000001" }?.path)
            #expect(try await Visitor(of: second).press("on-my-way", at: path).status == 303)
            let back = try await stage.start(Self.pace)
            try await eventually("the first knows") { await back.alarm(emergency)?.contacts.first?.answer == .onMyWay }
            #expect(await back.nextCall(emergency) == nil)
            #expect(try await stage.timeline(emergency).contains("contact-answered"))
        }
    }

    @Test("SOS-22, SOS-28: somebody has answered at the first: the second calls nobody when the first is down, across its own restart too")
    func keepsQuiet() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let notifier = try await stage.notifier()
            let first = try await stage.start(Self.pace)
            let second = try await stage.start(Self.pace, role: .second)
            let emergency = try await Self.call(stage, first, second)
            let alerts = try await eventually("both contacts are told") {
                let alerts = notifier.messages(.sosContactAlert).filter { $0.channels != [.call] }
                return alerts.count == 2 ? alerts : nil
            }
            let berta = try #require(alerts.first { $0.recipient.phone == "+39333000001" }?.path)
            let carlo = try #require(alerts.first { $0.recipient.phone == "+39333000002" }?.path)
            let visitor = await Visitor(of: first)
            #expect(try await visitor.press("seen", at: carlo).status == 303)
            #expect(try await visitor.press("on-scene", at: berta).status == 303)
            try await eventually("the second knows") {
                await second.alarm(emergency)?.contacts.map(\.answer) == [.onScene, .seen]
            }
            await first.stop()
            #expect(await second.nextCall(emergency) == nil)
            await second.stop()
            let again = try await stage.start(Self.pace, listening: false, role: .second)
            #expect(await again.alarm(emergency)?.contacts.map(\.answer) == [.onScene, .seen])
            #expect(await again.nextCall(emergency) == nil)
            let page = try await Visitor(of: again).open(carlo)
            #expect(page.status == 200 && page.text.contains("Berta: "))
            // One "on scene" is told to the other once, whichever dispatcher says it.
            try await eventually("the other hears of it") { !notifier.messages(.sosContactInformed).isEmpty }
            #expect(notifier.messages(.sosContactInformed).map(\.recipient.phone) == ["+39333000002"])
        }
    }
}

extension Stage.Dispatcher {
    fileprivate func alarm(_ emergency: EmergencyID) async -> ContactCase? {
        await parts.people.contacts.cases[ContactAlarms.occasion(emergency)]
    }

    /// When anybody is to be called again; nil where nobody is.
    fileprivate func nextCall(_ emergency: EmergencyID) async -> Timestamp? {
        await alarm(emergency).flatMap { ContactEscalation.nextCall($0, ContactEscalation.Rules(callEvery: .seconds(1), rounds: 50))?.at }
    }
}
