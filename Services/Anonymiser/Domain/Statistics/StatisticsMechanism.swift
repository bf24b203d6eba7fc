// Differential privacy of the aggregate product: what one person-day can change, and the noise that hides it.

/// How a release's noise is made: one σ for all of its scalars.
struct StatisticsMechanism: Hashable, Sendable {
    /// Sums are kept in units of 1/64 of a scaled value, and so is their noise.
    static let fixedPoint = 64

    /// S: how many scalars one person-day touches, by at most 1 each.
    let touched: Int
    /// σ² of a count.
    let variance: Int
    let policy: AnonymityPolicy

    /// - Parameters:
    ///   - types: none of them positions.
    ///   - bucketsPerDay: 1 for days and coarser buckets. For a subscription all windows of the day, so that together they cost one
    ///     release.  - hasClasses: whether totals and the cells of classes are both released.  - hasHistograms: whether bins are, too: a
    ///     day moves a person out of one bin and, in buckets of several days, into another.
    init(
        types: [GroupDataType], granularity: Granularity, bucketsPerDay: Int, hasClasses: Bool, hasHistograms: Bool = false,
        _ policy: AnonymityPolicy
    ) {
        let bins = hasHistograms ? (granularity > .day ? 2 : 1) : 0
        // A count, a sum for each component, and bins for each component.
        let perBucket = types.reduce(0) { $0 + 1 + $1.scales(granularity).count * (1 + bins) }
        touched = perBucket * max(1, bucketsPerDay) * (hasClasses ? 2 : 1)
        // S / (2ρ), whole because 1/(2ρ) is.
        variance = touched * (500_000 / policy.releaseMicroRho)
        self.policy = policy
    }

    /// How many buckets of a granularity one day has, as `bucketsPerDay` wants it.
    static func bucketsPerDay(_ granularity: Granularity) -> Int {
        granularity.length.map { max(1, TimeSpan.perDay / $0) } ?? 1
    }

    /// τ: a cell is published if its noisy count reaches it. 50 + 6.2 σ, rounded up.
    var threshold: Int {
        // (6.2 σ)² = 38.44 σ².
        let square = (3844 * variance + 99) / 100
        let root = square.wholeSquareRoot
        return policy.fewestPerClass + (root * root < square ? root + 1 : root)
    }
}

/// The exact content of one cell, never to be released or stored. Personal.
struct StatisticsCell: Hashable, Sendable {
    private(set) var count = 0
    /// By component: Σ (x − middle) / half-range, in 1/64; each person adds at most 64.
    private(set) var sums: [Int]
    /// By component, by public bin; empty where none are wanted.
    private(set) var bins: [[Int]]

    /// Bins of a component's histogram.
    static let binCount = 32

    init(components: Int, hasHistograms: Bool = false) {
        sums = [Int](repeating: 0, count: components)
        bins = hasHistograms ? [[Int]](repeating: [Int](repeating: 0, count: Self.binCount), count: components) : []
    }

    /// One person's value. - Parameter codes: one for each component.
    mutating func add(_ codes: [Int], _ scales: [ValueScale]) {
        count += 1
        for component in sums.indices {
            sums[component] += scales[component].scaled(codes[component])
            if !bins.isEmpty { bins[component][scales[component].bin(codes[component])] += 1 }
        }
    }

    /// Likewise for everybody of one code, of a type with one component.
    mutating func add(_ code: Int, people: Int, _ scale: ValueScale) {
        count += people
        sums[0] += people * scale.scaled(code)
        if !bins.isEmpty { bins[0][scale.bin(code)] += people }
    }
}

extension ValueScale {
    /// (x − middle) / half-range in 1/64, rounded: −64…64.
    func scaled(_ code: Int) -> Int {
        let exact = ((value(code) - middle) * StatisticsMechanism.fixedPoint).roundedQuotient(halfRange)
        return min(max(exact, -StatisticsMechanism.fixedPoint), StatisticsMechanism.fixedPoint)
    }

    func bin(_ code: Int) -> Int {
        code * StatisticsCell.binCount / codes
    }

    /// Lower end of a bin.
    func binStart(_ bin: Int) -> Int {
        value((bin * codes + StatisticsCell.binCount - 1) / StatisticsCell.binCount)
    }
}
