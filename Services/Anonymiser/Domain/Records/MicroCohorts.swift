// From one class's values to entries that each describe at least ten people.

/// One entry's content. How many people are behind it is never released.
struct MicroCohort: Hashable, Sendable {
    /// In thousandths of the unit, rounded; of the first component where there are two.
    let value: Int
    /// Of the second component, where there is one.
    var second: Int?
    let people: Int

    /// By component.
    var values: [Int] { second.map { [value, $0] } ?? [value] }
}

enum MicroCohorts {
    /// Of a type with one component. Flattens both ends, cuts the sorted values into runs and takes their means; reads the histogram alone.
    /// - Parameter histogram: people by code.
    /// - Precondition: at least four times `flattened` people, and `entrySize`.
    static func make(_ histogram: UnsafeBufferPointer<UInt32>, _ scale: ValueScale, _ policy: AnonymityPolicy) -> [MicroCohort] {
        let flat = policy.flattened
        let people = histogram.reduce(0) { $0 + Int($1) }
        precondition(people >= 4 * flat && people >= policy.entrySize, "a class has people enough to be flattened")
        // Values are multiplied by `flat`, so that a mean of `flat` people is whole.
        let low = sum(histogram.indices, histogram, scale, skipping: flat, taking: flat)
        let high = sum(histogram.indices.reversed(), histogram, scale, skipping: flat, taking: flat)
        var blocks: [(value: Int, people: Int)] = []
        var (skip, left) = (flat, people - 2 * flat)
        for code in histogram.indices where histogram[code] > 0 {
            let skipped = min(skip, Int(histogram[code]))
            skip -= skipped
            let taken = min(Int(histogram[code]) - skipped, left)
            left -= taken
            if taken > 0 { blocks.append((scale.value(code) * flat, taken)) }
        }
        for end in [low, high] {
            blocks.insert((end, flat), at: blocks.firstIndex { $0.value >= end } ?? blocks.endIndex)
        }
        return cut(blocks, people: people, scale, policy)
    }

    /// Sum of the values of `taking` people after the first `skipping`, in the order of codes.
    private static func sum(
        _ codes: some Sequence<Int>, _ histogram: UnsafeBufferPointer<UInt32>, _ scale: ValueScale, skipping: Int, taking: Int
    ) -> Int {
        var (skip, take, total) = (skipping, taking, 0)
        for code in codes where take > 0 {
            let skipped = min(skip, Int(histogram[code]))
            skip -= skipped
            let taken = min(Int(histogram[code]) - skipped, take)
            take -= taken
            total += taken * scale.value(code)
        }
        return total
    }

    /// Runs of `entrySize` people in ascending order; the last takes the residual.
    private static func cut(
        _ blocks: [(value: Int, people: Int)], people: Int, _ scale: ValueScale, _ policy: AnonymityPolicy
    ) -> [MicroCohort] {
        let runs = people / policy.entrySize
        var entries: [MicroCohort] = []
        entries.reserveCapacity(runs)
        var (size, sum) = (0, 0)
        var last: (sum: Int, size: Int, value: Int)?
        func entry() -> MicroCohort {
            // Most are as the one before.
            if let last, last.sum == sum, last.size == size { return MicroCohort(value: last.value, people: size) }
            let value = scale.rounded(sum, size * policy.flattened)
            last = (sum, size, value)
            return MicroCohort(value: value, people: size)
        }
        for block in blocks {
            var left = block.people
            while left > 0 {
                let wanted = entries.count == runs - 1 ? Int.max : policy.entrySize
                let taken = min(left, wanted - size)
                size += taken
                sum += taken * block.value
                left -= taken
                if size == wanted {
                    entries.append(entry())
                    (size, sum) = (0, 0)
                }
            }
        }
        if size > 0 { entries.append(entry()) }
        return entries
    }

    /// Of a type with two components: each is flattened by its own order, then people are cut into runs by the first (and within equal
    /// firsts by the second).
    /// - Parameter pairs: codes, one for each person; in any order.
    /// - Precondition: as above.
    static func make(_ pairs: [SIMD2<UInt16>], _ scales: [ValueScale], _ policy: AnonymityPolicy) -> [MicroCohort] {
        let flat = policy.flattened
        precondition(scales.count == 2 && pairs.count >= 4 * flat && pairs.count >= policy.entrySize, "a class has people enough")
        // Codes in one number each, which is sorted fastest.
        let codes = pairs.map { UInt32($0.x) << 16 | UInt32($0.y) }.sorted()
        var firsts = codes.map { scales[0].value(Int($0 >> 16)) * flat }
        var seconds = codes.map { scales[1].value(Int($0 & 0xFFFF)) * flat }
        flatten(&firsts, lowest: Array(0..<2 * flat), highest: Array((firsts.count - 2 * flat..<firsts.count).reversed()))
        let ends = ends(of: codes.map { UInt16(truncatingIfNeeded: $0) }, scales[1].codes, 2 * flat)
        flatten(&seconds, lowest: ends.lowest, highest: ends.highest)
        // Both are far below 2^31 thousandths.
        let sorted = firsts.indices.map { firsts[$0] << 32 | seconds[$0] }.sorted()
        let runs = sorted.count / policy.entrySize
        return (0..<runs).map { run in
            let people = sorted[run * policy.entrySize..<(run == runs - 1 ? sorted.count : (run + 1) * policy.entrySize)]
            let (first, second) = people.reduce(into: (0, 0)) { sums, pair in
                sums.0 += pair >> 32
                sums.1 += pair & 0xFFFF_FFFF
            }
            return MicroCohort(
                value: scales[0].rounded(first, people.count * flat), second: scales[1].rounded(second, people.count * flat),
                people: people.count)
        }
    }

    /// Gives the first half of each end the mean of the second half.
    private static func flatten(_ values: inout [Int], lowest: [Int], highest: [Int]) {
        for end in [lowest, highest] {
            let flat = end.count / 2
            // Values are multiples of `flat` as yet: the mean of `flat` of them is whole.
            let mean = end[flat...].reduce(0) { $0 + values[$1] / flat }
            for index in end[..<flat] { values[index] = mean }
        }
    }

    /// Places of the lowest and the highest codes, from the outermost inwards; ties by the place, so that the result depends on values
    /// alone.
    private static func ends(of codes: [UInt16], _ count: Int, _ wanted: Int) -> (lowest: [Int], highest: [Int]) {
        var histogram = [Int](repeating: 0, count: count)
        for code in codes { histogram[Int(code)] += 1 }
        func bound(_ order: some Sequence<Int>) -> Int {
            var sum = 0
            return order.first {
                sum += histogram[$0]
                return sum >= wanted
            } ?? 0
        }
        let (low, high) = (bound(0..<count), bound((0..<count).reversed()))
        let lowest = codes.indices.filter { Int(codes[$0]) <= low }.sorted { (codes[$0], $0) < (codes[$1], $1) }
        let highest = codes.indices.filter { Int(codes[$0]) >= high }.sorted { (codes[$0], $0) > (codes[$1], $1) }
        return (Array(lowest.prefix(wanted)), Array(highest.prefix(wanted)))
    }

    /// One entry for a whole class: what is published where even `*` shows too few different values.
    static func single(_ entries: [MicroCohort], _ scales: [ValueScale]) -> [MicroCohort] {
        let people = entries.reduce(0) { $0 + $1.people }
        let first = entries.reduce(0) { $0 + $1.value * $1.people }
        let second = entries.reduce(0) { $0 + ($1.second ?? 0) * $1.people }
        return [
            MicroCohort(
                value: scales[0].rounded(first, people), second: scales.count > 1 ? scales[1].rounded(second, people) : nil, people: people)
        ]
    }

    /// L and α: whether a class shows enough different values, none of them for more than a share of its entries or of its people. A class
    /// of two components is judged by each.
    /// - Parameter entries: ascending by the first component.
    static func isDiverse(_ entries: [MicroCohort], _ policy: AnonymityPolicy) -> Bool {
        guard isDiverse(entries, policy, \.value) else { return false }
        guard entries.first?.second != nil else { return true }
        return isDiverse(entries.sorted { ($0.second ?? 0) < ($1.second ?? 0) }, policy) { $0.second ?? 0 }
    }

    private static func isDiverse(_ sorted: [MicroCohort], _ policy: AnonymityPolicy, _ value: (MicroCohort) -> Int) -> Bool {
        let total = sorted.reduce(0) { $0 + $1.people }
        var (distinct, entries, people) = (0, 0, 0)
        for index in sorted.indices {
            if index == 0 || value(sorted[index]) != value(sorted[index - 1]) { (distinct, entries, people) = (distinct + 1, 0, 0) }
            entries += 1
            people += sorted[index].people
            if entries * 1000 > sorted.count * policy.largestValueShare || people * 1000 > total * policy.largestValueShare { return false }
        }
        return distinct >= policy.fewestValuesPerClass
    }
}

extension ValueScale {
    /// `numerator` / `denominator`, rounded to the scale's released precision, halves up.
    func rounded(_ numerator: Int, _ denominator: Int) -> Int {
        numerator.roundedQuotient(denominator * rounding) * rounding
    }
}
