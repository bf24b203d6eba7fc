// What a device that measures seldom is asked for during an alert, through the real services and their logs.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("The rate of an alert")
    struct AlertRateTests {
        @Test(
            "R16, SOS-11: at an alert the newest place is in the call, a device that cannot measure three times a second is asked for its highest rate, and ingest logs that",
            .timeLimit(.minutes(5)))
        func highestRate() async throws {
            try await RealSuite.with { suite in
                let watch = try await suite.addPerson(supervised: true)
                let told = try await HarnessClient(suite.server).ask(
                    "POST", "/ingest/v1/device-state", token: watch.token, json: ["fastestIntervalMs": 2000])
                #expect(told.status == 200)
                let place = Position(latitude: 45.4642, longitude: 9.19, accuracy: 8)
                try await Self.upload([Sample(type: .position, at: .now, value: nil, position: place)], watch, suite)
                try await Self.upload([Sample(type: .heartRate, at: .now, value: 31)], watch, suite)
                let asked = try await eventually("the device is asked for its highest rate") {
                    let answer = try await Self.upload([Sample(type: .heartRate, at: .now, value: 31)], watch, suite)
                    return answer.supervision?.measurementsPerSecond
                }
                #expect(asked == 0.5)
                let line = try await eventually("it is logged") {
                    let log = try String(contentsOf: suite.data.appendingPathComponent("log/ingest.log"), encoding: .utf8)
                    return log.split(separator: "\n").first { $0.contains("a device measures less often than an alert asks") }
                }
                for part in [#""asked":"3.0""#, #""highest":"0.5""#, "\(watch.device)"] { #expect(line.contains(part), "\(line)") }
                let emergency = try await eventually("the call is acknowledged") {
                    try await suite.ask(ListEmergencies(person: watch.person, limit: 1)).emergencies.first { $0.acknowledgedAt != nil }
                }
                #expect(DeskLine.read(suite.deskLedger).contains { $0.messageId == "\(emergency.emergency)-0" })
                let keys = suite.layout.keys
                let token = try keys.readSecret(keys.file("integrator.token", of: .sosDispatcher))
                let message = try await Self.message(of: emergency.emergency, as: token, suite)
                #expect(message.location.lat == place.latitude && message.location.lon == place.longitude && message.location.trusted)
            }
        }

        private struct Told: Decodable {
            struct Location: Decodable {
                var lat: Double?
                var lon: Double?
                var trusted: Bool
            }
            var location: Location
        }

        /// What the emergency service was told.
        private static func message(of emergency: EmergencyID, as token: String, _ suite: RealSuite) async throws -> Told {
            let client = HarnessClient(port: suite.sos.port)
            return try await client.ask("GET", "/sos/v1/emergencies/\(emergency)/dispatch", token: token).decoded()
        }

        @discardableResult
        private static func upload(_ samples: [Sample], _ watch: AddDevice.Reply, _ suite: RealSuite) async throws -> UploadAnswer {
            let transport = UploadTransport.http(server: suite.server, authorities: nil)
            let reply = await transport.send(
                UploadBody.batch(try samples.map(UploadBody.entry)), watch.token, "rate-\(UInt64.random(in: 0 ... .max))")
            return try JSONDecoder().decode(UploadAnswer.self, from: Data(reply.body))
        }
    }
}
