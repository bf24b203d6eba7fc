// A pause of monitoring through the real dispatcher: heard on the stream of devices, kept through restarts, told to who asks.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Monitoring paused, whole service")
struct MonitoringPauseStories {
    private static func status(_ person: PersonID, _ stage: Stage) async throws -> ReadSupervision.Reply {
        try await stage.question(ReadSupervision(person: person))
    }

    private static func stage(of person: PersonID, _ dispatcher: Stage.Dispatcher) async -> Supervision.Stage? {
        await dispatcher.parts.supervision.people[person]?.subscriber.supervision.stage
    }

    @Test("ACC-28, SOS-04, SOS-25: a paused person is shown as paused and not as lost, also after a restart; resuming ends it")
    func pause() async throws {
        try await Stage.play { stage in
            let before = try await stage.start(["TRACKME_SOS_SIGNAL_LOST_S": "5"])
            let person = PersonID.random()
            #expect(try await Self.status(person, stage).subscribed == false)
            try await stage.subscribe(person)
            let active = try await Self.status(person, stage)
            #expect(active.subscribed && !active.paused)
            try await stage.ingest.say(MonitoringState(person: person, paused: true))
            try await eventually("the pause is heard", isTrue: { try await Self.status(person, stage).paused })
            await before.stop()
            let dispatcher = try await stage.start(["TRACKME_SOS_SIGNAL_LOST_S": "5"])
            #expect(try await Self.status(person, stage).paused)
            #expect(await Self.stage(of: person, dispatcher) == .monitoring)
            #expect(await dispatcher.parts.supervision.people[person]?.subscriber.supervision.monitoringPaused == true)
            try await stage.ingest.say(MonitoringState(person: person, paused: false))
            try await eventually("monitoring is resumed", isTrue: { try await !Self.status(person, stage).paused })
            try await eventually("silence counts again", isTrue: { await Self.stage(of: person, dispatcher) == .suspended })
        }
    }

    @Test("ACC-28: who subscribes while monitoring is paused is not taken for silent either")
    func subscribedMeanwhile() async throws {
        try await Stage.playStarted { stage, dispatcher in
            let person = PersonID.random()
            try await stage.ingest.say(MonitoringState(person: person, paused: true))
            try await eventually("the pause is stored", isTrue: { try await dispatcher.parts.store.isMonitoringPaused(person) })
            try await stage.subscribe(person)
            #expect(try await Self.status(person, stage).paused)
        }
    }
}
