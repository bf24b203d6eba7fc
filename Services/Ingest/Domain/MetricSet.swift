// A set of metrics as 256 bits, because every entry of an upload is checked against one.

import Contracts

struct MetricSet: Hashable, Sendable {
    private var low: UInt128 = 0
    private var high: UInt128 = 0

    init(_ metrics: some Sequence<Metric> = []) {
        for metric in metrics { insert(metric) }
    }

    /// Everything that is registered, and what will be: a device that named nothing may measure what comes later.
    static let everything: MetricSet = {
        var set = MetricSet()
        (set.low, set.high) = (.max, .max)
        return set
    }()

    @inline(__always)
    func contains(_ metric: Metric) -> Bool {
        let bit = UInt128(1) << UInt128(metric.number & 127)
        return (metric.number < 128 ? low : high) & bit != 0
    }

    mutating func insert(_ metric: Metric) {
        let bit = UInt128(1) << UInt128(metric.number & 127)
        if metric.number < 128 { low |= bit } else { high |= bit }
    }

    mutating func remove(_ metric: Metric) {
        subtract(MetricSet([metric]))
    }

    mutating func subtract(_ other: MetricSet) {
        (low, high) = (low & ~other.low, high & ~other.high)
    }

    mutating func formUnion(_ other: MetricSet) {
        (low, high) = (low | other.low, high | other.high)
    }

    func subtracting(_ other: MetricSet) -> MetricSet {
        var copy = self
        copy.subtract(other)
        return copy
    }

    var isEmpty: Bool { low == 0 && high == 0 }
    var isEverything: Bool { self == .everything }

    /// Those of the registry, by number.
    var metrics: [Metric] { Metric.all.filter(contains) }

    // MARK: As stores keep it

    /// 32 bytes, the lowest metric's bit first.
    var bytes: [UInt8] {
        [low, high].flatMap { word in (0..<16).map { UInt8(truncatingIfNeeded: word >> UInt128($0 * 8)) } }
    }

    /// nil unless there are 32 bytes.
    init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        low = bytes.prefix(16).reversed().reduce(0) { $0 << 8 | UInt128($1) }
        high = bytes.suffix(16).reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }
}
