// How long uploads took, kept in few bytes for any number of them.

import Contracts

/// Counts in buckets that grow by an eighth, so that a percentile is at most 12.5 % too high. Bounded: 0.1 ms to some 1000 s.
struct LatencyHistogram: Hashable, Sendable {
    private static let first = 0.1
    private static let growth = 1.125
    private static let bounds: [Double] = (0..<140).reduce(into: []) { bounds, _ in bounds.append((bounds.last ?? first / growth) * growth)
    }

    private var counts = [Int](repeating: 0, count: LatencyHistogram.bounds.count + 1)
    private(set) var count = 0
    /// Milliseconds.
    private(set) var longest = 0.0

    mutating func add(_ duration: Duration) {
        let milliseconds = Double(duration.components.seconds) * 1000 + Double(duration.components.attoseconds) / 1e15
        let bucket = LatencyHistogram.bounds.firstIndex { milliseconds <= $0 } ?? LatencyHistogram.bounds.count
        counts[bucket] += 1
        count += 1
        longest = max(longest, milliseconds)
    }

    /// In milliseconds; 0 where nothing was counted. `share` is 0.5 for the median.
    func percentile(_ share: Double) -> Double {
        guard count > 0 else { return 0 }
        let wanted = max(1, Int((share * Double(count)).rounded(.up)))
        var seen = 0
        for (bucket, number) in counts.enumerated() {
            seen += number
            if seen >= wanted { return bucket < LatencyHistogram.bounds.count ? min(longest, LatencyHistogram.bounds[bucket]) : longest }
        }
        return longest
    }
}
