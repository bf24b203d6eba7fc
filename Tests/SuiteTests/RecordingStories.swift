// Stories of what people measure and look at, as `requirements/scenarios.md` tells them.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

@Suite("Stories of measurements", .timeLimit(.minutes(5)))
struct RecordingStories {
    private struct Page<Item: Decodable>: Decodable {
        var items: [Item]
        var next: String?
    }

    private struct Stretch: Decodable {
        var from: String
        var min: Double
        var mean: Double
        var max: Double
        var count: Int
    }

    private struct Stored: Decodable {
        var type: String
        var at: String
        var value: Double?
    }

    /// Of 1 January 2025.
    private let noon = Timestamp(milliseconds: 1_735_732_800_000)
    /// These devices read what they measured long ago (X14 bounds it to a week by default).
    private let readsBack = ["TRACKME_ING_DEVICE_READ_H": "1000000"]

    @Test("SC-45, ING-05: a diabetic user sees glucose per day")
    func glucose() async throws {
        try await StorySuite.with(readsBack) { suite in
            let meter = try await suite.someone(wearing: "glucose meter")
            let glucose = try #require(Metric(code: "glucose"))
            let samples = (0..<12).map { Sample(type: glucose, at: noon + .seconds($0 * 21_600), value: 90 + Double($0)) }
            #expect(try await suite.upload(samples, from: meter).outcome.status == 200)
            let answer = try await suite.get("/ingest/v1/entries?type=glucose&granularity=day", as: meter)
            let days = try JSONDecoder().decode(Page<Stretch>.self, from: answer.json).items
            #expect(days.map(\.count) == [2, 4, 4, 2])
            #expect(days.map(\.min) == [90, 92, 96, 100])
            #expect(days.map(\.max) == [91, 95, 99, 101])
            #expect(days.map(\.mean) == [90.5, 93.5, 97.5, 100.5])
            #expect(days.first?.from == "2025-01-01T00:00:00.000Z")
        }
    }

    @Test("SC-09, ING-11, MYD-05: four months of training come back exactly, in pages, and by the hour")
    func training() async throws {
        try await StorySuite.with(readsBack) { suite in
            let watch = try await suite.someone()
            let samples = (0..<5760).map { Sample(type: .heartRate, at: noon + .seconds($0 * 1800), value: 60 + Double($0 % 100) / 4) }
            #expect(try await suite.upload(samples, from: watch).outcome.status == 200)
            var read: [Stored] = []
            var after: String?
            repeat {
                let cursor = after.map { "&after=\($0)" } ?? ""
                let answer = try await suite.get("/ingest/v1/entries?type=heart-rate&limit=1000\(cursor)", as: watch)
                let page = try JSONDecoder().decode(Page<Stored>.self, from: answer.json)
                read += page.items
                after = page.next
            } while after != nil
            #expect(read.map(\.at) == samples.map(\.at.rfc3339))
            #expect(read.map(\.value) == samples.map(\.value))
            let hours = try JSONDecoder().decode(
                Page<Stretch>.self,
                from: try await suite.get("/ingest/v1/entries?type=heart-rate&granularity=hour&limit=1000", as: watch).json)
            #expect(hours.items.count == 1000)
            #expect(hours.items.allSatisfy { $0.count == 2 })
        }
    }

    @Test("ING-04, ING-14: a batch that is sent twice is stored once, and another value for the same instant is refused by name")
    func twice() async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.someone()
            let samples = (0..<10).map { Sample(type: .heartRate, at: noon + .seconds($0), value: 70) }
            let first = try JSONDecoder().decode(UploadAnswer.self, from: Data(try await suite.upload(samples, from: watch).body))
            #expect(first == UploadAnswer(accepted: 10, duplicates: [], rejected: []))
            let again = try JSONDecoder().decode(UploadAnswer.self, from: Data(try await suite.upload(samples, from: watch).body))
            #expect(again == UploadAnswer(accepted: 0, duplicates: Array(0..<10), rejected: []))
            let other = [Sample(type: .heartRate, at: noon, value: 71), Sample(type: .heartRate, at: noon + .seconds(20), value: 71)]
            let answer = try JSONDecoder().decode(UploadAnswer.self, from: Data(try await suite.upload(other, from: watch).body))
            #expect(answer.accepted == 1)
            #expect(answer.rejected.map(\.index) == [0])
            #expect(answer.rejected.map(\.type) == ["urn:trackme:problem:conflicting-value"])
        }
    }

    @Test("ING-08: one impossible entry is refused by its place in the batch, and the rest is kept")
    func impossible() async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.someone()
            let samples = [
                Sample(type: .heartRate, at: noon, value: 70), Sample(type: .heartRate, at: noon + .seconds(1), value: 0),
                Sample(type: .heartRate, at: .now + .seconds(7200), value: 70),
            ]
            let answer = try JSONDecoder().decode(UploadAnswer.self, from: Data(try await suite.upload(samples, from: watch).body))
            #expect(answer.accepted == 1)
            #expect(answer.rejected.map(\.index) == [1, 2])
            #expect(answer.rejected.map(\.type) == ["urn:trackme:problem:impossible-value", "urn:trackme:problem:future-time"])
        }
    }

    @Test("SC-26, ING-10, ING-13, ING-20: a revoked watch delivers nothing more, and nobody reads another person's entries")
    func revoked() async throws {
        try await StorySuite.with(readsBack) { suite in
            let old = try await suite.someone()
            let stranger = try await suite.someone()
            #expect(try await suite.upload([Sample(type: .heartRate, at: noon, value: 70)], from: old).outcome.status == 200)
            let new = try await suite.ask(AddDevice(person: old.person, name: "new watch", intervalMs: nil))
            _ = try await suite.ask(RevokeDevice(device: old.device))
            #expect(try await suite.upload([Sample(type: .heartRate, at: noon + .seconds(1), value: 70)], from: old).outcome.status == 401)
            #expect(try await suite.upload([Sample(type: .heartRate, at: noon + .seconds(2), value: 70)], from: new).outcome.status == 200)
            let own = try JSONDecoder().decode(
                Page<Stored>.self, from: try await suite.get("/ingest/v1/entries?type=heart-rate", as: new).json)
            #expect(own.items.map(\.at) == [(noon + .seconds(2)).rfc3339], "a device reads what it measured itself")
            let others = try JSONDecoder().decode(
                Page<Stored>.self, from: try await suite.get("/ingest/v1/entries?type=heart-rate", as: stranger).json)
            #expect(others.items.isEmpty)
            #expect(try await suite.get("/ingest/v1/entries?type=heart-rate", as: old).status == 401)
        }
    }

    @Test("ING-17: the longest gap of a series is named")
    func coverage() async throws {
        try await StorySuite.with(readsBack) { suite in
            let watch = try await suite.someone()
            let samples = (0..<60).map { Sample(type: .heartRate, at: noon + .seconds($0 < 30 ? $0 : $0 + 600), value: 70) }
            #expect(try await suite.upload(samples, from: watch).outcome.status == 200)
            let period = "from=\(noon.rfc3339)&to=\((noon + .seconds(660)).rfc3339)"
            let answer = try await suite.get("/ingest/v1/coverage?type=heart-rate&\(period)", as: watch)
            struct Coverage: Decodable {
                struct Gap: Decodable {
                    var seconds: Double
                }
                var share: Double
                var longestGap: Gap?
            }
            let coverage = try JSONDecoder().decode(Coverage.self, from: answer.json)
            #expect(coverage.share > 0 && coverage.share < 0.2)
            #expect((595...601).contains(coverage.longestGap?.seconds ?? 0))
        }
    }
}
