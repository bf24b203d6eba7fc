// From when on a dispatcher passes over nothing that ingest says, whatever happens to it.

import Contracts
import Foundation
import GRDB
import HTTPKit
import Outbound
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Listening, whole service")
struct ListeningStories {
    private static let sender = HTTPSender.anywhere()

    @Test("SOS-28: a dispatcher killed as soon as it took a subscription hears the critical entry that was said while it was down")
    func killedAtOnce() async throws {
        try await Stage.play { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            let (live, left) = (stage.folder.appendingPathComponent("sos-dispatcher"), stage.folder.appendingPathComponent("left"))
            try await leave(dispatcher, live, in: left)
            await dispatcher.stop()
            try FileManager.default.removeItem(at: live)
            try FileManager.default.moveItem(at: left, to: live)

            let first = Timestamp.now - .milliseconds(200)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: first, value: 31)], receivedAt: first)
            dispatcher = try await stage.start()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await eventually("the alert") {
                try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.first
            }
            #expect(emergency.t0 == first)
        }
    }

    @Test(
        "INV-15, SOS-24: a call that was due before an upload says nothing of that upload, where both are heard late: two dispatchers send the same bytes"
    )
    func dueBeforeHeard() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            await dispatcher.stop()

            let first = Timestamp.now
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: first, value: 31)], receivedAt: first)
            try await eventually("the call is due") { Timestamp.now > first + SupervisionRules().dispatchAt }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 24)])
            dispatcher = try await stage.start()
            let call = try await eventually("the call") { desk.receipts.first }
            let message = try JSONDecoder().decode(DispatchMessage.self, from: Data(call.body))
            #expect(message.msgType == .alert)
            #expect(message.vitals.map(\.value) == [31])
            #expect(message.parameters.map(\.value) == [31])
        }
    }

    /// What a kill at this moment would leave on the disk.
    private func leave(_ dispatcher: Stage.Dispatcher, _ live: URL, in folder: URL) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: live.path) where name.hasSuffix(".db") {
            let copy = folder.appendingPathComponent(name)
            try await DatabaseQueue(path: live.appendingPathComponent(name).path).vacuum(into: copy.path)
        }
    }

    @Test("Where a stream begins is on disk when its first stretch has been taken, with all that was decided before")
    func beginning() async throws {
        try await Stage.playStarted { stage, dispatcher in
            let position = StreamPosition(stream: StreamFamily.samples.streams[3], epoch: "restored", next: 7)
            await dispatcher.parts.supervision.apply([], [position])
            let stored = try await dispatcher.parts.store.store.read { try ConsumerPositions().load($0) }
            #expect(stored.contains(position))
            #expect(Set(stored.map(\.stream)).isSuperset(of: StreamFamily.samples.streams))
        }
    }

    @Test(
        "SOS-28, SOS-41: dispatchers that were back after minutes judged everybody's backlog before a heart that failed now: whose it is goes first, by its own first entry"
    )
    func urgentAhead() async throws {
        try await Stage.play { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            let stream = StreamFamily.samplesStream(of: person)
            var others: [PersonID] = []
            while others.count < 5 {
                let other = PersonID.random()
                guard StreamFamily.samplesStream(of: other) == stream else { continue }
                try await stage.subscribe(other)
                others.append(other)
            }
            try await dispatcher.parts.journal.commitEverything()
            await dispatcher.stop()

            // So that the backlog takes seconds on any machine.
            stage.ingest.readsSlowly(microseconds: 300)
            let (now, count) = (Timestamp.now, 15_000)
            let first = now - .seconds(3)
            try await stage.ingest.say(
                backlog: (0..<count).map { number in
                    let at = now - .milliseconds(Int64(10 * (count - number)) + 4000)
                    return (others[number % others.count], Sample(type: .heartRate, at: at, value: 66))
                } + (0..<3).map { (person, Sample(type: .heartRate, at: first + .seconds(Int64($0)), value: 31)) })
            dispatcher = try await stage.start()
            let supervision = dispatcher.parts.supervision
            // As a device does: what comes before the dispatcher listens is heard with the backlog alone.
            let measuring = Task {
                for _ in 0..<60 {
                    try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
                    // The device's pace; nothing is waited for.
                    try await Task.sleep(for: .milliseconds(500))
                }
            }
            defer { measuring.cancel() }
            let alert = try await eventually("the alert") {
                try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.first
            }
            let judged = await supervision.progress.reached[stream]?.next ?? 0
            #expect(judged < count, "the others' backlog was not waited for")
            #expect(alert.t0 == first, "it has the name of the first entry")
            try await eventually("the backlog is judged", within: .seconds(120)) {
                await supervision.progress.reached[stream]?.next ?? 0 > Int64(count) + 4
            }
            #expect(try await stage.question(ListEmergencies(person: nil, limit: 10)).emergencies.map(\.emergency) == [alert.emergency])
        }
    }

    @Test("As long as ingest was never heard the dispatcher is not ready and takes no subscription")
    func neverHeard() async throws {
        try await Stage.play { stage in
            await stage.ingest.close()
            let dispatcher = try await stage.start(listening: false)
            let health = OutboundRequest(url: "http://127.0.0.1:\(await dispatcher.parts.server.boundPort)/health/ready")
            #expect(try await Self.sender.send(health).status == 503)
            do {
                try await stage.subscribe(.random())
                Issue.record("was not refused")
            } catch let failure as Failure {
                #expect(failure.code == .unavailable)
            }
        }
    }
}
