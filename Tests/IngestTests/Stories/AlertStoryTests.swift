// What devices are asked for while their person is alerted, and what ingest says of devices on charge.

import Bus
import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Ingest

@Suite struct AlertStoryTests {
    private static func changed(_ person: PersonID, _ change: String, _ rate: Double?) -> EmergencyChanged {
        EmergencyChanged(emergency: .random(), person: person, change: change, at: .now, measurementsPerSecond: rate)
    }

    private static func asked(_ harness: IngestHarness, _ token: String) async throws -> AskedRate? {
        try await harness.post([.pulse(Timestamp.now.milliseconds, Double.random(in: 60...90))], token: token).supervision
    }

    @Test(
        "SOS-11: from an alert until the episode is over a person's uploads are answered with 3 measurements a second, also after a restart"
    )
    func answer() async throws {
        try await withTemporaryFolder { folder in
            let device = try await IngestHarness.run(in: folder) { harness in
                let device = try await harness.addDevice(of: nil)
                let stranger = try await harness.addDevice(of: nil)
                #expect(try await Self.asked(harness, device.token) == nil)
                try await harness.dispatcher.say(Self.changed(device.person, "opened", 3))
                try await eventually("the alert is heard", isTrue: { try await Self.asked(harness, device.token) != nil })
                let asked = try await Self.asked(harness, device.token)
                #expect(asked == AskedRate(state: .alerted, measurementsPerSecond: 3))
                #expect(try await Self.asked(harness, stranger.token) == nil, "nobody else's devices")
                return device
            }
            try await IngestHarness.run(in: folder) { harness in
                #expect(try await Self.asked(harness, device.token)?.measurementsPerSecond == 3, "known before anything is heard")
                try await harness.dispatcher.say(Self.changed(device.person, "dispatched", 3))
                try await harness.dispatcher.say(Self.changed(device.person, "closed", nil))
                try await eventually("the end is heard", isTrue: { try await Self.asked(harness, device.token) == nil })
            }
        }
    }

    @Test("SOS-11: a device that cannot measure 3 times a second is asked for its highest rate")
    func highestRate() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let said = try await harness.request(
                "POST", "/ingest/v1/device-state", token: device.token, body: Data(#"{"fastestIntervalMs":2000}"#.utf8),
                headers: ["Content-Type": "application/json"])
            #expect(said.status == 200)
            try await harness.dispatcher.say(Self.changed(device.person, "opened", 3))
            try await eventually("the alert is heard", isTrue: { try await Self.asked(harness, device.token) != nil })
            #expect(try await Self.asked(harness, device.token)?.measurementsPerSecond == 0.5)
        }
        #expect(AskedRate.capped(3, fastest: 100) == 3 && AskedRate.capped(3, fastest: nil) == 3)
    }

    @Test("SOS-11: a device that listens hears of an alert and of its end at once, without uploading")
    func events() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let reader = try harness.listen("/ingest/v1/devices/self/events", token: device.token)
            defer { reader.stop() }
            try await eventually("how it is now", isTrue: { reader.events(as: AskedRate.self) == [.normal] })
            try await harness.dispatcher.say(Self.changed(device.person, "opened", 3))
            let alerted = AskedRate(state: .alerted, measurementsPerSecond: 3)
            try await eventually("the alert", isTrue: { reader.events(as: AskedRate.self).last == alerted })
            try await harness.dispatcher.say(Self.changed(device.person, "transient", nil))
            try await eventually("its end", isTrue: { reader.events(as: AskedRate.self) == [.normal, alerted, .normal] })
            let refused = try await harness.request("GET", "/ingest/v1/devices/self/events", token: nil)
            #expect(refused.status == 401)
        }
    }

    @Test("SOS-27, ING-19: a wearable that is put on charge is told of on the stream of devices; a phone is not; the snapshot knows too")
    func charging() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            func states() async throws -> [DeviceState] {
                let page = try await harness.sos.snapshot(SnapshotStream(stream: StreamFamily.devices.streams[0], after: nil))
                return try page.facts.filter { $0.header.type == DeviceState.type }.map {
                    try JSONDecoder().decode(DeviceState.self, from: Data($0.payload.utf8))
                }
            }
            func report(_ charging: Bool) async throws {
                let said = try await harness.request(
                    "POST", "/ingest/v1/device-state", token: watch.token, body: Data(#"{"charging":\#(charging)}"#.utf8),
                    headers: ["Content-Type": "application/json"])
                #expect(said.status == 200)
            }
            #expect(try await states().map(\.charging) == [nil])
            try await report(true)
            #expect(try await states().map(\.charging) == [true])
            try await report(false)
            #expect(try await states().map(\.charging) == [nil])
        }
    }
}
