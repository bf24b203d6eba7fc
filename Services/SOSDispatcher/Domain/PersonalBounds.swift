// Bounds fitted to a person's own last 30 days (SOS-07, CON-27): mean ± 4 standard deviations, inside what the operator allows.

import Contracts

/// One minute of one metric, as ingest sums it up.
struct HistoryMinute: Hashable, Sendable {
    var at: Timestamp
    var least: Double
    var mean: Double
    var greatest: Double
    var count: Int
}

/// What the operator allows of bounds that nobody has looked at.
struct PersonalRules: Hashable, Sendable {
    /// No personalised bound lies beyond, whatever the person's history says.
    var safe: [Metric: Bounds] = [
        .heartRate: Bounds(low: 36, high: 144), .bloodPressureMax: Bounds(low: nil, high: 200),
        .bloodPressureMin: Bounds(low: nil, high: 120),
    ]
    /// Share of the default by which a bound may be wider (CON-27), or narrower: somebody who lay in bed for a month must not be
    /// called an ambulance for on the first stairs.
    var most = 0.2
    /// Days with data below which the defaults stay (MYD-09).
    var leastDays = 10

    static let days = 30
    static let deviations = 4.0
    /// Minutes of data below which nothing is fitted, however many days they are from.
    static let leastMinutes = 60
}

/// The mean and the spread of many values, out of their minutes.
///
/// Variance is that of the minutes' means about the whole mean plus what is within the minutes (law of total variance). The latter is
/// not known exactly; (greatest − mean)(mean − least) is its upper bound (Bhatia and Davis, 2000), so that the spread is never taken for
/// smaller than it was, and bounds are never narrower than the rule says.
struct Spread: Hashable, Sendable {
    let mean: Double
    let deviation: Double
    let minutes: Int
    /// UTC days that have data.
    let days: Int

    /// nil where there is nothing.
    init?(_ history: some Sequence<HistoryMinute>) {
        var (weight, mean, between, within, minutes) = (0.0, 0.0, 0.0, 0.0, 0)
        var days: Set<Int64> = []
        for minute in history where minute.count > 0 && minute.mean.isFinite {
            // Welford's running form, weighted by the number of values: sums of squares would lose what matters.
            let count = Double(minute.count)
            weight += count
            let distance = minute.mean - mean
            mean += distance * count / weight
            between += count * distance * (minute.mean - mean)
            within += count * max(0, (minute.greatest - minute.mean) * (minute.mean - minute.least))
            minutes += 1
            days.insert(minute.at.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient)
        }
        guard weight > 0 else { return nil }
        (self.mean, deviation, self.minutes, self.days) = (mean, ((between + within) / weight).squareRoot(), minutes, days.count)
    }
}

/// What a person's history says about bounds. Personal.
struct PersonalFit: Hashable, Codable, Sendable {
    /// Metrics with enough history alone; a side without a default has none.
    var bounds: [Metric: Bounds] = [:]
    /// Days with data, of the metric that has most.
    var days = 0
    var at: Timestamp

    var isEnough: Bool { !bounds.isEmpty }

    /// Metrics that have a default are fitted; others stay off until set by person or operator (CON-27).
    /// - Parameter defaults: of the operator, by metric.
    init(_ history: [Metric: [HistoryMinute]], defaults: [Metric: Bounds], rules: PersonalRules, at: Timestamp) {
        self.at = at
        for (metric, usual) in defaults {
            guard let minutes = history[metric], let spread = Spread(minutes) else { continue }
            days = max(days, spread.days)
            guard spread.days >= rules.leastDays, spread.minutes >= PersonalRules.leastMinutes else { continue }
            bounds[metric] = PersonalFit.bounds(of: metric, spread, usual: usual, rules)
        }
    }

    private static func bounds(of metric: Metric, _ spread: Spread, usual: Bounds, _ rules: PersonalRules) -> Bounds {
        let reach = PersonalRules.deviations * spread.deviation
        let safe = rules.safe[metric] ?? Bounds(low: nil, high: nil)
        let possible = metric.definition.possible
        let low = usual.low.map { low in
            max(clamped(spread.mean - reach, to: low * (1 - rules.most)...low * (1 + rules.most)), safe.low ?? possible.lowerBound)
        }
        let high = usual.high.map { high in
            min(clamped(spread.mean + reach, to: high * (1 - rules.most)...high * (1 + rules.most)), safe.high ?? possible.upperBound)
        }
        // As people read it, and rounded towards the default's side of the range rather than away from it.
        return Bounds(low: low.map { $0.rounded(.up) }, high: high.map { $0.rounded(.down) })
    }

    private static func clamped(_ value: Double, to range: ClosedRange<Double>) -> Double {
        min(max(value, range.lowerBound), range.upperBound)
    }
}
