// An emergency service that says nothing: the next one is called as well, whoever takes it ends it, and the other is told.

import Contracts
import Foundation
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Emergency services that do not answer, whole service", .timeLimit(.minutes(2)))
struct EscalationStories {
    /// Of the integrator of the settings, which is responsible everywhere.
    private static let settingsName = "desk"
    private static let milan = Position(latitude: 45.4642, longitude: 9.19, accuracy: 10)

    private static func area(_ km: Double) -> ServiceArea {
        ServiceArea(circle: .init(centre: .init(latitude: milan.latitude, longitude: milan.longitude), radiusKm: km))
    }

    private static func register(_ stage: Stage, _ name: String, _ km: Double, _ desk: Desk) async throws {
        let settings = IntegratorSettings(name: name, area: area(km), url: desk.address)
        let reply = try await stage.question(AddIntegrator(settings: settings, replaces: false))
        desk.share(try WebhookSecret(reply.webhookSecret))
    }

    /// Somebody in Milan whose heart fails and who asks for help.
    private static func call(_ stage: Stage, _ person: PersonID) async throws -> EmergencyID {
        try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: milan)])
        return try await stage.askForHelp(person)
    }

    @Test(
        "SOS-19: who does not answer goes on being called, the next one as well, across a restart; one acceptance ends it, and the other is told until it says so"
    )
    func silence() async throws {
        // Two, so that there is nobody left to be called after the next one, however long this machine takes.
        let (silent, next) = (Desk(.silent), Desk(.silent))
        try await Stage.play(next, and: silent) { stage in
            var dispatcher = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "1"])
            try await Self.register(stage, "milan", 30, silent)
            let person = try await stage.subscriber()
            let emergency = try await Self.call(stage, person)
            let receipt = try await eventually("the next one is called as well") { next.receipts.first }
            let first = try await eventually("the first is called") { silent.receipts.first }
            #expect(receipt.body == first.body && receipt.id == "\(emergency)-0")
            // From the decision on: when a desk gets round to noting a message depends on the machine.
            let decided = try #require(receipt.message.flatMap { Timestamp(rfc3339: $0.sent) })
            #expect(receipt.at - decided >= .milliseconds(990))
            try await eventually("it is noted") { try await stage.timeline(emergency).contains("called-in-addition") }
            await dispatcher.stop()

            // Whom to call is in the file: with a bound that never comes, both go on being called.
            let before = [silent.receipts.count, next.receipts.count]
            dispatcher = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "3600"])
            try await eventually("both are called on") { silent.receipts.count > before[0] + 1 && next.receipts.count > before[1] + 1 }
            #expect(Set((silent.receipts + next.receipts).map(\.id)) == ["\(emergency)-0"])
            next.become(.acknowledges(.accepted))
            let release = try await eventually("the other is told") { silent.receipts.first { $0.id == "\(emergency)-1000000" } }
            let said = try #require(release.message)
            #expect(said.msgType == .cancel && said.takenBy == Self.settingsName && said.seq == 1 && said.references == ["\(emergency)-0"])
            #expect(said.location.method == "none" && said.subject.name == nil && said.vitals.isEmpty)
            try await eventually("the call is taken") { try await stage.state(emergency) == "dispatched" }
            // What was on its way when the call was taken is behind the first releases at the latest.
            try await eventually("it is repeated") { silent.receipts.count { $0.id == release.id } >= 3 }
            let calls = silent.receipts.count { $0.id == "\(emergency)-0" }
            try await eventually("and again") { silent.receipts.count { $0.id == release.id } >= 6 }
            #expect(silent.receipts.count { $0.id == "\(emergency)-0" } == calls, "nobody is called any more")
            silent.become(.acknowledges(.accepted))
            try await eventually("its acknowledgement") { try await stage.timeline(emergency).contains("release-acknowledged") }

            // What follows concerns the one that has the call.
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            try await eventually("the cancel") { next.receipts.contains { $0.id == "\(emergency)-1" } }
            try await eventually("its acknowledgement") { try await stage.timeline(emergency).contains("cancel-acknowledged") }
            #expect(!silent.receipts.contains { $0.id == "\(emergency)-1" })
            let steps = try await stage.timeline(emergency)
            #expect(steps.contains("released") && steps.count { $0 == "acknowledged" } == 1)
            #expect(!next.receipts.contains { $0.id == release.id })
            #expect(try await stage.question(VerifyAudit()).firstBroken == nil)
        }
    }

    @Test("Who was removed while it was being called stayed the only one called for half a minute: the next one is called at once")
    func removed() async throws {
        let (silent, next) = (Desk(.silent), Desk(.acknowledges(.accepted)))
        try await Stage.play(next, and: silent) { stage in
            // Nobody is called in addition for being waited for.
            _ = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "3600"])
            try await Self.register(stage, "milan", 30, silent)
            let person = try await stage.subscriber()
            let emergency = try await Self.call(stage, person)
            try await eventually("it is called") { !silent.receipts.isEmpty }
            #expect(next.receipts.isEmpty)
            _ = try await stage.question(RemoveIntegrator(name: "milan"))
            try await eventually("the next one has taken the call") { try await stage.state(emergency) == "dispatched" }
            #expect(next.receipts.first?.body == silent.receipts.first?.body)
            let steps = try await stage.question(ReadTimeline(emergency: emergency)).steps
            #expect(steps.contains { $0.event == "called-in-addition" && $0.detail == "desk: milan was removed" })
            try await eventually("who was removed is told of it") { silent.receipts.contains { $0.id == "\(emergency)-1000000" } }
        }
    }

    @Test(
        "SOS-19, SOS-28: both dispatchers know who was called in addition; the second goes on alone, and tells whoever was called in vain"
    )
    func pair() async throws {
        let (silent, next) = (Desk(.silent), Desk(.silent))
        try await Stage.play(next, and: silent) { stage in
            let first = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "1"])
            // The second would never call anybody in addition by itself.
            let second = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "3600"], role: .second, lead: .seconds(1))
            try await Self.register(stage, "milan", 30, silent)
            try await eventually("the second knows both") { await second.parts.dispatcher.registry.integrator("milan") != nil }
            let person = try await stage.subscriber()
            try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
            let emergency = try await Self.call(stage, person)
            try await eventually("the next one is called as well") { !next.receipts.isEmpty }
            try await eventually("the second knows it") {
                await second.parts.dispatcher.works[emergency]?.file.asked == ["milan", Integrator.configuredID]
            }
            await first.stop()
            let before = [silent.receipts.count, next.receipts.count]
            try await eventually("it calls both on") { silent.receipts.count > before[0] && next.receipts.count > before[1] }
            #expect(Set((silent.receipts + next.receipts).map(\.id)) == ["\(emergency)-0"])
            next.become(.acknowledges(.accepted))
            let release = try await eventually("the other is told") { silent.receipts.first { $0.id == "\(emergency)-1000000" } }
            #expect(release.message?.takenBy == Self.settingsName)

            // The first comes back: it takes over what was said meanwhile, under the same name and in the same bytes.
            let back = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "3600"])
            try await eventually("the first knows") { try await back.parts.store.emergency(emergency)?.state == .dispatched }
            await second.stop()
            let told = silent.receipts.count { $0.id == release.id }
            try await eventually("the first tells it on") { silent.receipts.count { $0.id == release.id } > told }
            #expect(Set(silent.receipts.filter { $0.id == release.id }.map(\.body)).count == 1)
            silent.become(.acknowledges(.accepted))
            try await eventually("its acknowledgement") { try await stage.timeline(emergency).contains("release-acknowledged") }
            #expect(!next.receipts.contains { $0.id == release.id })
        }
    }

    @Test(
        "R1, SOS-31, SOS-32: 125 acknowledged, then 20 told nobody: now the desk hears of worse, and where it does not acknowledge that for 10 s, the next one"
    )
    func worse() async throws {
        let (taker, next) = (Desk(.acknowledges(.accepted)), Desk(.acknowledges(.accepted)))
        try await Stage.playStarted(next, and: taker) { stage, _ in
            try await Self.register(stage, "milan", 30, taker)
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 125, position: Self.milan)])
            let emergency = try await stage.emergency(of: person)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .help))
            try await eventually("it is taken") { try await stage.state(emergency) == "dispatched" }
            taker.become(.silent)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 20, position: Self.milan)])
            let news = try await eventually("the desk hears that it is worse") { taker.receipts.first { $0.id == "\(emergency)-1" } }
            let said = try #require(news.message)
            #expect(said.msgType == .update && said.severity == "worse" && said.worse == [.init(parameter: "heart-rate", side: "below")])
            #expect(next.receipts.isEmpty, "the ambulance is on its way: ten seconds are left to whoever sent it")

            let call = try await eventually("the next one is called as well") { next.receipts.first }
            let waited = call.at - (try #require(Timestamp(rfc3339: said.sent)))
            // Who is to be called is looked at each second.
            #expect(waited >= .seconds(10) && waited < .seconds(12), "\(waited)")
            #expect(call.id == "\(emergency)-0" && call.body == taker.receipts.first?.body)
            try await eventually("it hears that it is worse, in the same bytes") { next.receipts.contains { $0.body == news.body } }
            try await eventually("its acknowledgement") { try await stage.timeline(emergency).contains("update-acknowledged") }
            let steps = try await stage.question(ReadTimeline(emergency: emergency)).steps
            let why = steps.first { $0.event == "called-in-addition" }?.detail
            #expect(why?.hasSuffix("nobody has acknowledged that the person is worse") == true)
            #expect(!taker.receipts.contains { $0.message?.msgType == .cancel }, "who goes is not released")
            #expect(taker.receipts.count { $0.id == "\(emergency)-0" } == 1, "nor called again")
            #expect(try await stage.state(emergency) == "dispatched")
        }
    }
}
