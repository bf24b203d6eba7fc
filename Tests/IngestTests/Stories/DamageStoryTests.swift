// One flipped bit in a chunk: everything else is read, what is missing is named, and the operator is told.

import Bus
import Contracts
import Foundation
import GRDB
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite struct DamageStoryTests {
    private static let start: Int64 = 1_768_003_200_000

    private struct Damaged: Decodable, Equatable {
        let from: String
        let to: String
    }

    private struct Answer: Decodable {
        let items: [IngestHarness.Entry]
        let next: String?
        let damaged: [Damaged]?
    }

    /// Ten uploads of ten entries each, one chunk each; of the `place`th one bit is flipped.
    private static func harness(flipping place: Int, _ body: (IngestHarness, String) async throws -> Void) async throws {
        try await IngestHarness.runWithDevice(environment: ["TRACKME_ING_UPKEEP_S": "3600"]) { harness, device in
            for upload in 0..<10 {
                let samples = (0..<10).map { Sample.pulse(start + Int64(upload * 10 + $0) * 1000, Double(60 + upload)) }
                _ = try await harness.post(samples, token: device.token)
            }
            try await harness.ingest.store.write { db in
                let body = try Data.fetchOne(db, sql: "SELECT body FROM chunks ORDER BY id LIMIT 1 OFFSET \(place)") ?? Data()
                var flipped = body
                flipped[20] ^= 1
                try db.execute(sql: "UPDATE chunks SET body = ? WHERE body = ?", arguments: [flipped, body])
            }
            try await body(harness, device.token)
        }
    }

    private static func time(_ second: Int) -> String { Timestamp(milliseconds: start + Int64(second) * 1000).rfc3339 }

    @Test(
        "X8: one flipped bit in one chunk made a whole read 500: it takes that chunk alone, which every page names",
        arguments: [1000, 10, 7])
    func pages(limit: Int) async throws {
        try await Self.harness(flipping: 3) { harness, token in
            var (times, named, after): (Set<String>, [Damaged], String?) = ([], [], nil)
            repeat {
                let response = try await harness.request(
                    "GET", "/ingest/v1/entries?type=heart-rate&limit=\(limit)" + (after.map { "&after=\($0)" } ?? ""), token: token)
                #expect(response.status == 200)
                let page: Answer = try response.decoded()
                times.formUnion(page.items.map(\.at))
                named += page.damaged ?? []
                after = page.next
            } while after != nil
            #expect(times == Set((0..<100).filter { !(30..<40).contains($0) }.map(Self.time)))
            #expect(Set(named.map(\.from)) == [Self.time(30)] && Set(named.map(\.to)) == [Self.time(39)])
        }
    }

    @Test("X8: a stream of lines, sums, coverage and the newest entry name what is damaged too")
    func others() async throws {
        try await Self.harness(flipping: 9) { harness, token in
            let lines = try await harness.request(
                "GET", "/ingest/v1/entries?type=heart-rate", token: token, headers: ["Accept": "application/x-ndjson"])
            #expect(lines.status == 200 && lines.text.split(separator: "\n").count == 91)
            #expect(lines.text.split(separator: "\n").last?.contains("\"damaged\"") == true)
            for path in [
                "entries?type=heart-rate&granularity=hour", "latest", "coverage?type=heart-rate&from=\(Self.time(0))&to=\(Self.time(200))",
            ] {
                let response = try await harness.request("GET", "/ingest/v1/\(path)", token: token)
                #expect(response.status == 200 && response.text.contains("\"damaged\"") && response.text.contains(Self.time(90)), "\(path)")
            }
            let latest: Answer = try await harness.request("GET", "/ingest/v1/latest", token: token).decoded()
            #expect(latest.items.map(\.at) == [Self.time(89)])
        }
    }

    @Test("X8: the newest entry and a history left out on the bus what was damaged, and did not say so")
    func onTheBus() async throws {
        try await Self.harness(flipping: 9) { harness, _ in
            let person = try #require(try await harness.ingest.store.read { db in try DeviceStore().person(db, 1) })
            let time = { (second: Int64) in Timestamp(milliseconds: Self.start + second * 1000) }
            let damaged = [DamagedPeriod(from: time(90), to: time(99))]
            let latest = try await harness.sos.ask(ReadLatest(person: person, types: [.heartRate]), deadline: .seconds(5))
            #expect(latest.samples.map(\.at) == [time(89)] && latest.damaged == damaged)
            for grain in [ReadHistory.Grain.entry, .minute] {
                let history = try await harness.sos.ask(
                    ReadHistory(person: person, type: .heartRate, grain: grain, from: time(0), to: time(200)), deadline: .seconds(5))
                #expect(history.damaged == damaged, "\(grain)")
                let whole = try await harness.sos.ask(
                    ReadHistory(person: person, type: .heartRate, grain: grain, from: time(0), to: time(60)), deadline: .seconds(5))
                #expect(whole.damaged == nil && !whole.times.isEmpty, "\(grain)")
            }
        }
    }

    @Test("X8: the same entries delivered again are taken, and are back")
    func again() async throws {
        try await Self.harness(flipping: 3) { harness, token in
            let answer = try await harness.post((30..<40).map { Sample.pulse(Self.start + Int64($0) * 1000, 63) }, token: token)
            #expect(answer.accepted == 10 && answer.duplicates.isEmpty)
            #expect(try await harness.samples(.heartRate, token: token).count == 100)
        }
    }

    @Test("X8: the scrub finds what nobody has asked for, health and the figures show it, and upkeep goes on around it")
    func scrub() async throws {
        try await Self.harness(flipping: 5) { harness, token in
            let upkeep = harness.ingest.upkeep
            #expect(upkeep.steps.vault.damage.count == 0)
            try await Scrub(store: harness.ingest.store, vault: upkeep.steps.vault).pass()
            #expect(upkeep.steps.vault.damage.count == 1)
            let ready = try await harness.request("GET", "/health/ready", token: nil)
            #expect(ready.status == 200 && ready.text.contains("1 chunks of entries are damaged"))
            try await upkeep.round(now: Timestamp(milliseconds: Self.start + 2 * 86_400_000))
            let sums = try await harness.list("type=heart-rate&granularity=minute", token: token, of: IngestHarness.Stretch.self)
            #expect(sums.map(\.count).reduce(0, +) == 90)
        }
    }
}
