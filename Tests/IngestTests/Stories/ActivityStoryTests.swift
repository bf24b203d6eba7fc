// Activities: told by hand and by devices, opened with what was measured during them.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import TestKit
import Testing

@testable import Ingest

@Suite struct ActivityStoryTests {
    private struct Opened: Decodable {
        struct Path: Decodable {
            struct Geometry: Decodable {
                let type: String
                let coordinates: [[Double]]
            }

            struct Properties: Decodable {
                let times: [String]
            }

            let type: String
            let geometry: Geometry?
            let properties: Properties
        }

        let id: String
        let kind: String
        let name: String?
        let seconds: Double
        let source: String
        let distance: Double?
        let pace: Double?
        let heartRateMean: Double?
        let heartRateMax: Double?
        let calories: Double?
        let path: Path
    }

    private static func run(_ start: Int64, minutes: Int64, name: String? = nil) -> JSONValue {
        .object(
            [
                .init("kind", "run"), .init("start", .string(Timestamp(milliseconds: start).rfc3339)),
                .init("end", .string(Timestamp(milliseconds: start + minutes * 60_000).rfc3339)),
            ] + (name.map { [.init("name", .string($0))] } ?? []))
    }

    @Test("ING-18, MYD-11, MYD-12: a run is told, listed, opened with path, time, distance, pace, heart rate and calories, and deleted")
    func telling() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let device = try await harness.pair(
                account, measures: [.heartRate, .position, .distance] + [Metric(code: "calories")].compactMap { $0 })
            let start: Int64 = 1_768_000_000_000
            var samples: [Sample] = []
            for second in Int64(0)...600 {
                let at = Timestamp(milliseconds: start + second * 1000)
                samples.append(
                    Sample(
                        type: .position, at: at, value: nil,
                        position: Position(latitude: 45 + Double(second) * 0.00003, longitude: 9, altitude: 120)))
                samples.append(Sample(type: .heartRate, at: at, value: 120 + Double(second % 60)))
                if second % 60 == 0 { samples.append(.of("calories", at, Double(second / 60) * 12)) }
            }
            // Before and after it belongs to no run.
            samples.append(.pulse(start - 1000, 300))
            samples.append(.pulse(start + 601_000, 300))
            _ = try await harness.post(samples, token: device.token)
            let told = try await harness.send(
                "POST", "/ingest/v1/activities", Self.run(start, minutes: 10, name: "Città"), token: account.token)
            #expect(told.status == 201)
            let item: ActivityItem = try told.decoded()
            #expect(item.name == "Città" && item.seconds == 600 && item.source == "manual")
            let opened: Opened = try await harness.request("GET", "/ingest/v1/activities/\(item.id)", token: account.token).decoded()
            let metres = 600 * 0.00003 * 111_195.08
            #expect(abs((opened.distance ?? 0) - metres) < 1 && abs((opened.pace ?? 0) - 600 / metres * 1000) < 0.1)
            #expect(opened.heartRateMax == 179 && abs((opened.heartRateMean ?? 0) - 149.45) < 0.1 && opened.calories == 120)
            #expect(opened.path.geometry?.type == "LineString" && opened.path.geometry?.coordinates.count == 601)
            #expect(opened.path.geometry?.coordinates.first == [9, 45, 120] && opened.path.properties.times.count == 601)
            let track = try await harness.request(
                "GET",
                "/ingest/v1/track?from=\(Timestamp(milliseconds: start).rfc3339)&to=\(Timestamp(milliseconds: start + 5000).rfc3339)",
                token: account.token)
            #expect(track.headers["content-type"] == "application/geo+json")
            #expect(try track.decoded(as: Opened.Path.self).geometry?.coordinates.count == 5)
            let dashboard: DashboardAnswer = try await harness.request("GET", "/ingest/v1/dashboard", token: account.token).decoded()
            #expect(dashboard.activities.map(\.id) == [item.id], "MYD-01")
            let other = try await harness.account()
            #expect(try await harness.request("GET", "/ingest/v1/activities/\(item.id)", token: other.token).status == 404, "MYD-02")
            #expect(try await harness.request("DELETE", "/ingest/v1/activities/\(item.id)", token: other.token).status == 404)
            #expect(try await harness.request("DELETE", "/ingest/v1/activities/\(item.id)", token: account.token).status == 204)
            #expect(try await harness.request("GET", "/ingest/v1/activities/\(item.id)", token: account.token).status == 404)
            #expect(try await harness.samples(.heartRate, token: device.token).count == 603, "what was measured stays")
        }
    }

    @Test("ING-18: telling a run again is no second one, something else for the same times is refused; a device tells its own")
    func repeating() async throws {
        try await IngestHarness.runWithWatch { harness, account, device in
            let start: Int64 = 1_768_000_000_000
            let first = try await harness.send("POST", "/ingest/v1/activities", Self.run(start, minutes: 10), token: device.token)
            let again = try await harness.send("POST", "/ingest/v1/activities", Self.run(start, minutes: 10), token: device.token)
            #expect(first.status == 201 && again.status == 200)
            #expect(try first.decoded(as: ActivityItem.self) == again.decoded(as: ActivityItem.self))
            #expect(try first.decoded(as: ActivityItem.self).source == "\(device.device)")
            let other = try await harness.send(
                "POST", "/ingest/v1/activities", Self.run(start, minutes: 10, name: "x"), token: account.token)
            #expect(other.status == 409 && other.problem == "conflicting-activity")
            for number in 1...4 {
                _ = try await harness.send(
                    "POST", "/ingest/v1/activities", Self.run(start + Int64(number), minutes: 10), token: account.token)
            }
            var starts: [String] = []
            var after: String?
            repeat {
                let page: IngestHarness.List<ActivityItem> = try await harness.request(
                    "GET", "/ingest/v1/activities?limit=2" + (after.map { "&after=\($0)" } ?? ""), token: account.token
                ).decoded()
                starts += page.items.map(\.start)
                after = page.next
            } while after != nil
            #expect(starts == (0...4).reversed().map { Timestamp(milliseconds: start + $0).rfc3339 }, "the latest first, each once")
        }
    }

    @Test("ING-18: an activity that ends before it begins, lasts too long, or is of no kind is refused with its fields")
    func refusing() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let future = Timestamp.now.milliseconds + 3_600_000
            let cases: [(JSONValue, [String])] = [
                (Self.run(1_768_000_000_000, minutes: 0), ["/end"]), (Self.run(1_768_000_000_000, minutes: -5), ["/end"]),
                (Self.run(1_768_000_000_000, minutes: 8 * 24 * 60), ["/end"]), (Self.run(future, minutes: 5), ["/end"]),
                (Self.run(-60_000, minutes: 1), ["/start"]), (["kind": "nap", "start": "x", "end": "y"], []),
                (["kind": "run"], []),
                (["kind": "run", "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:10:00Z", "mood": "good"], ["/mood"]),
            ]
            for (body, pointers) in cases {
                let response = try await harness.send("POST", "/ingest/v1/activities", body, token: account.token)
                #expect(response.status == 422 && response.problem == "invalid-body", "\(body.text)")
                let named = try response.decoded(as: Problem.self).errors?.map(\.pointer) ?? []
                #expect(pointers.isEmpty ? !named.isEmpty : named == pointers, "\(body.text): \(named)")
            }
            #expect(try await harness.request("GET", "/ingest/v1/activities?after=nonsense", token: account.token).status == 400)
        }
    }

    private static let runs = ["run-lisbon-2017.csv", "run-highlands-2013.csv"]

    @Test(
        "ING-18, MYD-11: the real runs of the test data have the length that their watches counted",
        .enabled(if: TestData.has(runs), "the recordings are not here; name their folder in TEST_DATA"))
    func realRuns() async throws {
        for name in Self.runs {
            let file = try #require(TestData.file(name))
            var figures = ActivityFigures()
            var last = 0.0
            for line in try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isNewline).dropFirst() {
                let cells = line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                guard let at = Timestamp(rfc3339: cells[0]), let latitude = Double(cells[2]), let longitude = Double(cells[3]) else {
                    continue
                }
                figures.add(Sample(type: .position, at: at, value: nil, position: Position(latitude: latitude, longitude: longitude)))
                last = Double(cells[5]) ?? last
            }
            let distance = try #require(figures.distance)
            #expect(abs(distance - last) < last * 0.03, "\(name): \(distance) beside \(last) m")
        }
    }
}
