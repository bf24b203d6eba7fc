// The health status (MYD-08): whether the newest values are in range, with the values and bounds behind the answer.

import Contracts

/// What follows from the newest value of one metric.
struct HealthParameter: Hashable, Sendable {
    enum State: String, Sendable {
        case inRange = "in-range"
        case below
        case above
        /// Above its bound, but of a pair that is only critical together (SOS-05).
        case aboveAlone = "above-alone"
        /// Older than what "now" means.
        case old
        /// Nobody has set a bound for it.
        case unbounded
    }

    let metric: Metric
    let value: Double
    let at: Timestamp
    let bounds: Bounds?
    let state: State
}

/// Judges a person's newest values by the registry's bounds.
struct HealthStatus: Hashable, Sendable {
    enum Verdict: String, CaseIterable, Sendable {
        case allInRange = "all-in-range"
        case outOfRange = "out-of-range"
        case noRecentData = "no-recent-data"
    }

    let verdict: Verdict
    /// By the metric's number.
    let parameters: [HealthParameter]

    /// - Parameters:
    ///   - newest: at most one sample a metric; those without a value do not count.
    ///   - recent: how old a value may be to count for now.
    init(newest: [Sample], now: Timestamp, recent: Duration) {
        let values = Dictionary(newest.compactMap { sample in sample.value.map { (sample.type, ($0, sample.at)) } }) { first, _ in first }
        func isRecent(_ metric: Metric) -> Bool { values[metric].map { now - $0.1 <= recent } ?? false }
        func isAbove(_ metric: Metric) -> Bool {
            guard let high = metric.definition.bounds?.high, let value = values[metric]?.0, isRecent(metric) else { return false }
            return value > high
        }
        let pairIsCritical = isAbove(.bloodPressureMax) && isAbove(.bloodPressureMin)
        parameters = values.keys.filter { $0.definition.shape == .scalar }.sorted { $0.number < $1.number }.compactMap { metric in
            guard let (value, at) = values[metric] else { return nil }
            let bounds = metric.definition.bounds
            let state: HealthParameter.State =
                if !isRecent(metric) {
                    .old
                } else if let bounds {
                    Self.state(value, bounds, isOfPair: metric.isOfPressurePair, pairIsCritical: pairIsCritical)
                } else {
                    .unbounded
                }
            return HealthParameter(metric: metric, value: value, at: at, bounds: bounds, state: state)
        }
        let judged = parameters.filter { [.inRange, .below, .above, .aboveAlone].contains($0.state) }
        if judged.isEmpty {
            verdict = .noRecentData
        } else {
            verdict = judged.contains { $0.state == .below || $0.state == .above } ? .outOfRange : .allInRange
        }
    }

    private static func state(_ value: Double, _ bounds: Bounds, isOfPair: Bool, pairIsCritical: Bool) -> HealthParameter.State {
        if let low = bounds.low, value < low { return .below }
        guard let high = bounds.high, value > high else { return .inRange }
        return isOfPair && !pairIsCritical ? .aboveAlone : .above
    }
}

extension Metric {
    /// Maximum and minimum of a blood pressure are critical together (SOS-05).
    fileprivate var isOfPressurePair: Bool {
        self == .bloodPressureMax || self == .bloodPressureMin
    }
}
