// What a device's own token reads: what a thief of a watch could see on it, and no more.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Ingest

@Suite struct DeviceReachStoryTests {
    private struct Listed: Decodable {
        let items: [IngestHarness.Entry]
    }

    private static func values(_ harness: IngestHarness, _ path: String, token: String) async throws -> [Double?] {
        try await harness.request("GET", "/ingest/v1/\(path)", token: token).expect(status: 200).decoded(as: Listed.self).items.map(\.value)
    }

    @Test("X14: a device token read all history: it reads what the device measured, of the last seven days, and the person everything")
    func reach() async throws {
        try await IngestHarness.runWithDevice(environment: ["TRACKME_ING_DEVICE_READ_H": "168"]) { harness, watch in
            let phone = try await harness.addDevice(of: watch.person)
            try await eventually("tokens can be checked", isTrue: { harness.ingest.deviceModule.tokens.isReady })
            let logIn = try harness.consent.token(of: watch.person)
            let (now, day) = (Timestamp.now.milliseconds, Int64(86_400_000))
            _ = try await harness.post([.pulse(now - 8 * day, 61), .pulse(now - 6 * day, 62), .pulse(now - 3000, 63)], token: watch.token)
            _ = try await harness.post([.pulse(now - 5 * day, 64), .pulse(now - 1000, 65)], token: phone.token)
            let entries = "entries?type=heart-rate"
            #expect(try await Self.values(harness, entries, token: watch.token) == [62, 63])
            #expect(try await Self.values(harness, entries + "&limit=1", token: phone.token) == [64])
            #expect(try await Self.values(harness, entries, token: phone.token) == [64, 65])
            #expect(try await Self.values(harness, entries, token: logIn) == [61, 62, 64, 63, 65])
            #expect(try await Self.values(harness, "latest", token: watch.token) == [63])
            #expect(try await Self.values(harness, "latest", token: logIn) == [65])
            let days = try await harness.list("type=heart-rate&granularity=day", token: watch.token, of: IngestHarness.Stretch.self)
            #expect(days.map(\.count).reduce(0, +) == 2)
        }
    }

    @Test(
        "X14: a device token began exports and saw the dashboard: both need a log-in",
        arguments: [
            ("POST", "exports"), ("GET", "exports"), ("POST", "imports"), ("GET", "series?type=heart-rate&from=2026-01-01T00:00:00Z"),
            ("GET", "statistics"), ("GET", "health-status"), ("GET", "dashboard"), ("GET", "track?from=2026-01-01T00:00:00Z"),
            ("GET", "activities"),
        ])
    func logIn(_ method: String, _ path: String) async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let refused = try await harness.request(
                method, "/ingest/v1/\(path)", token: watch.token, body: method == "POST" ? Data("{}".utf8) : nil,
                headers: method == "POST" ? ["Content-Type": "application/json"] : [:])
            #expect([401, 403].contains(refused.status), "\(refused.status)")
        }
    }
}
