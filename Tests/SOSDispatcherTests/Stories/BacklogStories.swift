// A dispatcher that was off and has much to catch up with: who fails now is called for now.

import Bus
import Contracts
import Foundation
import HTTPKit
import Outbound
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Backlog, whole service")
struct BacklogStories {
    private static let sender = HTTPSender.anywhere()

    private func heart(_ value: Double, at: Timestamp = .now) -> Sample {
        Sample(type: .heartRate, at: at, value: value)
    }

    /// A dispatcher that was off while that was said of the person, oldest first, and cannot have it replayed yet.
    private func behind(
        _ stage: Stage, _ said: [(value: Double, ago: Duration)]
    ) async throws -> (dispatcher: Stage.Dispatcher, person: PersonID) {
        let former = try await stage.start()
        let person = try await stage.subscriber()
        await former.stop()
        for (value, ago) in said {
            let at = Timestamp.now - ago
            try await stage.ingest.say(person, [heart(value, at: at)], receivedAt: at)
        }
        stage.ingest.withholdLog(true)
        return (try await stage.start(), person)
    }

    private func emergencies(_ stage: Stage, of person: PersonID) async throws -> [ListEmergencies.Entry] {
        try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies
    }

    /// Says it until it is heard: nobody knows when the news is subscribed to.
    private func alert(_ stage: Stage, of person: PersonID, by value: Double) async throws -> ListEmergencies.Entry {
        try await eventually("the alert, ahead of what was said before") {
            try await stage.ingest.say(person, [heart(value)])
            return try await emergencies(stage, of: person).first
        }
    }

    /// Everything that was missed is heard.
    private func catchUp(_ stage: Stage, _ dispatcher: Stage.Dispatcher) async throws {
        stage.ingest.withholdLog(false)
        try await eventually("everything is known") { dispatcher.parts.samples.age.map { $0 < .seconds(1) } ?? false }
    }

    private func isRemarked(_ dispatcher: Stage.Dispatcher) async throws -> Bool {
        let answer = try await Self.sender.send(
            OutboundRequest(url: "http://127.0.0.1:\(await dispatcher.parts.server.boundPort)/health/ready"))
        return answer.status == 200 && String(decoding: answer.body, as: UTF8.self).contains("not everything is known")
    }

    @Test(
        "P6, SOS-15: both dispatchers were off for minutes, and a heart that failed after their start waited for all that was said meanwhile: it is called for at once, once, and what was well before ends nothing"
    )
    func calledAtOnce() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let said = (1...40).map { (value: 70.0, ago: Duration.seconds(240 - $0 * 5)) }
            let (dispatcher, person) = try await behind(stage, said)
            let early = try await alert(stage, of: person, by: 31)
            try await eventually("the call") { !desk.receipts.isEmpty }
            #expect(await dispatcher.parts.supervision.people[person]?.heard == nil, "nothing was heard in its turn yet")
            #expect(dispatcher.parts.samples.age == nil)
            try await catchUp(stage, dispatcher)
            #expect(try await emergencies(stage, of: person).map(\.emergency) == [early.emergency])
            #expect(try await stage.timeline(early.emergency).count { $0 == "alerted" } == 1)
            #expect(Set(desk.receipts.compactMap { $0.message?.emergencyId }).count == 1)
        }
    }

    @Test("SOS-24: the log shows later that the heart had failed before: it is the same emergency, and nobody is called under another name")
    func begunEarlier() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let said = [240, 180, 120, 40, 20, 10].map { (value: 33.0, ago: Duration.seconds($0)) }
            let (dispatcher, person) = try await behind(stage, said)
            let early = try await alert(stage, of: person, by: 31)
            try await eventually("the call") { !desk.receipts.isEmpty }
            try await catchUp(stage, dispatcher)
            #expect(try await emergencies(stage, of: person).map(\.emergency) == [early.emergency])
            #expect(Set(desk.receipts.compactMap { $0.message?.emergencyId }).count == 1)
        }
    }

    @Test("SOS-33: after I am fine the log shows a worse reading of before: nobody is asked or called again")
    func answeredSince() async throws {
        try await Stage.play { stage in
            let (dispatcher, person) = try await behind(stage, [(70, .seconds(30)), (20, .seconds(10))])
            let early = try await alert(stage, of: person, by: 44)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .fine))
            try await catchUp(stage, dispatcher)
            let known = try await emergencies(stage, of: person)
            #expect(known.map(\.emergency) == [early.emergency])
            #expect(await dispatcher.parts.supervision.subscriber(of: person)?.supervision.episode == nil)
        }
    }

    @Test("SOS-11: one value alone, heard ahead of its turn, is taken back by the next that is well")
    func takenBack() async throws {
        try await Stage.play { stage in
            let (_, person) = try await behind(stage, [(70, .seconds(120))])
            _ = try await alert(stage, of: person, by: 31)
            try await stage.ingest.say(person, [heart(70)])
            try await eventually("it is over") { try await emergencies(stage, of: person).map(\.state) == ["transient"] }
        }
    }

    @Test("A dispatcher that was a minute behind said that it was ready, and nothing else: it says so beside")
    func remarked() async throws {
        try await Stage.play { stage in
            let (dispatcher, _) = try await behind(stage, [(70, .seconds(60))])
            try await eventually("the remark") { try await isRemarked(dispatcher) }
            try await catchUp(stage, dispatcher)
            try await eventually("it is gone") { try await !isRemarked(dispatcher) }
        }
    }
}
