// What is no reading of a person although it has the form of one (`docs/sos-rules.md` §1).

import Contracts

/// Ingest refuses impossible values before it stores them; supervision does not rest on that.
enum Plausibility {
    /// Whether a body or a device can show it at all: a monitor's 0 for "off or disconnected" is not among it, nor is what is no number.
    static func isPossible(_ value: Double, of metric: Metric) -> Bool {
        metric.definition.possible.contains(value)
    }

    /// Rates and pressures: a living body never holds one of them still to the last digit. Temperatures and saturations can stand
    /// still, and an electrocardiogram is judged by nobody here.
    static let neverStill: Set<Metric> = Set(
        ["heart-rate", "pulse-rate", "respiration-rate", "blood-pressure-max", "blood-pressure-min", "blood-pressure-mean"]
            .compactMap { Metric(code: $0) })

    /// Whether a source that sends this value again and again can only be stuck. Only of values that are finer than a hundredth of the
    /// last digit that people are shown: a heart that a pacemaker holds at 60 is 60 for hours, also where halves and tenths are sent.
    static func showsStillness(_ value: Double, of metric: Metric) -> Bool {
        guard neverStill.contains(metric) else { return false }
        var finest = value
        for _ in 0..<metric.definition.precision + 2 { finest *= 10 }
        return (finest - finest.rounded()).magnitude > 1e-6
    }
}

/// When a low rate may be the average of a minute of which the sensor was on for some seconds only.
enum TornAverage {
    /// What is counted over a time, so that time without a sensor makes it less.
    static let rates: Set<Metric> = Set(["heart-rate", "pulse-rate", "respiration-rate"].compactMap { Metric(code: $0) })
    /// A source that measures so seldom sends averages of what lies between.
    static let interval = Duration.seconds(30)
    /// So many vital signs came together while the sensors were on: one that comes alone then leaves out at least two.
    static let together = 3
}

/// One metric's readings that follow each other with exactly one value.
struct UnchangedRun: Hashable, Codable, Sendable {
    /// So many readings and so long a time: both.
    static let readings = 120
    static let stretch = Duration.seconds(600)

    var value: Double
    /// When the first of them was measured.
    var since: Timestamp
    var count: Int

    /// Whether the source is stuck, seen by the one that was measured at `time`.
    func isFrozen(at time: Timestamp) -> Bool {
        count >= UnchangedRun.readings && time - since >= UnchangedRun.stretch
    }
}
