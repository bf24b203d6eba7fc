// Roll-ups and coverage against the plain sum over all entries.

import Contracts
import TestKit
import Testing

@testable import Ingest

@Suite struct AggregateTests {
    private static func samples(_ seed: UInt64) -> [Sample] {
        var generator = SeededGenerator(seed: seed)
        return (0..<2000).map { _ in
            Sample(
                type: .heartRate, at: Timestamp(milliseconds: Int64.random(in: -200_000_000...200_000_000, using: &generator)),
                value: Double(Int.random(in: 400...1800, using: &generator)) / 8)
        }
    }

    @Test("Minutes merged to hours and days equal the sums over all entries", arguments: 1...5 as ClosedRange<UInt64>)
    func merging(_ seed: UInt64) throws {
        let samples = Self.samples(seed)
        var minutes = RollUp(width: 60_000)
        minutes.add(samples.prefix(700))
        var later = RollUp(width: 60_000)
        later.add(samples.dropFirst(700))
        minutes.add(later)
        for granularity in [Granularity.minute, .hour, .day] {
            let width = granularity.width ?? 0
            var merged = RollUp(width: width)
            merged.add(minutes)
            let plain = Dictionary(grouping: samples) { Int64((Double($0.at.milliseconds) / Double(width)).rounded(.down)) * width }
            #expect(merged.stretches.count == plain.count)
            for (start, aggregate) in merged.sorted {
                let values = (plain[start] ?? []).compactMap(\.value)
                // Eighths add up without rounding, so that the order of adding does not matter here.
                #expect(
                    aggregate
                        == Aggregate(least: values.min() ?? 0, greatest: values.max() ?? 0, sum: values.reduce(0, +), count: values.count))
            }
        }
        let bytes = RollUpCodec.encode(minutes)
        var read = RollUp(width: 60_000)
        try bytes.withUnsafeBytes { try RollUpCodec.decode($0) { read.add($1, from: $0) } }
        #expect(read == minutes)
    }

    @Test("ING-17: the share covered and the longest gap", arguments: 1...20 as ClosedRange<UInt64>)
    func coverage(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let period: Range<Int64> = 100..<1100
        let times = (0..<Int.random(in: 0...40, using: &generator)).map { _ in Int64.random(in: 0...1200, using: &generator) }
        let reach = Int64.random(in: 1...60, using: &generator)
        let coverage = Coverage(of: period, covered: Coverage.stretches(of: times, reach: reach))
        let covered = period.map { instant in times.contains { $0 <= instant && instant < $0 + reach } }
        #expect(coverage.share == Double(covered.count { $0 }) / 1000)
        let longest = covered.split(separator: true).map(\.count).max() ?? 0
        #expect(coverage.longestGap.count == longest)
        #expect(coverage.longestGap.allSatisfy { !covered[Int($0) - 100] })
    }

    @Test("ING-17: a second's jitter is no gap, a missing entry is")
    func tolerance() {
        let times: [Int64] = [0, 1010, 1990, 3000, 5000]
        let coverage = Coverage(of: 0..<6000, covered: Coverage.stretches(of: times, reach: Coverage.reach(intervalMs: 1000)))
        #expect(coverage.longestGap == 4500..<5000)
        #expect(Coverage(of: 0..<10, covered: []).longestGap == 0..<10)
    }
}
