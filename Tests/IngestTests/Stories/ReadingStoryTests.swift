// Charts, coverage and upkeep against what the plain entries say.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite struct ReadingStoryTests {
    /// A Monday long past, so that its days are closed.
    private static let start: Int64 = 1_768_003_200_000 / Granularity.dayWidth * Granularity.dayWidth

    private static func stretches(_ samples: [Sample], _ width: Int64) -> [IngestHarness.Stretch] {
        Dictionary(grouping: samples) { $0.at.milliseconds / width * width }.sorted { $0.key < $1.key }.map { start, samples in
            let values = samples.compactMap(\.value)
            return IngestHarness.Stretch(
                from: Timestamp(milliseconds: start).rfc3339, min: values.min() ?? 0, mean: values.reduce(0, +) / Double(values.count),
                max: values.max() ?? 0, count: values.count)
        }
    }

    /// Eighths, so that sums do not depend on the order of adding.
    private static func samples(_ count: Int, from start: Int64, every step: Int64, _ generator: inout SeededGenerator) -> [Sample] {
        (0..<Int64(count)).map { .pulse(start + $0 * step, Double(Int.random(in: 480...1200, using: &generator)) / 8) }
    }

    @Test("Charts equal the sums over all entries: before upkeep, after it, with late entries, after merging")
    func charts() async throws {
        try await IngestHarness.run { harness in
            var generator = SeededGenerator(seed: 7)
            let device = try await harness.addDevice()
            var all = Self.samples(3000, from: Self.start - 3_000_000, every: 47_000, &generator)
            func check(_ when: String) async throws {
                for granularity in [Granularity.minute, .hour, .day] {
                    let read = try await harness.list(
                        "type=heart-rate&granularity=\(granularity)", token: device.token, limit: 400, of: IngestHarness.Stretch.self)
                    #expect(read == Self.stretches(all, granularity.width ?? 1), "\(when), \(granularity)")
                }
                let sorted = all.sorted { $0.at < $1.at }
                #expect(try await harness.samples(.heartRate, token: device.token, limit: 999) == sorted, "\(when)")
                let (from, to) = (Timestamp(milliseconds: Self.start + 7_201_234), Timestamp(milliseconds: Self.start + 80_000_000))
                let part = try await harness.list(
                    "type=heart-rate&from=\(from.rfc3339)&to=\(to.rfc3339)", token: device.token, of: IngestHarness.Entry.self)
                #expect(part.compactMap(\.sample) == sorted.filter { $0.at >= from && $0.at < to }, "\(when)")
            }
            for start in stride(from: 0, to: all.count, by: 61) {
                _ = try await harness.post(Array(all[start..<min(all.count, start + 61)]), token: device.token)
            }
            try await check("as uploaded")
            try await harness.ingest.upkeep.round(now: .now)
            try await check("summed up")
            let late = Self.samples(200, from: Self.start + 11, every: 400_000, &generator)
            _ = try await harness.post(late, token: device.token)
            all += late
            try await check("with late entries")
            try await harness.ingest.upkeep.round(now: .now)
            try await check("summed up again")
            let before = try await Self.chunks(harness)
            #expect(before.count > 50, "nothing is merged while the log names it")
            _ = try await harness.ingest.store.write { db in
                try StreamLog().release(
                    db, StreamFamily.samplesStream(of: device.person), before: Timestamp(milliseconds: .max), confirmedBy: [])
            }
            try await harness.ingest.upkeep.round(now: .now)
            let after = try await Self.chunks(harness)
            #expect(after.count < 12 && after.entries == before.entries, "whole days became one chunk each")
            try await check("merged")
            let again = try await harness.post(Array(all.prefix(61)), token: device.token)
            #expect(again.duplicates.count == 61)
        }
    }

    private static func chunks(_ harness: IngestHarness) async throws -> (count: Int, entries: Int) {
        try await harness.ingest.store.read { db in
            (try Int.fetchOne(db, sql: "SELECT count(*) FROM chunks") ?? 0, try Int.fetchOne(db, sql: "SELECT sum(count) FROM chunks") ?? 0)
        }
    }

    @Test("The current day is summed up too when it has many chunks, and stays right")
    func busyDay() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let now = Timestamp.now.milliseconds
            let first = (0..<300).map { Sample.pulse(now - 3_000_000 + Int64($0) * 1000, Double(60 + $0 % 9)) }
            for sample in first { _ = try await harness.post([sample], token: device.token) }
            try await harness.ingest.upkeep.round(now: .now)
            let rolled = try await harness.ingest.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM roll_ups") ?? 0 }
            #expect(rolled >= 1)
            let more = (300..<320).map { Sample.pulse(now - 3_000_000 + Int64($0) * 1000, 60) }
            _ = try await harness.post(more, token: device.token)
            let read = try await harness.list("type=heart-rate&granularity=minute", token: device.token, of: IngestHarness.Stretch.self)
            #expect(read == Self.stretches(first + more, 60_000))
        }
    }

    @Test("A damaged chunk holds up neither other people's entries on the stream nor upkeep")
    func damage() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            _ = try await harness.post([.pulse(Self.start, 60)], token: device.token)
            _ = try await harness.post([.pulse(Self.start + Granularity.dayWidth, 61)], token: device.token)
            let epoch = try await harness.ingest.store.write { db in
                try db.execute(sql: "UPDATE chunks SET body = zeroblob(40) WHERE id = 1")
                return try StreamLog().epoch(db)
            }
            let stream = StreamFamily.samplesStream(of: device.person)
            let replay = try await harness.sos.replay(ReplayStream(stream: stream, epoch: epoch, from: 1, through: 2))
            #expect(replay.facts.map(\.header.type) == [StreamHeader.erased, SamplesRecorded.type])
            try await harness.ingest.upkeep.round(now: .now)
            let rolled = try await harness.ingest.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM roll_ups") }
            #expect(rolled == 1)
            for granularity in ["raw", "minute"] {
                let read = try await harness.request(
                    "GET", "/ingest/v1/entries?type=heart-rate&granularity=\(granularity)", token: device.token)
                #expect(read.status == 200 && read.text.contains("\"damaged\""), "a day with a damaged chunk is not summed up without it")
            }
        }
    }

    @Test("ING-17: coverage and the longest gap of a series")
    func coverage() async throws {
        try await IngestHarness.run { harness in
            let device = try await harness.addDevice(intervalMs: 1000)
            let samples = (0..<3600).filter { !(1000..<1600).contains($0) }.map { Sample.pulse(Self.start + Int64($0) * 1000, 60) }
            _ = try await harness.post(samples, token: device.token)
            let query =
                "type=heart-rate&from=\(Timestamp(milliseconds: Self.start).rfc3339)&to=\(Timestamp(milliseconds: Self.start + 3_600_000).rfc3339)"
            let answer: CoverageAnswer = try await harness.request("GET", "/ingest/v1/coverage?\(query)", token: device.token).decoded()
            #expect(answer.longestGap?.seconds == 599.5)
            #expect(answer.longestGap?.from == Timestamp(milliseconds: Self.start + 1_000_500).rfc3339)
            #expect(abs(answer.share - (1 - 599.5 / 3600)) < 1e-12)
            #expect(try await harness.request("GET", "/ingest/v1/coverage?type=heart-rate", token: device.token).status == 400)
        }
    }

    @Test("ING-13: nobody reads what is another's, and questions that make no sense are 400")
    func questions() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let stranger = try await harness.addDevice()
            _ = try await harness.post([.pulse(1000, 60)], token: device.token)
            #expect(try await harness.samples(.heartRate, token: stranger.token).isEmpty)
            for query in [
                "", "type=mood", "type=heart-rate&from=yesterday", "type=heart-rate&limit=1001", "type=heart-rate&granularity=week",
                "type=position&granularity=hour", "type=heart-rate&after=x",
                "type=heart-rate&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
            ] {
                #expect(try await harness.request("GET", "/ingest/v1/entries?\(query)", token: device.token).status == 400, "\(query)")
            }
            #expect(try await harness.request("GET", "/ingest/v1/entries?type=heart-rate", token: nil).status == 401)
            let metrics = try await harness.request("GET", "/ingest/v1/metrics", token: nil)
            #expect(try metrics.decoded(as: Page<MetricItem>.self).items.map(\.code) == Metric.all.map(\.code))
            #expect(try await harness.request("GET", "/ingest/openapi.json", token: nil).status == 200)
        }
    }

    @Test("NFR-11: no value, place, name or token can be found in any file")
    func secrecy() async throws {
        try await withTemporaryFolder { folder in
            let token = try await IngestHarness.run(in: folder) { harness in
                let device = try await harness.addDevice(name: "Ermenegilda's watch")
                let place = Position(latitude: 45.4642137, longitude: 9.1899821)
                var samples = [Sample(type: .heartRate, at: Timestamp(milliseconds: Self.start), value: 73.28125, position: place)]
                samples.append(Sample(type: .position, at: Timestamp(milliseconds: Self.start), value: nil, position: place))
                _ = try await harness.post(samples, token: device.token)
                let refused = "{\"type\":\"Ermenegilda\",\"at\":1,\"value\":73.28125,\"latitude\":45.4642137,\"longitude\":9.1899821}"
                let response = try await harness.post(refused, token: device.token, headers: ["Idempotency-Key": "Ermenegilda"])
                #expect(response.status == 422)
                try await harness.ingest.upkeep.round(now: .now)
                return device.token
            }
            var wanted = [Array("Ermenegilda".utf8), Array(token.utf8), Array("73.28125".utf8), Array("45.4642137".utf8)]
            for text in ["Ermenegilda", "73.28125", "45.4642137", token] {
                wanted.append(Array(Data(text.utf8).base64EncodedString().utf8.prefix(text.utf8.count / 3 * 4)))
            }
            for number in [73.28125, 45.4642137] {
                wanted.append(withUnsafeBytes(of: number.bitPattern.littleEndian, Array.init))
                wanted.append(withUnsafeBytes(of: Float(number).bitPattern.littleEndian, Array.init))
            }
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects as? [URL])
            #expect(files.contains { $0.lastPathComponent == "ingest.db" })
            for file in files {
                guard let data = FileManager.default.contents(atPath: file.path) else { continue }
                for secret in wanted { #expect(data.range(of: Data(secret)) == nil, "\(file.lastPathComponent)") }
            }
        }
    }
}
