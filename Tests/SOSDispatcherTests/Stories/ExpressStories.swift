// What ingest says before it is stored: heard at once, judged once, with the id that the stored fact gives.

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Express lane, whole service")
struct ExpressStories {
    private func heart(_ value: Double, at: Timestamp) -> Sample {
        Sample(type: .heartRate, at: at, value: value)
    }

    @Test("P6, SOS-10: a provisional critical entry opens the emergency at once; the stored fact finds the same one, and one call goes out")
    func sameEmergency() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let person = try await stage.subscriber()
            let at = Timestamp.now
            try stage.ingest.say(provisionally: person, [heart(31, at: at)], receivedAt: at)
            let early = try await eventually("the alert") {
                try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.first
            }
            #expect(early.t0 == at)
            try await stage.ingest.say(person, [heart(31, at: at)], receivedAt: at)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .help))
            try await eventually("the call is acknowledged") {
                try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.first?.acknowledgedAt != nil
            }
            #expect(try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.map(\.emergency) == [early.emergency])
            #expect(desk.receipts.map(\.id) == ["\(early.emergency)-0"])
            #expect(try await stage.timeline(early.emergency).count { $0 == "alerted" } == 1)
            // The value counts once in what the emergency service is told.
            #expect(await dispatcher.parts.supervision.people[person]?.subscriber.course.readings[.heartRate]?.count == 1)
        }
    }

    @Test(
        "R11, SOS-37: of one upload the fast path judged the newest entries and the stored fact the rest, which called for a heart that was well"
    )
    func judgedOnce() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let (person, other) = (PersonID.random(), PersonID.random())
            for person in [person, other] { try await stage.subscribe(person) }
            let at = Timestamp.now
            try await stage.ingest.say(person, [heart(64, at: at - .seconds(2))], receivedAt: at - .seconds(2))
            try await eventually("the heart is heard") {
                await dispatcher.parts.supervision.subscriber(of: person)?.supervision.sources.isEmpty == false
            }
            // Two seconds that were measured before, and the present, which is well.
            let entries = [heart(31, at: at - .seconds(4)), heart(31, at: at - .seconds(3)), heart(66, at: at)]
            try stage.ingest.say(provisionally: person, entries, receivedAt: at)
            try await eventually("the present is heard") {
                await dispatcher.parts.supervision.subscriber(of: person)?.supervision.sources.values.contains {
                    $0.latest[.heartRate]?.value == 66
                } == true
            }
            try await stage.ingest.say(person, entries, receivedAt: at)
            // Whoever fails meanwhile is called for: by then the other would be, too.
            try await stage.ingest.say(other, [heart(31, at: .now)])
            try await eventually("the other's call") { !desk.receipts.isEmpty }
            // What had failed before is over by the same upload.
            #expect(try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.map(\.state) == ["transient"])
            #expect(Set(desk.receipts.compactMap { $0.message?.emergencyId }).count == 1)
        }
    }

    @Test(
        "SOS-09: ingest's clock was more than a minute behind the dispatchers', and what it refused as future was heard by nobody: it is heard",
        arguments: [65, 90, 3600] as [Int64])
    func clocksOfTwoMachines(_ seconds: Int64) async throws {
        try await Stage.playStarted { stage, _ in
            let person = try await stage.subscriber()
            let at = Timestamp.now - .seconds(seconds)
            try stage.ingest.say(provisionally: person, [heart(31, at: at)], receivedAt: at, as: SamplesRecorded.refusedType)
            try await eventually("the alert") {
                try await !stage.question(ListEmergencies(person: person, limit: 10)).emergencies.isEmpty
            }
        }
    }

    @Test("SOS-11: after one critical value ingest's clock was set back, and the healthy ones were not heard: they end the alert")
    func setBackWithinAlert() async throws {
        try await Stage.playStarted { stage, _ in
            let person = try await stage.subscriber()
            let at = Timestamp.now
            try stage.ingest.say(provisionally: person, [heart(190, at: at)], receivedAt: at)
            let back = at - .seconds(3600)
            for second in 1...3 {
                let later = back + .milliseconds(Int64(second))
                try stage.ingest.say(provisionally: person, [heart(70, at: later)], receivedAt: later, as: SamplesRecorded.refusedType)
            }
            try await eventually("it is over without a call") {
                try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.map(\.state) == ["transient"]
            }
        }
    }

    @Test("A provisional fact moves no position: a dispatcher that was killed hears the stored one again, and it is the same emergency")
    func noPosition() async throws {
        try await Stage.playStarted { stage, dispatcher in
            let person = try await stage.subscriber()
            let before = try await dispatcher.parts.store.store.read { try ConsumerPositions().load($0) }
            let at = Timestamp.now
            try stage.ingest.say(provisionally: person, [heart(31, at: at)], receivedAt: at)
            let early = try await eventually("the alert") {
                try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.first
            }
            await dispatcher.stop()
            let stream = StreamFamily.samplesStream(of: person)
            let after = try await positions(stage)
            #expect(after.first { $0.stream == stream } == before.first { $0.stream == stream })
            try await stage.ingest.say(person, [heart(31, at: at)], receivedAt: at)
            let again = try await stage.start()
            try await eventually("the stored fact is heard") {
                await again.parts.supervision.people[person]?.heard != nil
            }
            let listed = try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies
            #expect(listed.map(\.emergency) == [early.emergency])
        }
    }

    private func positions(_ stage: Stage) async throws -> [StreamPosition] {
        let dispatcher = try await stage.start(listening: false)
        let found = try await dispatcher.parts.store.store.read { try ConsumerPositions().load($0) }
        await dispatcher.stop()
        return found
    }

    @Test("SOS-11: a critical entry that is sent again after the values are back in range alerts nobody")
    func sentAgain() async throws {
        try await Stage.playStarted { stage, dispatcher in
            let person = try await stage.subscriber()
            let first = Timestamp.now - .seconds(2)
            try await stage.ingest.say(person, [heart(31, at: first)], receivedAt: first)
            try await stage.ingest.say(person, [heart(60, at: first + .seconds(1))], receivedAt: first + .seconds(1))
            let emergency = try await eventually("it was transient") {
                try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.first { $0.closedAt != nil }
            }
            try stage.ingest.say(provisionally: person, [heart(31, at: first)])
            // Heard after it, on the same way.
            try await stage.ingest.say(person, [heart(61, at: .now)])
            try await eventually("the later fact is heard") {
                await dispatcher.parts.supervision.people[person]?.subscriber.course.readings[.heartRate]?.last?.value == 61
            }
            #expect(try await stage.timeline(emergency.emergency).count { $0 == "alerted" } == 1)
            #expect(try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.count == 1)
        }
    }
}
