// The law of the noise: against the exact probabilities, computed here in floating point.

import Foundation
import TestKit
import Testing

@testable import Anonymiser

/// Statistics of tests. Seeds are fixed; the chance of a false alarm was 1e-6 before they were.
enum Chance {
    /// The value that chi-square with so many degrees of freedom exceeds with probability 1e-6 (Wilson and Hilferty).
    static func critical(_ degrees: Int) -> Double {
        let (k, z) = (Double(degrees), 4.753_424)
        return k * pow(1 - 2 / (9 * k) + z * (2 / (9 * k)).squareRoot(), 3)
    }

    /// Chi-square of draws against weights by value, tails joined until each cell expects at least 5.
    static func chiSquare(_ draws: [Int], _ weight: (Int) -> Double, within bound: Int) -> (value: Double, degrees: Int) {
        let total = (-bound...bound).reduce(0) { $0 + weight($1) }
        var counts: [Int: Int] = [:]
        for draw in draws { counts[min(max(draw, -bound), bound), default: 0] += 1 }
        var (value, cells, observed, expected) = (0.0, 0, 0.0, 0.0)
        for number in -bound...bound {
            observed += Double(counts[number, default: 0])
            expected += weight(number) / total * Double(draws.count)
            if expected >= 5, number < bound {
                value += (observed - expected) * (observed - expected) / expected
                (cells, observed, expected) = (cells + 1, 0, 0)
            }
        }
        value += (observed - expected) * (observed - expected) / max(expected, 1)
        return (value, cells)
    }

    /// Lag-1 correlation.
    static func correlation(_ draws: [Int]) -> Double {
        let mean = Double(draws.reduce(0, +)) / Double(draws.count)
        let centred = draws.map { Double($0) - mean }
        let variance = centred.reduce(0) { $0 + $1 * $1 }
        return zip(centred, centred.dropFirst()).reduce(0) { $0 + $1.0 * $1.1 } / variance
    }

    /// Upper tail of the normal distribution.
    static func tail(_ z: Double) -> Double { 0.5 * erfc(z / 2.0.squareRoot()) }
}

@Suite("ExactChance")
struct ExactChanceTests {
    private static let draws = 60_000

    @Test(
        "60,000 discrete Gaussians follow the exact law at σ² = 1, 60, 480 and 1440, one after the other without memory",
        arguments: [
            1, 60, 480, 1440,
        ])
    func gaussian(variance: Int) {
        let seed = 0x6A55 &+ UInt64(variance)
        var generator = SeededGenerator(seed: seed)
        let draws = (0..<Self.draws).map { _ in generator.discreteGaussian(variance: variance) }
        let bound = 12 * (variance.wholeSquareRoot + 1)
        let (value, degrees) = Chance.chiSquare(draws, { exp(-Double($0 * $0) / (2 * Double(variance))) }, within: bound)
        let correlation = Chance.correlation(draws)

        #expect(value < Chance.critical(degrees), "seed \(seed)")
        #expect(abs(correlation) < 0.02, "seed \(seed)")
    }

    @Test("a law that is wrong by a tenth of σ, or by a twentieth of a step, is found")
    func bites() {
        var generator = SeededGenerator(seed: 0xB17E)
        let draws = (0..<Self.draws).map { _ in generator.discreteGaussian(variance: 60) }
        for (variance, shift) in [(60 * 0.81, 0.0), (60, 0.5)] {
            let (value, degrees) = Chance.chiSquare(
                draws, { exp(-(Double($0) - shift) * (Double($0) - shift) / (2 * variance)) }, within: 100)
            #expect(value > Chance.critical(degrees))
        }
    }

    @Test("discrete Laplaces and Bernoulli draws follow their laws")
    func parts() {
        var generator = SeededGenerator(seed: 0x1A91)
        for scale in [1, 3, 40] {
            let draws = (0..<Self.draws).map { _ in generator.discreteLaplace(scale: scale) }
            let (value, degrees) = Chance.chiSquare(draws, { exp(-Double(abs($0)) / Double(scale)) }, within: 30 * scale)
            #expect(value < Chance.critical(degrees))
        }
        for (numerator, denominator) in [(0, 1), (1, 3), (1, 1), (5, 2), (9, 2)] as [(UInt128, UInt128)] {
            let hits = (0..<Self.draws).count { _ in
                generator.bernoulliExp(minus: Fraction(numerator: numerator, denominator: denominator))
            }
            let wanted = exp(-Double(numerator) / Double(denominator))
            let deviation = (wanted * (1 - wanted) * Double(Self.draws)).squareRoot()
            #expect(abs(Double(hits) - wanted * Double(Self.draws)) <= 4.9 * deviation)
        }
        let wide = Fraction(numerator: 1 << 100, denominator: 3 << 100)
        let hits = (0..<Self.draws).count { _ in generator.bernoulli(wide) }
        #expect(abs(Double(hits) - Double(Self.draws) / 3) < 4.9 * (Double(Self.draws) * 2 / 9).squareRoot())
    }

    @Test("the largest variance that can come up is drawn")
    func large() {
        var generator = SeededGenerator(seed: 9)
        // 7 types of quarter hours with classes and histograms, in 1/64.
        let variance = 10 * 2 * 96 * 20 * 64 * 64
        let draws = (0..<2000).map { _ in generator.discreteGaussian(variance: variance) }
        let square = draws.reduce(0.0) { $0 + Double($1) * Double($1) } / 2000 / Double(variance)
        #expect(square > 0.85 && square < 1.15)
        let huge = generator.discreteGaussian(variance: (1 << 50) - 1)
        #expect(abs(huge) < 1 << 30)
    }

    @Test("whole square roots")
    func roots() {
        for number in Array(0...2000) + [1 << 50, (1 << 50) - 1, Int.max, 999_999 * 999_999, 999_999 * 999_999 - 1] {
            let root = number.wholeSquareRoot
            #expect(root * root <= number && (root + 1).multipliedReportingOverflow(by: root + 1).partialValue > number || number == .max)
        }
        #expect(Int.max.wholeSquareRoot == 3_037_000_499)
    }
}

@Suite("StatisticsMechanism")
struct StatisticsMechanismTests {
    private static let policy = AnonymityPolicy()

    private static func mechanism(_ types: [GroupDataType], _ granularity: Granularity) -> StatisticsMechanism {
        StatisticsMechanism(
            types: types, granularity: granularity, bucketsPerDay: StatisticsMechanism.bucketsPerDay(granularity), hasClasses: false, policy
        )
    }

    @Test(
        "σ and τ are those worked out by hand",
        arguments: [
            ([GroupDataType.heartRate, .glucose, .steps], Granularity.day, 60, 98, 99),
            ([.heartRate], .hour, 480, 186, 186), ([.heartRate, .glucose, .steps], .hour, 1440, 285, 286),
        ] as [([GroupDataType], Granularity, Int, Int, Int)])
    func table(types: [GroupDataType], granularity: Granularity, variance: Int, least: Int, most: Int) {
        let mechanism = Self.mechanism(types, granularity)
        #expect(mechanism.variance == variance && (least...most).contains(mechanism.threshold), "\(mechanism.threshold)")
    }

    @Test("blood pressure has a count and two sums, classes double, histograms add bins")
    func touched() {
        #expect(Self.mechanism([.bloodPressure], .week).touched == 3)
        func touched(_ granularity: Granularity, classes: Bool, histograms: Bool) -> Int {
            StatisticsMechanism(
                types: [.heartRate], granularity: granularity, bucketsPerDay: 1, hasClasses: classes, hasHistograms: histograms, Self.policy
            ).touched
        }
        #expect(touched(.day, classes: true, histograms: false) == 4)
        #expect(touched(.day, classes: false, histograms: true) == 3 && touched(.week, classes: false, histograms: true) == 4)
    }

    @Test("one person adds at most 64 to a sum, whatever the value")
    func bounded() {
        for scale in GroupDataType.allCases.flatMap({ $0.scales(.hour) + $0.scales(.day) }) {
            #expect((0..<scale.codes).allSatisfy { abs(scale.scaled($0)) <= 64 })
            #expect(scale.scaled(0) == -64 && scale.scaled(scale.codes - 1) == 64)
            #expect((0..<scale.codes).allSatisfy { (0..<32).contains(scale.bin($0)) && scale.binStart(scale.bin($0)) <= scale.value($0) })
        }
    }

    @Test("counts and means come back within their errors; a cell below the threshold does not come back")
    func utility() throws {
        var generator = SeededGenerator(seed: 0x07)
        let mechanism = Self.mechanism([.heartRate], .day)
        let scales = GroupDataType.heartRate.scales(.day)
        var cell = StatisticsCell(components: 1, hasHistograms: true)
        for person in 0..<5000 { cell.add([20 + person % 60], scales) }
        var (close, total) = (0, 0)
        for _ in 0..<300 {
            let shown = try #require(mechanism.published(mechanism.noisy(cell, using: &generator), scales))
            close += abs(shown.means[0] - 79_500) <= 2 * shown.meanErrors[0] + 1 && abs(shown.count - 5000) <= 2 * shown.countError ? 1 : 0
            total += 1
            #expect(shown.quantiles[0][0] <= shown.quantiles[0][1] && shown.quantiles[0][1] <= shown.quantiles[0][2])
        }
        #expect(close * 100 >= total * 85)
        let empty = StatisticsCell(components: 1)
        for _ in 0..<300 { #expect(mechanism.published(mechanism.noisy(empty, using: &generator), scales) == nil) }
        // By histogram as person by person.
        var other = StatisticsCell(components: 1, hasHistograms: true)
        for code in 0..<60 { other.add(20 + code, people: 5000 / 60 + (code < 20 ? 1 : 0), scales[0]) }
        #expect(other == cell)
    }

    @Test("each scalar of a cell has noise of its own, of σ² and, in 1/64, of 64² σ²")
    func everyScalar() {
        let seed: UInt64 = 0x5CA1
        var generator = SeededGenerator(seed: seed)
        let mechanism = Self.mechanism([.bloodPressure], .day)
        let cell = StatisticsCell(components: 2, hasHistograms: true)
        let runs = 4000
        let drawn = (0..<runs).map { _ in
            let noisy = mechanism.noisy(cell, using: &generator)
            return [noisy.count * 64] + noisy.sums + noisy.bins.flatMap { $0.prefix(2) + $0.suffix(1) }.map { $0 * 64 }
        }
        let wanted = Double(mechanism.variance) * 4096
        for one in 0..<9 {
            for other in one..<9 {
                let covariance = drawn.reduce(0.0) { $0 + Double($1[one]) * Double($1[other]) } / Double(runs) / wanted
                #expect(one == other ? abs(covariance - 1) < 0.15 : abs(covariance) < 0.1, "seed \(seed): \(one), \(other)")
            }
        }
    }

    @Test("every public class has a cell, and its labels")
    func classes() {
        let classes = StatisticsClasses([.age, .sex, .residence], Samples.places)
        #expect(classes.count == 4 * 4 * 6)
        let labels = (0..<classes.count).map(classes.labels)
        #expect(Set(labels).count == classes.count && labels.allSatisfy { $0.count == 3 })
        let leaf = Samples.places.leaf("C1011") ?? 0
        #expect(classes.labels(classes.cell([63, 2, leaf])) == ["60+", "male", "R10"])
        #expect(StatisticsClasses([], Samples.places).count == 1)
    }

    // MARK: Audit

    /// The largest ε that 20,000 runs on each of two neighbours prove at δ = 1e-3, with 99.9 % confidence.
    private static func provenEpsilon(variance: Int, seed: UInt64) -> Double {
        var generator = SeededGenerator(seed: seed)
        let mechanism = Self.mechanism([.heartRate], .day)
        let scales = GroupDataType.heartRate.scales(.day)
        var cells = [StatisticsCell(components: 1), StatisticsCell(components: 1)]
        for index in 0..<2 { for person in 0..<(1000 + index) { cells[index].add([person == 1000 ? 190 : 95], scales) } }
        let runs = 20_000
        // The best statistic there is: along the direction in which the neighbours differ.
        let statistics = cells.map { cell in
            (0..<runs).map { _ -> Double in
                if variance == mechanism.variance {
                    let noisy = mechanism.noisy(cell, using: &generator)
                    return Double(noisy.count) + Double(noisy.sums[0]) / 64
                }
                let count = cell.count + generator.discreteGaussian(variance: variance)
                let sum = cell.sums[0] + generator.discreteGaussian(variance: variance * 4096)
                return Double(count) + Double(sum) / 64
            }
        }
        func bound(_ hits: Int, upper: Bool) -> Double {
            // Clopper and Pearson by bisection on the binomial tail, summed in logarithms.
            var (low, high) = (0.0, 1.0)
            func likelihood(_ k: Int, _ p: Double) -> Double {
                let choices: Double = lgamma(Double(runs + 1)) - lgamma(Double(k + 1)) - lgamma(Double(runs - k + 1))
                return exp(choices + Double(k) * log(p) + Double(runs - k) * log(1 - p))
            }
            func tail(_ p: Double) -> Double {
                let below = (0..<(upper ? hits + 1 : hits)).reduce(0.0) { $0 + likelihood($1, p) }
                return upper ? below : 1 - below
            }
            for _ in 0..<40 {
                let middle = (low + high) / 2
                if upper ? tail(middle) > 0.001 : tail(middle) < 0.001 { low = middle } else { high = middle }
            }
            return upper ? high : low
        }
        let centre = Double(cells[0].count) + Double(cells[0].sums[0]) / 64
        let deviation = (2 * Double(variance)).squareRoot()
        return [1.0, 1.5, 2.0, 2.5].reduce(0) { best, step in
            let threshold = centre + step * deviation
            let more = statistics[1].count { $0 >= threshold }, fewer = statistics[0].count { $0 >= threshold }
            let proven = (bound(more, upper: false) - 1e-3) / bound(fewer, upper: true)
            return max(best, proven > 0 ? log(proven) : 0)
        }
    }

    @Test("20,000 runs on neighbours prove no more ε than the mechanism promises; half of σ is caught")
    func audit() {
        // μ = √(2ρ); δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), solved for δ = 1e-3.
        let mu = 0.1.squareRoot()
        var (low, high) = (0.0, 5.0)
        for _ in 0..<60 {
            let epsilon = (low + high) / 2
            let delta = Chance.tail(epsilon / mu - mu / 2) - exp(epsilon) * Chance.tail(epsilon / mu + mu / 2)
            if delta > 1e-3 { low = epsilon } else { high = epsilon }
        }
        let right = Self.provenEpsilon(variance: 20, seed: 0xD1), wrong = Self.provenEpsilon(variance: 5, seed: 0xD2)
        #expect(right <= high && wrong > high, "promised \(high), proven \(right); with half of σ \(wrong)")
    }
}
