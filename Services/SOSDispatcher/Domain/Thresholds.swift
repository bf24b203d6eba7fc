// Which values are critical for one person: own bounds over defaults, and the pair rule of blood pressure (SOS-05 to SOS-08).

import Contracts

/// What can be critical by itself: one metric against its own bounds, or blood pressure as a pair.
enum Parameter: Hashable, Sendable {
    case metric(Metric)
    case bloodPressure
}

extension Parameter: Codable, CustomStringConvertible {
    private static let pairName = "blood-pressure"

    var description: String {
        switch self {
        case .metric(let metric): metric.code
        case .bloodPressure: Parameter.pairName
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = try container.decode(String.self) == Parameter.pairName ? .bloodPressure : .metric(container.decode(Metric.self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// How a value left its range.
struct Breach: Hashable, Codable, Sendable {
    enum Side: String, Codable, Sendable {
        case below
        case above
    }

    var metric: Metric
    var side: Side
    var limit: Double
    var value: Double
}

/// One person's bounds in force. Comparison is strict: a value equal to its bound is in range (SOS-05).
struct Thresholds: Sendable {
    private let own: [Metric: Bounds]
    private let rules: SupervisionRules

    init(own: [Metric: Bounds], rules: SupervisionRules) {
        (self.own, self.rules) = (own, rules)
    }

    /// Every metric with a bound in force, those of the pair included.
    var watched: Set<Metric> {
        var watched = Set(own.filter { $0.value.low != nil || $0.value.high != nil }.keys)
        watched.formUnion([.heartRate])
        if pairInForce || rules.pressureRule == .or { watched.formUnion([.bloodPressureMax, .bloodPressureMin]) }
        return watched
    }

    /// Maximum and minimum judged together, by the defaults: as long as neither has an upper bound of its own.
    var pairInForce: Bool {
        rules.pressureRule == .and && own[.bloodPressureMax]?.high == nil && own[.bloodPressureMin]?.high == nil
    }

    /// The metric's bounds that stand alone; a side without own bound keeps its default.
    func bounds(of metric: Metric) -> Bounds {
        Bounds(
            low: own[metric]?.low ?? (metric == .heartRate ? rules.heartRateLow : nil),
            high: own[metric]?.high ?? defaultHigh(of: metric))
    }

    /// How the value is outside the metric's bounds or its half of the pair; nil where it is in range.
    func breach(of metric: Metric, value: Double) -> Breach? {
        let alone = bounds(of: metric)
        if let low = alone.low, value < low { return Breach(metric: metric, side: .below, limit: low, value: value) }
        if let high = alone.high ?? pairHigh(of: metric), value > high {
            return Breach(metric: metric, side: .above, limit: high, value: value)
        }
        return nil
    }

    /// Every parameter that is critical by these latest values.
    func critical(by latest: [Metric: LatestValue]) -> Set<Parameter> {
        var critical: Set<Parameter> = []
        for metric in latest.keys {
            critical.formUnion(self.critical(metric, by: latest))
        }
        return critical
    }

    /// The parameters that are critical by this metric's latest value; those of a pair need the other's value too.
    func critical(_ metric: Metric, by latest: [Metric: LatestValue]) -> Set<Parameter> {
        guard let value = latest[metric]?.value else { return [] }
        var critical: Set<Parameter> = []
        let alone = bounds(of: metric)
        if alone.low.map({ value < $0 }) ?? false || alone.high.map({ value > $0 }) ?? false { critical.insert(.metric(metric)) }
        if isAboveHalf(metric, value), let other = metric.otherOfPair, let partner = latest[other]?.value, isAboveHalf(other, partner) {
            critical.insert(.bloodPressure)
        }
        return critical
    }

    private func isAboveHalf(_ metric: Metric, _ value: Double) -> Bool {
        pairHigh(of: metric).map { value > $0 } ?? false
    }

    private func defaultHigh(of metric: Metric) -> Double? {
        switch metric {
        case .heartRate: rules.heartRateHigh
        case .bloodPressureMax where rules.pressureRule == .or: rules.pressureMaxHigh
        case .bloodPressureMin where rules.pressureRule == .or: rules.pressureMinHigh
        default: nil
        }
    }

    private func pairHigh(of metric: Metric) -> Double? {
        guard pairInForce else { return nil }
        return switch metric {
        case .bloodPressureMax: rules.pressureMaxHigh
        case .bloodPressureMin: rules.pressureMinHigh
        default: nil
        }
    }
}

extension Metric {
    /// The other value of a blood pressure.
    fileprivate var otherOfPair: Metric? {
        switch self {
        case .bloodPressureMax: .bloodPressureMin
        case .bloodPressureMin: .bloodPressureMax
        default: nil
        }
    }
}

/// The newest value of one metric that supervision goes by, and when it was measured (never later than it was received).
struct LatestValue: Hashable, Codable, Sendable {
    var value: Double
    var at: Timestamp
    /// The last time at which it still says something about the person.
    var holdsUntil: Timestamp
}
