// Simulated people: alike for the same seed, plausible, and critical only where it was planted.

import Contracts
import Testing

@testable import Operator

@Suite("Wearable")
struct WearableTests {
    private let start = Timestamp(milliseconds: 1_768_005_060_000)

    private func life(_ wearable: Wearable, ticks: Int, interval: Duration = .seconds(1)) -> [Measurement] {
        var wearable = wearable
        return (0..<ticks).map { tick in
            wearable.measure(at: start + interval * tick, elapsed: interval * tick, interval: interval)
        }
    }

    private func plan(people: Int = 4, failing: Int = 2, seed: UInt64 = 7) -> PopulationPlan {
        PopulationPlan(
            people: people, failing: failing, emergencyAfter: .seconds(20), spacing: .seconds(2), emergencyLasts: nil,
            interval: .seconds(1),
            seed: seed)
    }

    @Test("the same seed gives the same lives, another seed others")
    func deterministic() {
        let one = plan().wearables().map { life($0, ticks: 200) }

        #expect(one == plan().wearables().map { life($0, ticks: 200) })
        #expect(one != plan(seed: 8).wearables().map { life($0, ticks: 200) })
        #expect(one[0] != one[1])
    }

    @Test("a healthy person stays inside the default bounds for hours", arguments: 0..<20 as Range<UInt64>)
    func healthy(seed: UInt64) {
        for measurement in life(Wearable(number: 0, seed: seed), ticks: 8000) {
            #expect(measurement.breach == nil)
            for sample in measurement.samples {
                if let value = sample.value { #expect(sample.type.definition.possible.contains(value)) }
                if let position = sample.position { #expect(position.isOnEarth) }
                switch (sample.type, sample.value) {
                case (.heartRate, let value?): #expect((50...115).contains(value))
                case (.bloodPressureMax, let value?): #expect(value <= 165)
                case (.bloodPressureMin, let value?): #expect(value <= 98)
                default: break
                }
            }
        }
    }

    @Test("a failing heart has one first breach, in time, and stays critical", arguments: [HeartFailure.racing, .fading])
    func failing(kind: HeartFailure) throws {
        let measurements = life(Wearable(number: 0, seed: 3, mishap: .heart(kind, after: .seconds(20), lasts: nil)), ticks: 60)

        let breaches = measurements.indices.filter { measurements[$0].breach != nil }
        #expect(breaches.count == 1)
        let first = try #require(breaches.first)
        #expect((20...22).contains(first))
        for measurement in measurements[first...] {
            let heart = try #require(measurement.samples.first { $0.type == .heartRate }?.value)
            #expect(heart < 45 || heart > 120)
        }
    }

    @Test("a failure that passes ends inside the bounds again")
    func recovers() throws {
        let measurements = life(Wearable(number: 0, seed: 3, mishap: .heart(.racing, after: .seconds(10), lasts: .seconds(10))), ticks: 40)

        let last = try #require(measurements.last?.samples.first { $0.type == .heartRate }?.value)
        #expect((50...115).contains(last))
    }

    @Test("uploads of a population are spread over the interval, and hearts fail one after the other")
    func spread() {
        let plan = plan(people: 4, failing: 2)

        #expect((0..<4).map { plan.phase(of: $0) } == [.zero, .milliseconds(250), .milliseconds(500), .milliseconds(750)])
        let first = Mishap.heart(.racing, after: .seconds(20), lasts: nil)
        #expect(plan.wearables().map(\.mishap) == [first, .heart(.fading, after: .seconds(22), lasts: nil), nil, nil])
    }

    @Test(
        "SOS-32: a heart that gets worse falls a quarter below anything that it had before, by either failure",
        arguments: 0..<20 as Range<UInt64>)
    func worse(seed: UInt64) throws {
        for kind in [HeartFailure.racing, .fading] {
            let wearable = Wearable(number: 0, seed: seed, mishap: .heart(kind, after: .seconds(20), lasts: nil, worseAfter: .seconds(30)))
            let hearts = life(wearable, ticks: 80).compactMap { $0.samples.first { $0.type == .heartRate }?.value }
            let before = try #require(hearts[..<50].min())
            let after = try #require(hearts[50...].max())
            #expect(4 * after <= 3 * before && after > 0, "\(before), then \(after)")
        }
    }

    @Test("SOS-35, SOS-36: falls and calls for help follow the failing hearts, each once, as an event of the device")
    func events() {
        var plan = plan(people: 4, failing: 1)
        (plan.falling, plan.calling) = (1, 1)
        let planted = plan.wearables().map { life($0, ticks: 60) }.map { life in
            life.indices.filter { life[$0].breach != nil }.map { tick in (tick, life[tick].breach) }
        }
        #expect(planted.map(\.count) == [1, 1, 1, 0])
        #expect(planted.compactMap { $0.first?.1 } == [.heartRate, .fall, .help] && planted[1].first?.0 == 22 && planted[2].first?.0 == 24)
        let reported = life(plan.wearables()[1], ticks: 60).flatMap(\.samples).filter { $0.type == .fall }
        #expect(reported.count == 1)
    }
}

@Suite("LatencyHistogram")
struct LatencyHistogramTests {
    @Test("percentiles are right within an eighth")
    func percentiles() {
        var histogram = LatencyHistogram()
        for milliseconds in 1...1000 { histogram.add(.milliseconds(milliseconds)) }

        for (share, exact) in [(0.5, 500.0), (0.9, 900), (0.99, 990)] {
            let found = histogram.percentile(share)
            #expect(found >= exact && found <= exact * 1.126)
        }
        #expect(histogram.percentile(1) == 1000 && histogram.longest == 1000 && histogram.count == 1000)
        #expect(LatencyHistogram().percentile(0.5) == 0)
    }
}
