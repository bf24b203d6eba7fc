// What is published of a cell: everything here is computed from noisy numbers alone.

struct NoisyStatistics: Hashable, Sendable {
    /// May be less than it really is; never less than the threshold.
    let count: Int
    /// One standard deviation of the noise, rounded up.
    let countError: Int
    /// By component, in thousandths of the unit, within the public domain.
    let means: [Int]
    let meanErrors: [Int]
    /// By component: p10, median and p90, lower ends of bins; empty where no histogram was wanted.
    let quantiles: [[Int]]
}

/// A cell's scalars with their noise: from here on nothing is private.
struct NoisyCell: Hashable, Sendable {
    let count: Int
    /// In 1/64, as in the exact cell.
    let sums: [Int]
    let bins: [[Int]]
}

extension StatisticsMechanism {
    /// Adds noise to every scalar, whether the cell will be published or not.
    /// - Parameter generator: the system's in production.
    func noisy(_ cell: StatisticsCell, using generator: inout some RandomNumberGenerator) -> NoisyCell {
        let fine = variance * Self.fixedPoint * Self.fixedPoint
        return NoisyCell(
            count: cell.count + generator.discreteGaussian(variance: variance),
            sums: cell.sums.map { $0 + generator.discreteGaussian(variance: fine) },
            bins: cell.bins.map { $0.map { $0 + generator.discreteGaussian(variance: variance) } })
    }

    /// What a noisy cell says; nil where its noisy count does not reach the threshold.
    func published(_ cell: NoisyCell, _ scales: [ValueScale]) -> NoisyStatistics? {
        guard cell.count >= threshold else { return nil }
        let people = max(cell.count, 1)
        let deviation = ceilingRoot(variance)
        let means = scales.indices.map { component in
            let scale = scales[component]
            let mean = scale.middle + (cell.sums[component] * scale.halfRange).roundedQuotient(Self.fixedPoint * people)
            return min(max(mean, scale.least), scale.most)
        }
        let errors = scales.indices.map { component in
            // σ/n × √(half² + (mean − middle)²): the noise of the sum and that of the count.
            let (half, off) = (scales[component].halfRange, means[component] - scales[component].middle)
            return (deviation * ceilingRoot(half * half + off * off) + people - 1) / people
        }
        return NoisyStatistics(
            count: cell.count, countError: deviation, means: means, meanErrors: errors,
            quantiles: cell.bins.indices.map { quantiles(cell.bins[$0], scales[$0]) })
    }

    private func ceilingRoot(_ square: Int) -> Int {
        let root = square.wholeSquareRoot
        return root * root < square ? root + 1 : root
    }

    /// p10, median, p90 of a noisy histogram, whose negative bins count as 0.
    private func quantiles(_ bins: [Int], _ scale: ValueScale) -> [Int] {
        let counts = bins.map { max(0, $0) }
        let total = counts.reduce(0, +)
        return [10, 50, 90].map { percent in
            var sum = 0
            for bin in counts.indices {
                sum += counts[bin]
                if sum * 100 >= total * percent, sum > 0 { return scale.binStart(bin) }
            }
            return scale.least
        }
    }
}

/// The public cells of classed statistics: sex × 20-year band × region. Noise goes to every one of them, empty ones included, or their
/// absence would tell.
struct StatisticsClasses: Hashable, Sendable {
    static let ageLevel = 2
    static let residenceLevel = 2

    let hierarchies: [Hierarchy]
    /// By hierarchy.
    private let levels: [Int]

    /// - Parameter attributes: of age, sex and residence, those that were asked for.
    init(_ attributes: [PersonAttribute], _ catalogue: PlaceCatalogue) {
        let offered: [(Hierarchy, Int)] = [
            (.age, Self.ageLevel), (.sex, 0), (.residence(catalogue), Self.residenceLevel),
        ].filter { attributes.contains($0.0.attribute) }
        hierarchies = offered.map(\.0)
        levels = offered.map(\.1)
    }

    var count: Int { hierarchies.indices.reduce(1) { $0 * hierarchies[$1].classCount(levels[$1]) } }

    /// - Parameter codes: by hierarchy, the column's code.
    func cell(_ codes: [Int]) -> Int {
        hierarchies.indices.reduce(0) { cell, index in
            cell * hierarchies[index].classCount(levels[index]) + Int(hierarchies[index].levels[levels[index]][codes[index]])
        }
    }

    func labels(_ cell: Int) -> [String] {
        var (rest, labels): (Int, [String]) = (cell, [])
        for index in hierarchies.indices.reversed() {
            let (quotient, code) = rest.quotientAndRemainder(dividingBy: hierarchies[index].classCount(levels[index]))
            labels.append(hierarchies[index].label(levels[index], code))
            rest = quotient
        }
        return labels.reversed()
    }
}
