// Supervision through the real service: subscriptions, restarts, what the files show.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Supervision, whole service")
struct SupervisionStories {
    @Test("SOS-01, SOS-08: without the clauses or with impossible bounds nobody is subscribed, and the reason helps")
    func refused() async throws {
        try await Stage.playStarted { stage, _ in
            let person = PersonID.random()
            await #expect(throws: Failure.self) {
                try await stage.question(SubscribePerson(person: person, clausesAccepted: false, bounds: [:]))
            }
            do {
                try await stage.subscribe(person, bounds: ["heart-rate": Bounds(low: 0, high: 90)])
                Issue.record("was not refused")
            } catch let failure as Failure {
                #expect(failure.code == .invalid && failure.reason.contains("greater than 0 and up to 350.0"))
            }
            await #expect(throws: Failure.self) { try await stage.question(PauseSupervision(person: person, paused: true)) }
            await #expect(throws: Failure.self) { try await stage.question(AnswerPrompt(person: person, answer: .fine)) }
        }
    }

    @Test("SOS-28: an alert that is running when the service stops is called for after the restart, with the id it had")
    func restartInTheMiddle() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.emergency(of: person)
            await dispatcher.stop()
            dispatcher = try await stage.start()
            let receipt = try await eventually("the call") { desk.receipts.first }
            #expect(receipt.id == "\(emergency)-0")
            #expect(try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.count == 1)
        }
    }

    @Test("SOS-28: a subscriber whose stored state cannot be read is watched all the same, also with an emergency open")
    func unreadableState() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let person = PersonID.random()
            var dispatcher = try await stage.start()
            let before = try await stage.callForHelp(person)
            try await eventually("the first acknowledgement") { try await stage.state(before) == "dispatched" }
            await dispatcher.stop()
            let file = stage.folder.appendingPathComponent("sos-dispatcher/sos-dispatcher.db")
            let store = try Store.open(file, applicationID: Migrations.applicationID, migrations: Migrations.all, logger: Running.quiet)
            try await store.write { try $0.execute(sql: "UPDATE subscribers SET sealed = x'00'") }
            await store.close()
            dispatcher = try await stage.start()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 190)])
            let after = try await stage.askForHelp(person)
            #expect(after != before)
            try await eventually("the second acknowledgement") { try await stage.state(after) == "dispatched" }
        }
    }

    @Test("SOS-28: entries said while the service was down are heard when it is back")
    func heardLater() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 75)])
            await dispatcher.stop()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            dispatcher = try await stage.start()
            try await eventually("the call") { desk.receipts.count == 1 }
        }
    }

    @Test("INV-15: the same entries judged again from the beginning give the same emergency, byte for byte the same message")
    func sameID() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 75)])
            await dispatcher.stop()
            let (live, before) = (stage.folder.appendingPathComponent("sos-dispatcher"), stage.folder.appendingPathComponent("before"))
            try FileManager.default.copyItem(at: live, to: before)

            dispatcher = try await stage.start()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("the call") { desk.receipts.count == 1 }
            await dispatcher.stop()

            // As if nothing of that had got to the disk before a crash.
            let seen = desk.receipts.count
            try FileManager.default.removeItem(at: live)
            try FileManager.default.moveItem(at: before, to: live)
            dispatcher = try await stage.start()
            try await eventually("the call again") { desk.receipts.count > seen }
            #expect(Set(desk.receipts.map(\.id)).count == 1)
            #expect(Set(desk.receipts.map(\.body)).count == 1)
            // On a slow disk the call is out before it is stored.
            try await eventually("one emergency") {
                try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.count == 1
            }
        }
    }

    @Test("SOS-20: the position known to ingest at the subscription is the place of the call until a newer one comes")
    func positionFromIngest() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let place = Position(latitude: 41.875, longitude: 12.5)
            stage.ingest.know([Sample(type: .position, at: .now - .seconds(600), value: nil, position: place)])
            let person = try await stage.subscriber()
            try await eventually("the place") { await dispatcher.parts.supervision.knowsPlace(of: person) }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            _ = try await stage.askForHelp(person)
            let receipt = try await eventually("the message") { desk.receipts.first }
            let location = try #require(receipt.message).location
            #expect(location.lat == 41.875 && !location.trusted && (location.ageS ?? 0) >= 600)
        }
    }

    @Test("Nothing that was measured, and no place, is readable in any file")
    func sealed() async throws {
        let desk = Desk(.silent)
        try await Stage.playStarted(desk) { stage, dispatcher in
            let person = try await stage.subscriber(bounds: ["body-temperature": Bounds(low: 34.28125, high: nil)])
            let place = Position(latitude: 45.4642137, longitude: 9.1896346)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31.28125, position: place)])
            _ = try await stage.askForHelp(person)
            try await eventually("attempts") { desk.receipts.count >= 3 }
            await dispatcher.stop()
            let folder = stage.folder.appendingPathComponent("sos-dispatcher")
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).map(folder.appendingPathComponent)
            #expect(!files.isEmpty)
            for file in files where !file.hasDirectoryPath {
                guard let bytes = FileManager.default.contents(atPath: file.path) else { continue }
                for needle in ["31.28125", "34.28125", "45.4642137", "9.1896346"] {
                    #expect(bytes.range(of: Data(needle.utf8)) == nil, "\(needle) is in \(file.lastPathComponent)")
                }
                for value in [31.28125, 34.28125, 45.4642137] {
                    let raw = withUnsafeBytes(of: value.bitPattern.littleEndian) { Data($0) }
                    #expect(bytes.range(of: raw) == nil, "\(value) is in \(file.lastPathComponent)")
                }
            }
        }
    }

    private struct Found: Error {
        let row: Int64?
    }

    @Test("SOS-29: the audit chain verifies, and what was changed or deleted in the file names its row")
    func audit() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            var dispatcher = try await stage.start()
            let emergency = try await stage.callForHelp(.random())
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            let sound = try await stage.question(VerifyAudit())
            #expect(sound.firstBroken == nil && sound.rows >= 5 && sound.head.count == 64)
            await dispatcher.stop()

            let file = stage.folder.appendingPathComponent("sos-dispatcher/sos-dispatcher.db")
            let store = try Store.open(file, applicationID: Migrations.applicationID, migrations: Migrations.all, logger: Running.quiet)
            for sql in ["UPDATE audit SET entry = '{}' WHERE sequence = 3", "DELETE FROM audit WHERE sequence = 3"] {
                let found = await #expect(throws: Found.self) {
                    try await store.write { db in
                        try db.execute(sql: sql)
                        // Undoes the change.
                        throw Found(row: try AuditStore.verify(db, headsAt: []).verifier.firstBroken)
                    }
                }
                #expect(found?.row == 3)
            }
            try await store.write { db in
                try db.execute(sql: "UPDATE audit SET entry = replace(entry, 'alerted', 'alertee') WHERE entry LIKE '%alerted%'")
            }
            await store.close()
            dispatcher = try await stage.start()
            let broken = try await stage.question(VerifyAudit())
            let row = try #require(broken.firstBroken)
            #expect((1...sound.rows).contains(row))
        }
    }

    @Test("SOS-25: the declared interval of the person's devices decides how long the first silence may be")
    func interval() async throws {
        try await Stage.playStarted { stage, dispatcher in
            let person = PersonID.random()
            try await stage.ingest.say(DeviceState(device: .random(), person: person, active: true, intervalMs: 60_000))
            try await eventually("the device") { try await dispatcher.parts.store.longestInterval(of: person) == .seconds(60) }
            let (one, other) = (DeviceID.random(), DeviceID.random())
            try await stage.ingest.say(DeviceState(device: one, person: person, active: true, intervalMs: 90_000))
            try await stage.ingest.say(DeviceState(device: other, person: person, active: true, intervalMs: nil))
            try await eventually("another") { try await dispatcher.parts.store.longestInterval(of: person) == .seconds(90) }
            try await stage.ingest.say(DeviceState(device: one, person: person, active: false, intervalMs: 90_000))
            try await eventually("it goes") { try await dispatcher.parts.store.longestInterval(of: person) == .seconds(60) }
        }
    }

    @Test("Nobody saw that supervised people had no device any more, as after a restore of ingest alone: they are counted")
    func withoutDevice() async throws {
        try await Stage.playStarted { stage, _ in
            @Sendable func count() async throws -> Int? { try await stage.question(ReadAvailability(hours: 1)).withoutDevice }
            let (worn, paused) = (try await stage.subscriber(), try await stage.subscriber())
            let device = DeviceID.random()
            try await stage.ingest.say(DeviceState(device: device, person: worn, active: true, intervalMs: 1000))
            _ = try await stage.question(PauseSupervision(person: paused, paused: true))
            try await eventually("everybody who is supervised has one") { try await count() == 0 }
            try await stage.ingest.say(DeviceState(device: device, person: worn, active: false, intervalMs: 1000))
            try await eventually("one has none") { try await count() == 1 }
        }
    }

    @Test("SOS-03, SOS-04: who pauses or leaves is not supervised, also after a restart")
    func pauseAndLeave() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            var dispatcher = try await stage.start()
            let (pausing, leaving, staying) = (PersonID.random(), PersonID.random(), PersonID.random())
            for person in [pausing, leaving, staying] { try await stage.subscribe(person) }
            _ = try await stage.question(PauseSupervision(person: pausing, paused: true))
            _ = try await stage.question(UnsubscribePerson(person: leaving))
            await dispatcher.stop()
            dispatcher = try await stage.start()
            for person in [pausing, leaving, staying] {
                try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            }
            try await eventually("the one alert") {
                try await stage.question(ListEmergencies(person: staying, limit: 10)).emergencies.count == 1
            }
            #expect(try await stage.question(ListEmergencies(person: nil, limit: 10)).emergencies.count == 1)
            _ = try await stage.question(PauseSupervision(person: pausing, paused: false))
            try await stage.ingest.say(pausing, [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("the resumed one") {
                try await stage.question(ListEmergencies(person: pausing, limit: 10)).emergencies.count == 1
            }
        }
    }
}
