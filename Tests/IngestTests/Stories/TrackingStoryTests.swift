// Device Management through the whole service: which parameter comes from which device, and what the others are told.

import Bus
import Contracts
import Foundation
import HTTPKit
import ServiceKit
import Storage
import Testing
import TestKit

@testable import Ingest

@Suite struct TrackingStoryTests {
    private static func choice(_ devices: [(DeviceID, [Metric])], whenTracked: String? = nil) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init(
                "devices",
                .array(
                    devices.map { device, metrics in
                        ["device": .string("\(device)"), "tracked": .array(metrics.map { .string($0.code) })]
                    }))
        ]
        if let whenTracked { members.append(.init("whenTracked", .string(whenTracked))) }
        return .object(members)
    }

    private static func tracked(_ item: DeviceItem?) -> [String] {
        item?.parameters.filter(\.tracked).map(\.code) ?? []
    }

    @Test("SOS-35, SOS-36: the button of a second device called nobody: help and falls count from whichever device says so, chosen or not")
    func buttons() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let watch = try await harness.pair(account, measures: [.heartRate, .help, .fall])
            let pendant = try await harness.pair(account, "Pendant", measures: [.heartRate, .help, .fall])
            let plain = try await harness.pair(account, "Band", measures: [.heartRate])
            #expect(pendant.success.trackedElsewhere.map(\.code) == ["heart-rate"] && Set(pendant.success.tracked) == ["fall", "help"])
            for device in [watch, pendant, plain] {
                let happened = [Sample(type: .help, at: .now, value: 1), Sample(type: .fall, at: .now, value: 1)]
                #expect(try await harness.post(happened, token: device.token).accepted == 2)
            }
            let both = Self.choice([(watch.device, [.heartRate, .help]), (pendant.device, [.help])])
            #expect(try await harness.send("PUT", "/ingest/v1/tracking", both, token: account.token).status == 200)
        }
    }

    @Test("SC-44, ACC-25, ACC-26, ING-20: heart rate from the watch, position from the phone; each parameter from its device only")
    func divided() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let phone = try await harness.pair(account, "Phone", kind: "phone", measures: [.position])
            #expect(phone.success.tracked.isEmpty && phone.success.trackedElsewhere.map(\.code) == ["position"])
            #expect(
                phone.success.trackedElsewhere.first?.moreReliable == true && phone.success.trackedElsewhere.first?.current == watch.device)
            let before = try await harness.devices(of: account)
            #expect(Self.tracked(before.first) == ["heart-rate", "position"] && Self.tracked(before.last).isEmpty)
            #expect(before.last?.parameters.first?.trackedFrom == watch.device)

            let put = try await harness.send(
                "PUT", "/ingest/v1/tracking", Self.choice([(watch.device, [.heartRate]), (phone.device, [.position])]), token: account.token
            )
            #expect(put.status == 200)
            let after = try await harness.devices(of: account)
            #expect(Self.tracked(after.first) == ["heart-rate"] && Self.tracked(after.last) == ["position"])

            let fromWatch = try await harness.post([.pulse(1000, 60), .place(1000)], token: watch.token)
            #expect(fromWatch.accepted == 1 && fromWatch.rejected.map(\.index) == [1])
            #expect(fromWatch.rejected.first?.type == "urn:trackme:problem:parameter-not-tracked")
            #expect(try await harness.post([.place(1000)], token: phone.token).accepted == 1)
            let alone = try await harness.post(Sample.pulse(2000, 60).json, token: phone.token)
            #expect(alone.status == 422 && alone.problem == "parameter-not-tracked")
            let quarantined = try await harness.ingest.store.read { db in
                try QuarantineStore().count(db, of: DeviceStore().personNumber(db, account.person) ?? 0)
            }
            #expect(quarantined == 0, "ING-10: what may not be taken is not kept either")
        }
    }

    @Test(
        "ACC-24, ACC-26, SOS-34: the tracked watch was removed, and the band that went on measuring was refused: it takes over, which is told"
    )
    func removedSource() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let band = try await harness.pair(account, "Band", measures: [.heartRate])
            #expect(try await harness.post([.pulse(1000, 60)], token: band.token).rejected.count == 1)
            #expect(try await harness.send("DELETE", "/ingest/v1/devices/\(watch.device)", token: account.token).status == 204)
            #expect(try await harness.post([.pulse(2000, 61)], token: band.token).accepted == 1)
            let devices = try await harness.devices(of: account)
            #expect(devices.count == 1 && Self.tracked(devices.first) == ["heart-rate"])
            let told = try await eventually("the person is told") { harness.notifier.messages().first { $0.template == .trackingMoved } }
            #expect(told.recipient.person == account.person)
            let (what, names) = (try #require(told.values["what"]), Metric.heartRate.definition)
            #expect(what == names.english || what == names.italian)
        }
    }

    @Test("ACC-26: a parameter of a more reliable device is named in a 409 with the choice; nothing changes until it is made")
    func undecided() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let strap = try await harness.pair(account, "Strap", kind: "medical-device", measures: [.heartRate])
            let watch = try await harness.pair(account)
            let wanted = [(watch.device, [Metric.position, .heartRate])]
            let asked = try await harness.send("PUT", "/ingest/v1/tracking", Self.choice(wanted), token: account.token)
            #expect(asked.status == 409 && asked.problem == "parameter-already-tracked")
            let problem: Problem = try asked.decoded()
            #expect(problem.detail?.contains("keep") == true && problem.detail?.contains("switch") == true)
            #expect(problem.errors?.map(\.pointer) == ["/devices/0/tracked/1"])
            #expect(problem.errors?.first?.detail.contains("\(strap.device)") == true)
            #expect(try await harness.post([.pulse(1000, 60)], token: strap.token).accepted == 1, "nothing changed silently")

            let kept = try await harness.send("PUT", "/ingest/v1/tracking", Self.choice(wanted, whenTracked: "keep"), token: account.token)
            #expect(try kept.decoded(as: TrackingAnswer.self).kept?.map(\.code) == ["heart-rate"])
            #expect(try await harness.post([.pulse(2000, 60)], token: watch.token).rejected.count == 1)
            let switched = try await harness.send(
                "PUT", "/ingest/v1/tracking", Self.choice(wanted, whenTracked: "switch"), token: account.token)
            #expect(try switched.decoded(as: TrackingAnswer.self).moved?.map(\.current) == [strap.device])
            #expect(try await harness.post([.pulse(3000, 60)], token: watch.token).accepted == 1)
            #expect(try await harness.post([.pulse(4000, 60)], token: strap.token).rejected.count == 1)
        }
    }

    @Test("X4, ACC-25: a stolen access token took heart rate off the watch without a proof; confirming what is, or more, needs none")
    func stolen() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let watch = try await harness.pair(account, measures: [.heartRate, .position, .respirationRate])
            let band = try await harness.pair(account, "Band", measures: [.heartRate])
            let stale = try harness.consent.token(of: account.person, session: account.session, proved: .now + .seconds(-301))
            let all: [Metric] = [.heartRate, .position, .respirationRate]
            for choice in [
                Self.choice([(watch.device, [.position, .respirationRate])]),
                Self.choice([(band.device, [.heartRate])], whenTracked: "switch"),
            ] {
                let refused = try await harness.send("PUT", "/ingest/v1/tracking", choice, token: stale)
                #expect(refused.status == 401 && refused.problem == "insufficient-user-authentication")
            }
            #expect(try await harness.send("PUT", "/ingest/v1/tracking", Self.choice([(watch.device, all)]), token: stale).status == 200)
            #expect(try await harness.post([.pulse(1000, 60)], token: watch.token).accepted == 1)

            let less = Self.choice([(watch.device, [.position])])
            #expect(try await harness.send("PUT", "/ingest/v1/tracking", less, token: account.token).status == 200)
            let told = try await eventually("the person is told") { harness.notifier.messages().first { $0.template == .watchedLess } }
            let (change, heart) = (try #require(told.values["change"]), Metric.heartRate.definition)
            #expect(told.recipient.person == account.person && told.channels == [.inbox, .push])
            #expect(change.contains(heart.english) || change.contains(heart.italian))
            let again = Self.choice([(watch.device, all)])
            #expect(
                try await harness.send("PUT", "/ingest/v1/tracking", again, token: stale).status == 200, "tracked again without a proof")
        }
    }

    @Test("ACC-25: leaving without confirming changes nothing; a choice that cannot be is refused as a whole, with each place named")
    func refused() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let foreign = try await harness.pair(try await harness.account())
            let before: TrackingAnswer = try await harness.send("GET", "/ingest/v1/tracking", token: account.token).decoded()
            for (devices, pointer) in [
                ([(watch.device, [Metric.bodyTemperature])], "/devices/0/tracked/0"),
                ([(foreign.device, [.heartRate])], "/devices/0/device"),
                ([(watch.device, [.heartRate]), (DeviceID.random(), [])], "/devices/1/device"),
            ] {
                let response = try await harness.send("PUT", "/ingest/v1/tracking", Self.choice(devices), token: account.token)
                #expect(response.status == 422 && response.problem == "impossible-tracking")
                #expect(try response.decoded(as: Problem.self).errors?.map(\.pointer) == [pointer])
            }
            let twice = try await harness.send(
                "PUT", "/ingest/v1/tracking", Self.choice([(watch.device, []), (watch.device, [])]), token: account.token)
            #expect(twice.status == 422 && twice.problem == "invalid-body")
            #expect(
                try await harness.send("PUT", "/ingest/v1/tracking", ["devices": [["device": "x"]]], token: account.token).status == 422)
            #expect(try await harness.send("GET", "/ingest/v1/tracking", token: account.token).decoded(as: TrackingAnswer.self) == before)
            #expect(try await harness.post([.pulse(1000, 60)], token: watch.token).accepted == 1)
        }
    }

    @Test("CON-12: the order of kinds can be changed by the person, and lasts")
    func priority() async throws {
        try await withTemporaryFolder { folder in
            let account = try await IngestHarness.run(in: folder) { harness in
                let account = try await harness.account()
                _ = try await harness.pair(account, "Strap", kind: "medical-device", measures: [.heartRate])
                let order: JSONValue = ["priority": ["wearable", "medical-device", "phone", "manual"]]
                #expect(try await harness.send("PUT", "/ingest/v1/tracking/priority", order, token: account.token).status == 200)
                for wrong in [["priority": ["wearable"]], ["priority": ["wearable", "wearable", "phone", "manual"]]] as [JSONValue] {
                    #expect(try await harness.send("PUT", "/ingest/v1/tracking/priority", wrong, token: account.token).status == 422)
                }
                return account
            }
            try await IngestHarness.run(in: folder) { harness in
                try await harness.state(of: account, active: true)
                let answer: TrackingAnswer = try await harness.send("GET", "/ingest/v1/tracking", token: account.token).decoded()
                #expect(answer.priority == [.wearable, .medical, .phone, .manual])
                let watch = try await harness.pair(account)
                let put = try await harness.send(
                    "PUT", "/ingest/v1/tracking", Self.choice([(watch.device, [.heartRate])]), token: account.token)
                #expect(put.status == 200, "the wearable is trusted more now: nobody has to be asked")
            }
        }
    }

    @Test("ING-04, CON-39: of two values for one instant the tracked source's stays, and the conflict is told")
    func conflict() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let strap = try await harness.pair(account, "Strap", kind: "medical-device", measures: [.heartRate])
            #expect(try await harness.post([.pulse(1000, 60)], token: watch.token).accepted == 1)
            let untracked = try await harness.post([.pulse(1000, 99)], token: strap.token)
            #expect(untracked.rejected.first?.type == "urn:trackme:problem:parameter-not-tracked")
            _ = try await harness.send("PUT", "/ingest/v1/tracking", Self.choice([(strap.device, [.heartRate])]), token: account.token)
            let conflict = try await harness.post([.pulse(1000, 99), .pulse(1000, 60)], token: strap.token)
            #expect(conflict.rejected.map(\.type) == ["urn:trackme:problem:conflicting-value"] && conflict.duplicates == [1])
            #expect(try await harness.samples(.heartRate, token: account.token).map(\.value) == [60], "ING-12: never overwritten")
        }
    }

    @Test("Devices that an operator enrolled deliver everything but what another device was chosen for")
    func enrolled() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            _ = try await harness.pair(account)
            let enrolled = try await harness.addDevice(of: account.person)
            let answer = try await harness.post(
                [.pulse(1000, 60), Sample(type: .bodyTemperature, at: Timestamp(milliseconds: 1000), value: 36.5)], token: enrolled.token)
            #expect(answer.accepted == 1 && answer.rejected.map(\.index) == [0])
            let item = try #require(try await harness.devices(of: account).last)
            #expect(!item.pairedByPerson && item.parameters.count == Metric.all.count)
        }
    }

    @Test("ING-16: a maker's data come in under the same rules: tracked, judged, stored once")
    func makers() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let meter = try await harness.pair(account, "Sensor", kind: "medical-device", measures: [.glucose])
            let path = "/ingest/v1/makers/nightscout/entries"
            let body: JSONValue = [
                ["type": "sgv", "date": 1_768_005_060_000, "sgv": 123], ["type": "cal", "date": 1, "slope": 1],
                ["type": "sgv", "date": 2, "sgv": 9],
            ]
            let first: IngestHarness.Answer = try await harness.send("POST", path, body, token: meter.token).decoded()
            #expect(first.accepted == 1 && first.rejected.map(\.index) == [2])
            let again: IngestHarness.Answer = try await harness.send("POST", path, body, token: meter.token).decoded()
            #expect(again.accepted == 0 && again.duplicates == [0])
            #expect(try await harness.samples(.glucose, token: account.token).map(\.value) == [123])
            let watch = try await harness.pair(account)
            let foreign: IngestHarness.Answer = try await harness.send("POST", path, body, token: watch.token).decoded()
            #expect(foreign.accepted == 0 && foreign.rejected.first?.type == "urn:trackme:problem:parameter-not-tracked")
            #expect(try await harness.send("POST", path, body, token: nil).status == 401)
            #expect(try await harness.send("POST", "/ingest/v1/makers/nobody/entries", body, token: meter.token).status == 404)
            #expect(try await harness.send("POST", path, ["x": 1], token: meter.token).problem == "not-entries")
            let makers = try await harness.send("GET", "/ingest/v1/makers", token: nil).decoded(as: Page<MakerItem>.self).items
            #expect(makers.map(\.name) == ["nightscout"])
        }
    }

    @Test("ACC-24: naming or removing a device that is none of the person's took a turn in the queue of writes; it is refused beside it")
    func foreignDevice() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            _ = try await harness.pair(account)
            let path = "/ingest/v1/devices/\(DeviceID.random())"
            let isBeside = try await isDone(whileWriting: harness.ingest.store) {
                let answer = try await harness.send("PATCH", path, ["name": "Mine"], token: account.token)
                #expect(answer.status == 404)
            }
            #expect(isBeside)
        }
    }
}
