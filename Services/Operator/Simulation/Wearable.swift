// One simulated person with a wearable: a body whose numbers drift as bodies' numbers do, and, on request, what befalls it.

import Contracts

/// What is measured at one tick, and the metric of what was planted, at its first critical entry or its event.
struct Measurement: Hashable, Sendable {
    var samples: [Sample]
    var breach: Metric?
}

/// How a heart fails. Both pass the default bounds of table SOS-S (45 and 120 a minute) clearly.
enum HeartFailure: Hashable, Sendable {
    case racing
    case fading
}

/// What befalls a simulated person; times count from the first measurement.
enum Mishap: Hashable, Sendable {
    /// A heart that fails; `lasts` nil: to the end. So long after its beginning it nearly stops, which is worse than anything before.
    case heart(HeartFailure, after: Duration, lasts: Duration?, worseAfter: Duration? = nil)
    /// What a device reports once: a fall, or the button that calls for help.
    case event(Metric, after: Duration)
}

/// Deterministic: the same seed, number and ticks give the same samples. A healthy body never leaves the default bounds, so that
/// every dispatch in a simulation was planted.
struct Wearable: Sendable {
    /// Healthy numbers stay inside, with a margin to the default bounds of 45…120, 170/100.
    static let healthyHeart = 52.0...108.0
    /// Cuff-less blood pressure and temperature are read every so many ticks.
    static let slowTicks = 60
    static let positionTicks = 5

    let number: Int
    let mishap: Mishap?
    private var random: SeededRandom
    private let resting: Double
    private let systolicUsual: Double
    private var wander = 0.0
    private var effort = 0.0
    private var wantedEffort = 0.0
    private var heading: Double
    private var latitude: Double
    private var longitude: Double
    private var ticks = 0
    private var toldBreach = false
    /// A rate at which nobody stays conscious: a quarter below any that a failing heart had before.
    private static let nearlyStopped = 10.0
    /// Of an event, in seconds.
    private static let eventLength = 1.0

    init(number: Int, seed: UInt64, mishap: Mishap? = nil) {
        self.number = number
        self.mishap = mishap
        var random = SeededRandom(seed: seed, stream: UInt64(number) + 1)
        resting = random.between(56, 76)
        systolicUsual = random.between(108, 132)
        heading = random.between(0, 2 * Double.pi)
        // Around Milan, in a square of some 20 km.
        latitude = random.between(45.38, 45.56)
        longitude = random.between(9.06, 9.32)
        self.random = random
    }

    /// The next tick, which lies `elapsed` after the first and `interval` after the one before.
    mutating func measure(at: Timestamp, elapsed: Duration, interval: Duration) -> Measurement {
        defer { ticks += 1 }
        live(for: interval)
        let failing = failingHeart(elapsed: elapsed)
        let heart = failing ?? healthyHeart(at: at)
        var samples = [Sample(type: .heartRate, at: at, value: heart.rounded())]
        var breach: Metric? = failing.map { $0 < 45 || $0 > 120 } == true && !toldBreach ? .heartRate : nil
        if case .event(let metric, let after) = mishap, elapsed >= after, !toldBreach {
            samples.append(Sample(type: metric, at: at, value: Wearable.eventLength))
            breach = metric
        }
        if breach != nil { toldBreach = true }
        let saturation = min(100, max(91, 97.6 + 0.7 * random.normal() - (failing == nil ? 0 : 5)))
        samples.append(Sample(type: .oxygenSaturation, at: at, value: saturation.rounded()))
        if ticks % Wearable.positionTicks == 0 {
            samples.append(
                Sample(
                    type: .position, at: at, value: nil,
                    position: Position(latitude: latitude, longitude: longitude, altitude: nil, accuracy: 8)))
        }
        if ticks % Wearable.slowTicks == 0 { samples += slowSamples(at: at) }
        return Measurement(samples: samples, breach: breach)
    }

    private mutating func slowSamples(at: Timestamp) -> [Sample] {
        let systolic = min(158, max(92, systolicUsual + 14 * effort + 4 * random.normal()))
        let diastolic = min(94, max(52, systolic * 0.62 + 2 * random.normal()))
        return [
            Sample(type: .bloodPressureMax, at: at, value: systolic.rounded()),
            Sample(type: .bloodPressureMin, at: at, value: diastolic.rounded()),
            Sample(type: .bodyTemperature, at: at, value: ((36.6 + 0.4 * effort + 0.1 * random.normal()) * 10).rounded() / 10),
        ]
    }

    /// Activity changes now and then and the body follows within half a minute; the wander has a memory of some ten seconds.
    private mutating func live(for interval: Duration) {
        let seconds = min(60, Double(interval.wholeMilliseconds) / 1000)
        if random.unit() < seconds / 180 { wantedEffort = random.unit() < 0.5 ? 0 : random.between(0.2, 1) }
        effort += (wantedEffort - effort) * min(1, seconds / 30)
        wander = wander * max(0, 1 - seconds / 10) + random.normal() * min(1, (seconds / 10).squareRoot()) * 2.5
        heading += random.normal() * 0.3
        // 0.00001° of latitude is 1.1 m: from standing still to a brisk walk.
        let step = effort * 1.6 * seconds / 111_320
        latitude = min(45.60, max(45.34, latitude + step * cosine(heading)))
        longitude = min(9.36, max(9.02, longitude + step * cosine(heading - Double.pi / 2) / 0.70))
    }

    private func healthyHeart(at: Timestamp) -> Double {
        // Lowest at four in the morning UTC, by 6 beats either way over the day.
        let hours = Double(((at.milliseconds / 3_600_000) % 24 + 24) % 24)
        let circadian = -6 * cosine((hours - 4) / 24 * 2 * Double.pi)
        let rate = resting + circadian + effort * 34 + wander
        return min(Wearable.healthyHeart.upperBound, max(Wearable.healthyHeart.lowerBound, rate))
    }

    /// Nil while the heart is well. A failing one reaches its worst within four seconds.
    private mutating func failingHeart(elapsed: Duration) -> Double? {
        guard case .heart(let kind, let after, let lasts, let worseAfter) = mishap, elapsed >= after else { return nil }
        if let lasts, elapsed >= after + lasts { return nil }
        if let worseAfter, elapsed >= after + worseAfter { return Wearable.nearlyStopped + 0.3 * random.normal() }
        let depth = min(1, 0.4 + Double((elapsed - after).wholeMilliseconds) / 1000 * 0.15)
        switch kind {
        case .racing: return 110 + 75 * depth + 2 * random.normal()
        case .fading: return 52 - 28 * depth + random.normal()
        }
    }
}

/// Bhaskara's approximation, off by less than 0.002: the standard library has no cosine, and the C library's differs by machine.
private func cosine(_ angle: Double) -> Double {
    let turn = 2 * Double.pi
    var rest = angle.truncatingRemainder(dividingBy: turn)
    if rest < 0 { rest += turn }
    let folded = rest > Double.pi ? turn - rest : rest
    let fromHalf = folded > Double.pi / 2 ? Double.pi - folded : folded
    let value = (Double.pi * Double.pi - 4 * fromHalf * fromHalf) / (Double.pi * Double.pi + fromHalf * fromHalf)
    return folded > Double.pi / 2 ? -value : value
}
