// Which values are critical for one person: own bounds over personalised ones over the registry's, and the pair rule (SOS-05 to SOS-08).

import Contracts

/// What can be critical, and what can fall silent: one metric, or blood pressure as a pair.
enum Parameter: Hashable, Sendable {
    case metric(Metric)
    case bloodPressure
    /// Nothing is heard of the person at all.
    case silence
}

extension Parameter: Codable, Comparable, CustomStringConvertible {
    private static let pairName = "blood-pressure"
    private static let silenceName = "silence"

    var description: String {
        switch self {
        case .metric(let metric): metric.code
        case .bloodPressure: Parameter.pairName
        case .silence: Parameter.silenceName
        }
    }

    init?(_ text: some StringProtocol) {
        switch String(text) {
        case Parameter.pairName: self = .bloodPressure
        case Parameter.silenceName: self = .silence
        default:
            guard let metric = Metric(code: text) else { return nil }
            self = .metric(metric)
        }
    }

    static func < (one: Parameter, other: Parameter) -> Bool { one.description < other.description }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let parameter = Parameter(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "unknown parameter")
        }
        self = parameter
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// A parameter and a direction (SOS-31): what is open, answered or muted is a set of these.
struct Breach: Hashable, Sendable {
    enum Side: String, Codable, Sendable {
        case below
        case above
    }

    var parameter: Parameter
    var side: Side

    init(_ parameter: Parameter, _ side: Side) {
        (self.parameter, self.side) = (parameter, side)
    }

    /// The metrics whose values make it.
    var metrics: [Metric] {
        switch parameter {
        case .metric(let metric): [metric]
        case .bloodPressure: [.bloodPressureMax, .bloodPressureMin]
        case .silence: []
        }
    }
}

extension Breach: Codable, Comparable, CustomStringConvertible {
    var description: String { "\(parameter) \(side.rawValue)" }

    static func < (one: Breach, other: Breach) -> Bool {
        one.parameter == other.parameter ? one.side == .below && other.side == .above : one.parameter < other.parameter
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let words = try container.decode(String.self).split(separator: " ")
        guard words.count == 2, let parameter = Parameter(words[0]), let side = Side(rawValue: String(words[1])) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no breach")
        }
        self.init(parameter, side)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// How a value left its range.
struct PassedBound: Hashable, Codable, Sendable {
    var metric: Metric
    var side: Breach.Side
    var limit: Double
    var value: Double
}

/// One person's bounds in force. Comparison is strict: a value equal to its bound is in range (SOS-05).
struct Thresholds: Sendable {
    private let own: [Metric: Bounds]
    private let personal: [Metric: Bounds]
    private let rules: SupervisionRules
    /// Maximum and minimum judged together, besides their severe bounds: as long as neither has an upper bound of its own.
    let pairInForce: Bool

    /// - Parameters:
    ///   - own: what the person set; goes before everything else.
    ///   - personal: out of the person's history; goes before the defaults.
    init(own: [Metric: Bounds], personal: [Metric: Bounds] = [:], rules: SupervisionRules) {
        (self.own, self.personal, self.rules) = (own, personal, rules)
        pairInForce = rules.pressureRule == .and && own[.bloodPressureMax]?.high == nil && own[.bloodPressureMin]?.high == nil
    }

    /// Every metric with a bound in force, those of the pair included.
    var watched: Set<Metric> {
        Set([own, personal, rules.defaults].flatMap { $0.filter(\.value.saysSomething).keys })
    }

    /// Whether the metric is among `watched`; asked of every entry, so it makes no set.
    func watches(_ metric: Metric) -> Bool {
        [own[metric], personal[metric], rules.defaults[metric]].contains { $0?.saysSomething ?? false }
    }

    /// The metric's bounds that stand alone, each side for itself: the person's own, else the personalised, else the default.
    func bounds(of metric: Metric) -> Bounds {
        let usual = rules.defaults[metric]
        return Bounds(
            low: own[metric]?.low ?? personal[metric]?.low ?? usual?.low,
            high: own[metric]?.high ?? personalHigh(of: metric) ?? defaultHigh(of: metric))
    }

    /// How the value is outside the metric's bounds or its half of the pair; nil where it is in range.
    func passed(_ metric: Metric, _ value: Double) -> PassedBound? {
        let alone = bounds(of: metric)
        if let low = alone.low, value < low { return PassedBound(metric: metric, side: .below, limit: low, value: value) }
        for high in [alone.high, pairHigh(of: metric)] {
            if let high, value > high { return PassedBound(metric: metric, side: .above, limit: high, value: value) }
        }
        return nil
    }

    /// The limits that a value is held against first, its half of the pair included; nil where there is none.
    func inForce(_ metric: Metric) -> Bounds? {
        let alone = bounds(of: metric)
        let inForce = Bounds(low: alone.low, high: [alone.high, pairHigh(of: metric)].compactMap(\.self).min())
        return inForce.saysSomething ? inForce : nil
    }

    /// Every breach that is critical by one source's latest values.
    func critical(by latest: [Metric: LatestValue]) -> Set<Breach> {
        var critical: Set<Breach> = []
        for metric in latest.keys {
            critical.formUnion(self.critical(metric, by: latest))
        }
        return critical
    }

    /// The breaches that are critical by this metric's latest value; those of a pair need the other's value too.
    func critical(_ metric: Metric, by latest: [Metric: LatestValue]) -> [Breach] {
        guard let value = latest[metric]?.value else { return [] }
        var critical: [Breach] = []
        let alone = bounds(of: metric)
        if alone.low.map({ value < $0 }) ?? false { critical.append(Breach(.metric(metric), .below)) }
        if alone.high.map({ value > $0 }) ?? false { critical.append(Breach(.metric(metric), .above)) }
        if isAboveHalf(metric, value), let other = metric.otherOfPair, let partner = latest[other]?.value, isAboveHalf(other, partner) {
            critical.append(Breach(.bloodPressure, .above))
        }
        return critical
    }

    /// Whether the value is beyond the breach's severe bound (SOS-32); where the registry has none, every critical value is.
    func isSevere(_ value: Double, for breach: Breach) -> Bool {
        guard case .metric(let metric) = breach.parameter, let severe = rules.severe[metric] else { return true }
        let bounds = bounds(of: metric)
        return switch breach.side {
        case .below: severe.low.map { value < min($0, bounds.low ?? $0) } ?? true
        case .above: severe.high.map { value > max($0, bounds.high ?? $0) } ?? true
        }
    }

    /// Whether something that is critical by the former ones is not critical by these.
    func isWider(than former: Thresholds) -> Bool {
        former.pairIsNarrower(than: self)
            || former.watched.contains { metric in
                let (was, now) = (former.bounds(of: metric), bounds(of: metric))
                if let low = was.low, now.low.map({ $0 < low }) ?? true { return true }
                if let high = was.high, now.high.map({ $0 > high }) ?? true { return true }
                return false
            }
    }

    /// Whether both halves of the pair can be passed where neither `other`'s pair nor one of its bounds that stand alone is.
    private func pairIsNarrower(than other: Thresholds) -> Bool {
        let halves = [Metric.bloodPressureMax, .bloodPressureMin].compactMap { metric in pairHigh(of: metric).map { (metric, $0) } }
        guard halves.count == 2 else { return false }
        let isHeldAlone = halves.contains { metric, high in other.bounds(of: metric).high.map { $0 <= high } ?? false }
        let isHeldTogether = halves.allSatisfy { metric, high in other.pairHigh(of: metric).map { $0 <= high } ?? false }
        return !isHeldAlone && !isHeldTogether
    }

    private func isAboveHalf(_ metric: Metric, _ value: Double) -> Bool {
        pairHigh(of: metric).map { value > $0 } ?? false
    }

    /// Personalisation moves the pair's halves and leaves the pair a pair.
    private func personalHigh(of metric: Metric) -> Double? {
        pairInForce && metric.otherOfPair != nil ? nil : personal[metric]?.high
    }

    /// By itself a pressure is critical where it is severe, unless the operator lets each stand alone.
    private func defaultHigh(of metric: Metric) -> Double? {
        let usual = rules.defaults[metric]?.high
        guard metric.otherOfPair != nil, rules.pressureRule == .and else { return usual }
        return rules.severe[metric]?.high ?? usual
    }

    private func pairHigh(of metric: Metric) -> Double? {
        guard pairInForce, metric.otherOfPair != nil else { return nil }
        return personal[metric]?.high ?? rules.defaults[metric]?.high
    }
}

extension Bounds {
    var saysSomething: Bool { low != nil || high != nil }
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

    /// What falls silent with it: one act measures both pressures (SOS-34).
    var signal: Parameter { otherOfPair == nil ? .metric(self) : .bloodPressure }
}
