// Who is called for has a name: emergency cards, and what else was said of a person before a dispatcher supervised them.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Emergency cards at two dispatchers", .timeLimit(.minutes(2)))
struct CardStories {
    private static let card = EmergencyCard(
        name: "Anna Bianchi", telephone: "+393331234567", language: "en", birthYear: 1940, sex: "female", address: "Via Roma 1",
        medicalNotes: nil)

    private static func know(_ person: PersonID, _ dispatchers: Stage.Dispatcher...) async throws {
        for dispatcher in dispatchers {
            try await eventually("each knows the card") {
                await dispatcher.parts.supervision.subscriber(of: person)?.card?.name == card.name
            }
        }
    }

    /// This consent keeps no state: whoever begins to follow it hears what is said from then on.
    /// - Returns: what comes next on its stream, where each of them has heard all that was said.
    private static func follow(_ consent: TalkingConsent, _ dispatchers: Stage.Dispatcher...) async throws -> Int64 {
        for dispatcher in dispatchers {
            try await eventually("each follows consent") { () async throws -> Bool in
                try await consent.say(card, of: .random())
                return try await !dispatcher.parts.store.positions(of: .emergencyCards).isEmpty
            }
        }
        return try await eventually("each has heard the same") { () async throws -> Int64? in
            var heard: Set<Int64> = []
            for dispatcher in dispatchers {
                heard.formUnion(try await dispatcher.parts.store.positions(of: .emergencyCards).map(\.next))
            }
            return heard.count == 1 ? heard.first : nil
        }
    }

    private static func supervise(_ person: PersonID, _ dispatchers: Stage.Dispatcher...) async throws {
        for dispatcher in dispatchers {
            try await eventually("each supervises") { await dispatcher.parts.supervision.isSubscribed(person) }
        }
    }

    @Test(
        "SOS-16, SOS-20: the card came before the subscription: it was lost for ever, and the second dispatcher's call had no name",
        arguments: [true, false])
    func eitherOrder(isCardFirst: Bool) async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playPair(desk) { stage, first, second in
            let consent = try await stage.consent()
            let anna = PersonID.random()
            let followed = try await Self.follow(consent, first, second)
            if isCardFirst {
                try await consent.say(Self.card, of: anna)
                for dispatcher in [first, second] {
                    try await eventually("it has passed") {
                        try await dispatcher.parts.store.positions(of: .emergencyCards).contains { $0.next > followed }
                    }
                    #expect(await dispatcher.parts.supervision.subscriber(of: anna) == nil, "nothing is kept of who is not subscribed")
                }
                try await stage.subscribe(anna)
            } else {
                try await stage.subscribe(anna)
                try await Self.supervise(anna, first, second)
                try await consent.say(Self.card, of: anna)
            }
            try await Self.know(anna, first, second)
            #expect(await second.parts.supervision.subscriber(of: anna)?.language == .english)

            await first.stop()
            _ = try await stage.question(AnswerPrompt(person: anna, answer: .help), of: .second)
            let call = try await eventually("the second calls") { desk.receipts.first?.message }
            #expect(call.subject.name == Self.card.name && call.subject.telephone == Self.card.telephone)
        }
    }

    @Test("SOS-16, SOS-20: a store that lacked a card lacked it until the profile was changed: a start asks consent for it")
    func stored() async throws {
        try await Stage.playPair(Desk(.silent)) { stage, first, second in
            let consent = try await stage.consent()
            let anna = PersonID.random()
            consent.know(Self.card, of: anna)
            try await stage.subscribe(anna)
            try await Self.know(anna, first, second)
            await second.parts.supervision.know([EmergencyCardState(person: anna, card: nil)], [])
            #expect(await second.parts.supervision.subscriber(of: anna)?.card == nil, "as stores of earlier releases are")
            await second.stop()
            let again = try await stage.start(role: .second)
            try await Self.know(anna, again)
        }
    }

    @Test("SOS-16, SOS-20: consent was silent when somebody subscribed: the card comes when it answers, and no call waits for it")
    func consentIsSilent() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playPair(desk) { stage, first, second in
            let anna = try await stage.subscriber()
            try await Self.supervise(anna, first, second)
            let pressed = Timestamp.now
            _ = try await stage.question(AnswerPrompt(person: anna, answer: .help))
            let call = try await eventually("the call") { desk.receipts.first }
            #expect(call.at - pressed < .seconds(5) && call.message?.subject.name == nil)
            let consent = try await stage.consent()
            consent.know(Self.card, of: anna)
            try await Self.know(anna, first, second)
        }
    }

    @Test("A consent that refused at once was asked for a card four times a second: a round that fails waits twice as long each time")
    func consentRefuses() async throws {
        try await Stage.playStarted { stage, dispatcher in
            let consent = try await stage.consent()
            _ = try await Self.follow(consent, dispatcher)
            consent.refuse()
            let anna = try await stage.subscriber()
            let times = try await eventually("it was asked five times", within: .seconds(30)) {
                consent.refusals.count >= 5 ? consent.refusals : nil
            }
            // 0.25 + 0.5 + 1 + 2 s of pauses, of which a wake-up of the subscription itself may shorten one of the first.
            #expect(times[4] - times[0] > .seconds(2), "\(times[4] - times[0])")
            #expect(await dispatcher.parts.supervision.withoutCard(among: [anna]) == [anna], "it is asked for on")
        }
    }

    @Test("SOS-16, SOS-22: notes that may no longer be told were told by the other dispatcher, and those that may were not")
    func notesAsConsented() async throws {
        try await Stage.playPair { stage, first, second in
            let anna = try await stage.subscriber()
            try await Self.supervise(anna, first, second)
            for dispatcher in [first, second] {
                await dispatcher.parts.supervision.know([EmergencyCardState(person: anna, card: Self.card)], [])
            }
            for isTold in [true, false] {
                let chosen = SupervisionPreferences(medicalNotes: "penicillin", tellsMedicalNotes: isTold)
                try await first.parts.supervision.prefer(chosen, of: anna)
                try await eventually(
                    "the second goes by it",
                    isTrue: {
                        let subscriber = await second.parts.supervision.subscriber(of: anna)
                        return subscriber?.preferences == chosen && subscriber?.card?.medicalNotes == (isTold ? "penicillin" : nil)
                    })
            }
        }
    }

    @Test("SOS-25, SOS-27, ACC-28: on charge or paused before the subscription: the second dispatcher warned of a silence that was none")
    func circumstancesBefore() async throws {
        try await Stage.playPair { stage, first, second in
            let (anna, bruno) = (PersonID.random(), PersonID.random())
            let (watch, slow) = (DeviceID.random(), DeviceID.random())
            try await stage.ingest.say(DeviceState(device: watch, person: anna, active: true, intervalMs: 1000, charging: true))
            try await stage.ingest.say(MonitoringState(person: anna, paused: true))
            try await stage.ingest.say(DeviceState(device: slow, person: bruno, active: true, intervalMs: 900_000))
            for dispatcher in [first, second] {
                try await eventually("the devices are known") {
                    try await dispatcher.parts.store.longestInterval(of: bruno) == .seconds(900)
                }
            }
            try await stage.subscribe(anna)
            try await stage.subscribe(bruno)
            for dispatcher in [first, second] {
                let supervision = dispatcher.parts.supervision
                try await eventually(
                    "each knows that nothing is to be expected",
                    isTrue: {
                        let state = await supervision.subscriber(of: anna)?.supervision
                        return state?.charging == true && state?.monitoringPaused == true
                    })
                try await eventually(
                    "each gives the device its time",
                    isTrue: {
                        let due = await supervision.subscriber(of: bruno)?.supervision.joiningDue
                        let now = await supervision.clock.now
                        return due.map { $0 - now > .seconds(2000) } ?? false
                    })
            }
        }
    }
}
