// What counts: the cells behind counters, gauges and histograms.

import CoreMetrics
import Synchronization

/// Only ever grows, until it is reset.
final class CounterCell: CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    private let fraction = Mutex(0.0)

    func increment(by amount: Int64) {
        whole.wrappingAdd(max(0, amount), ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount.isFinite, amount > 0 else { return }
        fraction.withLock { $0 += amount }
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        fraction.withLock { $0 = 0 }
    }

    var value: Double {
        Double(whole.load(ordering: .relaxed)) + fraction.withLock { $0 }
    }
}

/// Goes up and down; the last value counts.
final class GaugeCell: MeterHandler, RecorderHandler {
    private let state = Mutex(0.0)

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0 = value } }
    func increment(by amount: Double) { state.withLock { $0 += amount } }
    func decrement(by amount: Double) { state.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }

    var value: Double { state.withLock { $0 } }
}

/// How often values fell into each bucket, their number and sum.
final class HistogramCell: RecorderHandler, TimerHandler {
    struct Reading: Sendable {
        /// Not cumulative; one more than there are bounds.
        var counts: [UInt64]
        var sum = 0.0
    }

    /// In seconds.
    static let timeBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    static let sizeBounds: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000]

    let bounds: [Double]
    private let state: Mutex<Reading>

    init(_ bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(Reading(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1_000_000_000)
    }

    var reading: Reading { state.withLock { $0 } }
}
