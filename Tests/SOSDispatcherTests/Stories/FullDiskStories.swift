// Two dispatchers whose disks take nothing: what is known to their memories alone, and what of it outlives one of them.

import Contracts
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Two dispatchers on a full disk", .timeLimit(.minutes(2)))
struct FullDiskStories {
    /// Takes no emergency any more, as long as that lasts; a later process on the same file finds it so.
    private static func fill(_ dispatcher: Stage.Dispatcher) async throws {
        try await dispatcher.parts.store.store.write { db in
            try db.execute(sql: "CREATE TRIGGER no_room BEFORE INSERT ON emergencies BEGIN SELECT RAISE(ABORT, 'no room'); END")
        }
    }

    private static func makeRoom(_ dispatcher: Stage.Dispatcher) async throws {
        try await dispatcher.parts.store.store.write { db in try db.execute(sql: "DROP TRIGGER no_room") }
    }

    /// Both on a full disk, and a call that went out without being stored and was acknowledged; then the first alone is killed and started.
    private static func play(
        body: (Stage, _ back: Stage.Dispatcher, _ second: Stage.Dispatcher, PersonID, EmergencyID) async throws -> Void
    ) async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playPair(desk) { stage, first, second in
            let person = try await stage.subscriber()
            try await eventually("the second watches them too") {
                await second.parts.supervision.subscriber(of: person)?.supervision.subscribed == true
            }
            for dispatcher in [first, second] { try await fill(dispatcher) }
            try stage.ingest.say(provisionally: person, [Sample(type: .heartRate, at: .now, value: 31)])
            let call = try await eventually("the call", within: .seconds(20)) { desk.receipts.first?.message }
            let emergency = try #require(EmergencyID(call.emergencyId))
            try await eventually("the second knows that it is taken") {
                await second.parts.dispatcher.works[emergency]?.file.isTaken == true
            }
            #expect(try await second.parts.store.emergency(emergency) == nil, "no disk has it")
            await first.stop()
            let back = try await stage.start(listening: false)
            try await body(stage, back, second, person, emergency)
        }
    }

    @Test(
        "SOS-19, SOS-28: on a full disk the first alone was killed and never learned of the call that ran: an empty list, 404 for a rejection"
    )
    func knownAgain() async throws {
        try await Self.play { stage, back, second, person, emergency in
            try await eventually("the call is known again") { try await stage.state(emergency) == "dispatched" }
            #expect(try await Set(stage.timeline(emergency)).isSuperset(of: ["alerted", "dispatched", "acknowledged"]))
            #expect(try await stage.question(ReadTimeline(emergency: emergency), of: .second).steps.contains { $0.event == "acknowledged" })
            let alert = MessageID(emergency: emergency, sequence: 0)
            let configured = try #require(await back.parts.dispatcher.registry.integrator(Integrator.configuredID))
            #expect(try await back.parts.dispatcher.isKnown(alert, to: configured.id))
            // No reply before it is on a disk; it counts all the same.
            let rejection = Acknowledgement(messageId: "\(alert)", result: .rejected, ackId: "desk-1", reason: "no ambulance is free")
            await #expect(throws: (any Error).self) {
                try await back.parts.dispatcher.receive(rejection, from: configured, form: "post")
            }
            try await eventually("nobody has the call any more") { try await stage.state(emergency) == "dispatching" }
            for dispatcher in [back, second] {
                try await Self.makeRoom(dispatcher)
                try await dispatcher.parts.journal.commit()
                #expect(try await dispatcher.parts.store.emergency(emergency)?.person == person)
                #expect(try await dispatcher.parts.store.audit(of: "\(emergency)").contains { $0.action == "acknowledged" })
            }
        }
    }

    @Test("SOS-14, SOS-28: called off on a full disk after the first was killed: the person is heard at the first, which knew of no call")
    func calledOff() async throws {
        try await Self.play { stage, back, second, person, emergency in
            try await eventually("the call is known again") { try await stage.state(emergency) == "dispatched" }
            // The reply waits for the disk, and the answer does not.
            _ = try? await stage.question(AnswerPrompt(person: person, answer: .fine))
            for dispatcher in [back, second] {
                try await eventually("it is called off") {
                    let record = await dispatcher.parts.supervision.records[person]
                    return record?.id == emergency && record?.state == .stoodDown
                }
            }
        }
    }
}
