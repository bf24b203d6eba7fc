// Whatever is uploaded, in whatever order and however often, with restarts between: what was stored stays as it was.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Ingest

@Suite struct AppendOnlyPropertyTests {
    /// What a person's entries must be: the first value that came for each metric and time.
    private struct Model {
        var entries: [Metric: [Int64: Double]] = [:]

        /// Whether ingest should take it as new.
        mutating func take(_ sample: Sample) -> Bool {
            guard let value = sample.value, sample.at.milliseconds > 0, sample.type.definition.possible.contains(value),
                entries[sample.type]?[sample.at.milliseconds] == nil
            else { return false }
            entries[sample.type, default: [:]][sample.at.milliseconds] = value
            return true
        }

        func samples(_ metric: Metric) -> [Sample] {
            (entries[metric] ?? [:]).sorted { $0.key < $1.key }.map {
                Sample(type: metric, at: Timestamp(milliseconds: $0.key), value: $0.value)
            }
        }
    }

    private static let metrics: [Metric] = [.heartRate, .bodyTemperature]

    @Test(
        "INV-09, INV-10, INV-11, INV-12: after any sequence of uploads and restarts each person has the first value of each metric and time, and nothing else",
        arguments: [1, 2, 3] as [UInt64])
    func firstValueStays(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await withTemporaryFolder { folder in
            var models = [Model(), Model()]
            var tokens: [String] = []
            for _ in 0..<3 {
                try await IngestHarness.run(in: folder) { harness in
                    if tokens.isEmpty { for _ in models { tokens.append(try await harness.addDevice().token) } }
                    for _ in 0..<10 {
                        let one = Int(random.next() % 2)
                        let upload = (0..<Int(1 + random.next() % 12)).map { _ in Self.sample(&random) }
                        let expected = upload.reduce(0) { $0 + (models[one].take($1) ? 1 : 0) }
                        #expect(try await harness.post(upload, token: tokens[one]).accepted == expected, "seed \(seed)")
                    }
                    for (model, token) in zip(models, tokens) {
                        for metric in Self.metrics {
                            #expect(try await harness.samples(metric, token: token) == model.samples(metric), "seed \(seed)")
                        }
                    }
                }
            }
        }
    }

    /// Times are few, so that they meet; some values and times are impossible.
    private static func sample(_ random: inout SeededGenerator) -> Sample {
        let metric = metrics[Int(random.next() % 2)]
        let impossible = random.next() % 8 == 0
        let value = impossible ? 0 : (metric == .heartRate ? 60 : 36) + Double(random.next() % 3)
        let time = random.next() % 16 == 0 ? -1 : Int64(1_768_005_000_000 + random.next() % 40 * 1000)
        return Sample(type: metric, at: Timestamp(milliseconds: time), value: value)
    }
}
