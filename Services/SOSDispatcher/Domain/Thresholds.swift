// Which values are critical for one person: own bounds over personalised ones over defaults, and the pair rule (SOS-05 to SOS-08).

import Contracts

/// What can be critical by itself: one metric against its own bounds, or blood pressure as a pair.
enum Parameter: Hashable, Sendable {
    case metric(Metric)
    case bloodPressure
    /// Nothing is heard of the person at all.
    case silence
}

extension Parameter: Codable, CustomStringConvertible {
    private static let pairName = "blood-pressure"
    private static let silenceName = "silence"

    var description: String {
        switch self {
        case .metric(let metric): metric.code
        case .bloodPressure: Parameter.pairName
        case .silence: Parameter.silenceName
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self =
            switch try container.decode(String.self) {
            case Parameter.pairName: .bloodPressure
            case Parameter.silenceName: .silence
            default: .metric(try container.decode(Metric.self))
            }
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
    private let personal: [Metric: Bounds]
    private let rules: SupervisionRules

    /// - Parameters:
    ///   - own: what the person set; goes before everything else.
    ///   - personal: out of the person's history; goes before the defaults.
    init(own: [Metric: Bounds], personal: [Metric: Bounds] = [:], rules: SupervisionRules) {
        (self.own, self.personal, self.rules) = (own, personal, rules)
    }

    /// Every metric with a bound in force, those of the pair included.
    var watched: Set<Metric> {
        var watched = Set(own.filter(\.value.saysSomething).keys).union(personal.filter(\.value.saysSomething).keys)
        watched.formUnion([.heartRate])
        if pairInForce || rules.pressureRule == .or { watched.formUnion([.bloodPressureMax, .bloodPressureMin]) }
        return watched
    }

    /// Whether the metric is among `watched`; asked of every entry, so it makes no set.
    func watches(_ metric: Metric) -> Bool {
        if metric == .heartRate || own[metric]?.saysSomething ?? false || personal[metric]?.saysSomething ?? false { return true }
        return metric.otherOfPair != nil && (pairInForce || rules.pressureRule == .or)
    }

    /// Maximum and minimum judged together, by personalised bounds or defaults: as long as neither has an upper bound of its own.
    var pairInForce: Bool {
        rules.pressureRule == .and && own[.bloodPressureMax]?.high == nil && own[.bloodPressureMin]?.high == nil
    }

    /// The metric's bounds that stand alone, each side for itself: the person's own, else the personalised, else the default.
    func bounds(of metric: Metric) -> Bounds {
        Bounds(
            low: own[metric]?.low ?? personal[metric]?.low ?? (metric == .heartRate ? rules.heartRateLow : nil),
            high: own[metric]?.high ?? personalHigh(of: metric) ?? defaultHigh(of: metric))
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

    /// Personalisation moves the pair's halves and leaves the pair a pair.
    private func personalHigh(of metric: Metric) -> Double? {
        pairInForce && metric.otherOfPair != nil ? nil : personal[metric]?.high
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
        case .bloodPressureMax: personal[metric]?.high ?? rules.pressureMaxHigh
        case .bloodPressureMin: personal[metric]?.high ?? rules.pressureMinHigh
        default: nil
        }
    }
}

extension Bounds {
    fileprivate var saysSomething: Bool { low != nil || high != nil }
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
