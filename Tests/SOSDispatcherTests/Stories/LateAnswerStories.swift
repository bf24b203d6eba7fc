// Answers that come after another one: to attempts that were under way already, at the other address or at the same.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Answers that come after another one, whole service", .timeLimit(.minutes(2)))
struct LateAnswerStories {
    private static let milan = Position(latitude: 45.4642, longitude: 9.19, accuracy: 10)

    /// What a desk waits for before it answers.
    private final class Moment: Sendable {
        private let come = Mutex(false)

        func comes() { come.withLock { $0 = true } }

        func awaited(_ what: String) async throws {
            try await eventually(what, isTrue: { self.come.withLock { $0 } })
        }
    }

    /// At an address of its own, or at two.
    private static func register(_ stage: Stage, _ desk: Desk, second: Desk? = nil) async throws {
        let area = ServiceArea(circle: .init(centre: .init(latitude: milan.latitude, longitude: milan.longitude), radiusKm: 30))
        let settings = IntegratorSettings(name: "milan", area: area, url: desk.address, secondURL: second?.address)
        let secret = try WebhookSecret(try await stage.question(AddIntegrator(settings: settings, replaces: false)).webhookSecret)
        desk.share(secret)
        second?.share(secret)
    }

    private static func call(_ stage: Stage) async throws -> EmergencyID {
        let person = try await stage.subscriber()
        try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: milan)])
        return try await stage.askForHelp(person)
    }

    /// The first attempt's answer, when the other address is called as well. Further attempts have none as long as the story goes, so that
    /// none of theirs comes behind the other address's.
    private static func first(
        _ result: Acknowledgement.Result, _ attempt: Int, once other: Desk, until isOver: Moment
    ) async throws -> Acknowledgement.Result {
        if attempt > 0 { try await isOver.awaited("the end of the story") }
        try await eventually("the other address's attempt", isTrue: { !other.receipts.isEmpty })
        return result
    }

    /// The next service's call, and what is noted of the rejection that it follows from.
    private static func passedOn(_ stage: Stage, _ emergency: EmergencyID, to next: Desk) async throws {
        let receipt = try await eventually("the next service's call") { next.receipts.first }
        #expect(receipt.id == "\(emergency)-0")
        try await eventually("both are noted") { try await Set(stage.timeline(emergency)).isSuperset(of: ["rejected", "passed-on"]) }
    }

    @Test(
        "SOS-39: the second address's rejection was cut off and lost when the first had accepted: it is noted, and the next service has the call"
    )
    func rejectedAtTheOtherAddress() async throws {
        let (one, other, next) = (Desk(.silent), Desk(.silent), Desk(.acknowledges(.accepted)))
        let (isTaken, isOver) = (Moment(), Moment())
        one.become(.decides { attempt in try await Self.first(.accepted, attempt, once: other, until: isOver) })
        other.become(
            .decides { _ in
                try await isTaken.awaited("the acceptance is heard")
                return .rejected
            })
        // The next service is called after thirty seconds: what is seen here earlier is the rejection's work.
        try await Stage.playStarted(next, and: one, other) { stage, _ in
            try await Self.register(stage, one, second: other)
            let emergency = try await Self.call(stage)
            try await eventually("it is taken") { try await stage.state(emergency) == "dispatched" }
            #expect(next.receipts.isEmpty)
            isTaken.comes()
            try await Self.passedOn(stage, emergency, to: next)
            try await eventually("it is taken again") { try await stage.timeline(emergency).count { $0 == "acknowledged" } == 2 }
            isOver.comes()
        }
    }

    @Test("SOS-39: the rejection of a second attempt at the same address was cut off and lost when the first attempt was accepted")
    func rejectedAtTheSameAddress() async throws {
        let (taker, next) = (Desk(.silent), Desk(.acknowledges(.accepted)))
        let isTaken = Moment()
        taker.become(
            .decides { attempt in
                if attempt == 0 {
                    try await eventually("a second attempt", isTrue: { taker.receipts.count >= 2 })
                    return .accepted
                }
                try await isTaken.awaited("the acceptance is heard")
                return .rejected
            })
        try await Stage.playStarted(next, and: taker) { stage, _ in
            try await Self.register(stage, taker)
            let emergency = try await Self.call(stage)
            try await eventually("it is taken") { try await stage.state(emergency) == "dispatched" }
            #expect(next.receipts.isEmpty)
            isTaken.comes()
            try await Self.passedOn(stage, emergency, to: next)
            try await eventually("it is taken again") { try await stage.timeline(emergency).count { $0 == "acknowledged" } == 2 }
            #expect(taker.receipts.allSatisfy { $0.id == "\(emergency)-0" }, "who has rejected hears nothing more of it")
        }
    }

    @Test(
        "An acceptance at the second address was cut off and lost when the first had rejected, and two ambulances went: the next is released"
    )
    func acceptedAfterARejection() async throws {
        let (one, other, next) = (Desk(.silent), Desk(.silent), Desk(.silent))
        let isOver = Moment()
        one.become(.decides { attempt in try await Self.first(.rejected, attempt, once: other, until: isOver) })
        other.become(
            .decides { _ in
                try await eventually("the next service's call", isTrue: { !next.receipts.isEmpty })
                return .accepted
            })
        try await Stage.playStarted(next, and: one, other) { stage, _ in
            try await Self.register(stage, one, second: other)
            let emergency = try await Self.call(stage)
            try await Self.passedOn(stage, emergency, to: next)
            let release = try await eventually("the next service is released") {
                next.receipts.first { $0.id == "\(emergency)-1000000" }
            }
            #expect(release.message?.msgType == .cancel && release.message?.takenBy == "milan")
            try await eventually("it is noted") { try await Set(stage.timeline(emergency)).isSuperset(of: ["acknowledged", "released"]) }
            try await eventually("it is taken") { try await stage.state(emergency) == "dispatched" }
            isOver.comes()
        }
    }

    @Test("What follows a call does not wait where as many attempts of that call as may wait still wait for their answers")
    func newsIsNotDelayed() async throws {
        let desk = Desk(.silent)
        let answers = Moment()
        desk.become(
            .decides { _ in
                try await answers.awaited("the end of the story")
                return .accepted
            })
        try await Stage.playStarted(desk) { stage, dispatcher in
            let (person, emergency) = try await stage.caller()
            try await eventually("all that may wait do") { desk.receipts.count == DispatchOutbox.attemptsAtOnce }
            let first = try #require(desk.receipts.first)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            let cancel = try await eventually("the cancellation") { desk.receipts.first { $0.id == "\(emergency)-1" } }
            #expect(cancel.at - first.at < DispatchOutbox.answerDeadline, "\(cancel.at - first.at)")
            let waiting = await dispatcher.parts.dispatcher.works[emergency]?.lines[Integrator.configuredID]?.attempts.count ?? 0
            #expect(waiting <= DispatchOutbox.attemptsAtOnce)
            answers.comes()
            try await eventually("the cancellation is taken") { try await stage.timeline(emergency).contains("cancel-acknowledged") }
            try await eventually("the answer to the call is noted, though it was called off") {
                try await stage.timeline(emergency).contains("acknowledged")
            }
        }
    }
}
