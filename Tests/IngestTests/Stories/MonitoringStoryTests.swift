// Pausing, charging, losing devices, and accounts that allow nothing: what is taken then, and what the person is told.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Ingest

@Suite struct MonitoringStoryTests {
    private static func pause(_ isPaused: Bool, _ account: IngestHarness.Account, _ harness: IngestHarness) async throws -> MonitoringAnswer
    {
        try await harness.send("PUT", "/ingest/v1/monitoring", ["paused": .bool(isPaused)], token: account.token).decoded()
    }

    @Test("ACC-28, ING-10: while paused no entry is recorded, the answer says so, and the paused state is shown; resuming goes on")
    func pausing() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let start = Timestamp.now.milliseconds - 3_600_000
            #expect(try await harness.post([.pulse(start, 60)], token: watch.token).accepted == 1)
            let paused = try await Self.pause(true, account, harness)
            #expect(paused.paused && paused.since != nil && paused.warning == nil && paused.automatedSOS == "off")
            #expect(paused.parameters.allSatisfy { !$0.measured && $0.reason == "paused" && $0.detail != nil })
            let again = try await Self.pause(true, account, harness)
            #expect(again.since == paused.since, "pausing again is the same as once")
            let answer = try await harness.post([.pulse(start + 1000, 61), .pulse(start + 2000, 999)], token: watch.token)
            #expect(answer.accepted == 0 && answer.rejected.count == 2)
            #expect(answer.rejected.first?.type == "urn:trackme:problem:monitoring-paused")
            let alone = try await harness.post(Sample.pulse(start + 1000, 61).json, token: watch.token)
            #expect(alone.status == 422 && alone.problem == "monitoring-paused")
            // The pause's own first instant: one that is read here could be the instant of resuming already.
            let inPause = try #require(paused.since.flatMap { Timestamp(rfc3339: $0) }).milliseconds
            let resumed = try await Self.pause(false, account, harness)
            #expect(!resumed.paused && resumed.since == nil && harness.reason(.heartRate, in: resumed) == nil)
            let late = try await harness.post([.pulse(start + 1000, 61), .pulse(inPause, 62)], token: watch.token)
            #expect(late.accepted == 1 && late.rejected.map(\.index) == [1], "what was measured in the pause never comes in")
            #expect(try await harness.samples(.heartRate, token: account.token).map(\.value) == [60, 61])
            let quarantined = try await harness.ingest.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM quarantine") }
            #expect(quarantined == 0, "dropped before storage")
            try await eventually(
                "the pause is in the inbox, and pushed",
                isTrue: { harness.notifier.messages().contains { $0.template == .monitoringPaused && $0.channels == [.inbox, .push] } })
        }
    }

    @Test("X4, ACC-28: a stolen access token paused monitoring without a proof; resuming needs none")
    func stolen() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let stale = try harness.consent.token(of: account.person, session: account.session, proved: .now + .seconds(-301))
            let refused = try await harness.send("PUT", "/ingest/v1/monitoring", ["paused": true], token: stale)
            #expect(refused.status == 401 && refused.problem == "insufficient-user-authentication")
            #expect(try await harness.post([.pulse(Timestamp.now.milliseconds, 60)], token: watch.token).accepted == 1)
            #expect(try await Self.pause(true, account, harness).paused)
            #expect(try await harness.send("PUT", "/ingest/v1/monitoring", ["paused": false], token: stale).status == 200)
            #expect(try await !harness.monitoring(account.token).paused)
        }
    }

    @Test("SOS-35: the button of a watch was refused while monitoring is paused: it counts, and nothing else does")
    func helpWhilePaused() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let watch = try await harness.pair(account, measures: [.heartRate, .help, .fall])
            _ = try await Self.pause(true, account, harness)
            let help = Sample(type: .help, at: .now, value: 1)
            #expect(try await harness.post(help.json, token: watch.token).status == 200)
            let both = try await harness.post(
                [Sample(type: .fall, at: .now, value: 1), Sample(type: .help, at: .now, value: 1)], token: watch.token)
            #expect(both.accepted == 1 && both.rejected.map(\.index) == [0])
        }
    }

    @Test(
        "ACC-28, SOS-04: pausing warns that no emergency will be detected, where AutomatedSOS is active and where it does not answer",
        arguments: [
            (ReadSupervision.Reply(subscribed: true, paused: false), "active", true),
            (ReadSupervision.Reply(subscribed: true, paused: true), "paused", false),
            (ReadSupervision.Reply(subscribed: false, paused: false), "off", false), (nil, "unknown", true),
        ] as [(ReadSupervision.Reply?, String, Bool)])
    func warning(_ reply: ReadSupervision.Reply?, _ word: String, _ isWarned: Bool) async throws {
        try await IngestHarness.run { harness in
            harness.dispatcher.says(reply)
            let account = try await harness.account()
            let paused = try await Self.pause(true, account, harness)
            #expect(paused.paused && paused.automatedSOS == word, "a pause never waits for an answer")
            #expect((paused.warning?.contains("no emergency will be detected") ?? false) == isWarned)
        }
    }

    @Test("ACC-28: pause and resume are facts on ingest.devices, and the snapshot names who is paused")
    func facts() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            _ = try await harness.pair(account)
            _ = try await Self.pause(true, account, harness)
            let stream = StreamFamily.devices.streams[0]
            let snapshot = try await harness.sos.snapshot(SnapshotStream(stream: stream, after: nil))
            #expect(snapshot.facts.map(\.header.type) == [DeviceState.type, MonitoringState.type] && snapshot.next == nil)
            let state = try JSONDecoder().decode(MonitoringState.self, from: Data(try #require(snapshot.facts.last).payload.utf8))
            #expect(state.person == account.person && state.paused)
            _ = try await Self.pause(false, account, harness)
            _ = try await Self.pause(false, account, harness)
            let epoch = try await harness.ingest.store.read { try StreamLog().epoch($0) }
            let replay = try await harness.sos.replay(ReplayStream(stream: stream, epoch: epoch, from: 1, through: 10))
            #expect(replay.facts.map(\.header.type) == [DeviceState.type, MonitoringState.type, MonitoringState.type])
            #expect(try await harness.sos.snapshot(SnapshotStream(stream: stream, after: nil)).facts.count == 1)
        }
    }

    @Test("ACC-28: a pause survives a restart")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let (account, watch) = try await IngestHarness.run(in: folder) { harness in
                let account = try await harness.account()
                let watch = try await harness.pair(account)
                _ = try await Self.pause(true, account, harness)
                return (account, watch)
            }
            try await IngestHarness.run(in: folder) { harness in
                try await harness.state(of: account, active: true)
                #expect(try await harness.post([.pulse(1000, 60)], token: watch.token).rejected.count == 1)
                #expect(try await harness.monitoring(account.token).paused)
            }
        }
    }

    @Test(
        "ING-10: without an account that is known and active nothing is taken, and the answer says why; operators' people stay as they are")
    func accounts() async throws {
        try await IngestHarness.run { harness in
            let account = try await harness.strangerAccount()
            let watch = try await harness.pair(account)
            let unknown = try await harness.post([.pulse(1000, 60)].upload, token: watch.token)
            #expect(unknown.status == 403 && unknown.problem == "account-not-known")
            try await harness.state(of: account, active: false)
            let inactive = try await harness.post([.pulse(1000, 60)].upload, token: watch.token)
            #expect(inactive.status == 403 && inactive.problem == "account-not-active")
            #expect(try inactive.decoded(as: Problem.self).detail?.contains("policy") == true)
            let shown = try await harness.monitoring(account.token)
            #expect(shown.notAllowed?.contains("policy") == true && harness.reason(.heartRate, in: shown) == "account-not-active")
            try await harness.state(of: account, active: true)
            #expect(try await harness.post([.pulse(1000, 60)], token: watch.token).accepted == 1)
            try await harness.state(of: account, active: false)
            #expect(
                try await harness.post([.pulse(2000, 60)].upload, token: watch.token).status == 403, "a withdrawn consent counts at once")
            let enrolled = try await harness.addDevice()
            #expect(try await harness.post([.pulse(1000, 60)], token: enrolled.token).accepted == 1)
        }
    }

    @Test("ING-10, CON-10: logging out ends the person's session and neither pairing nor delivery")
    func logOut() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            try await harness.consent.end(account.session)
            try await eventually(
                "the token is refused", isTrue: { try await harness.send("GET", "/ingest/v1/devices", token: account.token).status == 401 })
            #expect(try await harness.post([.pulse(1000, 60)], token: watch.token).accepted == 1)
        }
    }

    @Test("ING-19: a charging watch's health parameters are shown as not measured, and position goes on from the phone")
    func charging() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let phone = try await harness.pair(account, "Phone", kind: "phone", measures: [.position, .heartRate])
            #expect(try await harness.post([.place(1000)], token: phone.token).rejected.count == 1)
            let report = try await harness.send(
                "POST", "/ingest/v1/device-state", ["charging": true, "battery": 12], token: watch.token)
            let answer: MonitoringAnswer = try report.decoded()
            #expect(report.status == 200 && harness.reason(.heartRate, in: answer) == "charging")
            let position = try #require(answer.parameters.first { $0.code == "position" })
            #expect(position.measured && position.source == phone.device && position.standIn == true)
            #expect(try await harness.post([.place(1000), .pulse(1000, 60)], token: phone.token).accepted == 1, "position, and only that")
            let item = try #require(try await harness.devices(of: account).first)
            #expect(item.charging == true && item.battery == 12 && item.trouble == "charging")
            _ = try await harness.send("POST", "/ingest/v1/device-state", ["charging": false], token: watch.token)
            #expect(try await harness.post([.place(2000)], token: phone.token).rejected.count == 1)
            let shown = try await harness.monitoring(watch.token)
            #expect(harness.reason(.heartRate, in: shown) == nil && harness.reason(.bodyTemperature, in: shown) == "no-device")
            for body in [["battery": 101], ["charging": 1], ["mood": true]] as [JSONValue] {
                #expect(try await harness.send("POST", "/ingest/v1/device-state", body, token: watch.token).status == 422)
            }
            #expect(try await harness.send("POST", "/ingest/v1/device-state", ["charging": true], token: account.token).status == 401)
        }
    }

    @Test("SOS-25: a device declares how often it measures, and everybody who follows hears it")
    func interval() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let watch = try await harness.pair(account, intervalMs: 1000)
            let answer = try await harness.send("POST", "/ingest/v1/device-state", ["intervalMs": 60_000], token: watch.token)
            #expect(answer.status == 200)
            #expect(try await harness.devices(of: account).first?.intervalMs == 60_000)
            let snapshot = try await harness.sos.snapshot(SnapshotStream(stream: StreamFamily.devices.streams[0], after: nil))
            let state = try JSONDecoder().decode(DeviceState.self, from: Data(try #require(snapshot.facts.first).payload.utf8))
            #expect(state.intervalMs == 60_000)
            #expect(try await harness.send("POST", "/ingest/v1/device-state", ["intervalMs": 1], token: watch.token).status == 422)
        }
    }

    @Test("ING-10: own sources take entries without a device, whatever is tracked, but for a pause that lasts")
    func ownSources() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            _ = try await harness.pair(account)
            let people = harness.ingest.deviceModule.people
            let manual = try await people.ownSource(of: account.person, .manual)
            #expect(try await people.ownSource(of: account.person, .manual).device == manual.device)
            #expect(try await people.ownSource(of: account.person, .imported).device != manual.device)
            #expect(manual.admission.admitsEverything && manual.kind == .manual)
            #expect(try await harness.devices(of: account).count == 1, "they are no devices")
            _ = try await Self.pause(true, account, harness)
            #expect(try await people.ownSource(of: account.person, .manual).admission.isPaused)
        }
    }
}
