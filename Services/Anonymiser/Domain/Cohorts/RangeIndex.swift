// Bitmaps by bound: an interval of a number takes two of them and no look at the column.

/// By bound: everybody whose value is not above it. Bounds that a filter may name are multiples of a step; all values between two of them
/// are one code, so that weight takes 69 bitmaps and height 49.
struct RangeIndex: Sendable {
    private let domain: ClosedRange<Int>
    private let step: Int
    private var notAbove: [Bitmap]

    /// - Precondition: an attribute with a domain, whose ends are multiples of its step.
    init(_ attribute: PersonAttribute, size: Int) {
        guard let domain = attribute.domain else { preconditionFailure("an index is of a number") }
        (self.domain, step, notAbove) = (domain, attribute.boundStep, [])
        notAbove = [Bitmap](repeating: Bitmap(size: size), count: code(domain.upperBound) + 1)
    }

    /// Even for a bound, odd for what lies between two; with a step of 1 every value is a bound.
    private func code(_ value: Int) -> Int {
        let (quotient, rest) = (value - domain.lowerBound).quotientAndRemainder(dividingBy: step)
        return step == 1 ? quotient : 2 * quotient + (rest > 0 ? 1 : 0)
    }

    mutating func grow(to size: Int) {
        for index in notAbove.indices { notAbove[index].grow(to: size) }
    }

    /// Somebody new. - Parameter value: within the domain.
    mutating func add(_ value: Int, at row: Int) {
        for index in code(value)..<notAbove.count { notAbove[index][row] = true }
    }

    /// Only the bitmaps between the old and the new value change.
    mutating func replace(_ old: Int, with new: Int, at row: Int) {
        let (from, to) = (code(old), code(new))
        for index in min(from, to)..<max(from, to) { notAbove[index][row] = to <= index }
    }

    /// All at once. - Parameter column: within the domain.
    mutating func rebuild(_ column: [UInt8]) {
        let size = notAbove[0].size
        let codes = domain.map { code($0) }
        var exact = [[UInt64]](repeating: [UInt64](repeating: 0, count: Bitmap.wordCount(size)), count: notAbove.count)
        for (row, value) in column.enumerated() { exact[codes[Int(value) - domain.lowerBound]][row >> 6] |= 1 << UInt64(row & 63) }
        var reached = Bitmap(size: size)
        for index in notAbove.indices {
            reached.formUnion(Bitmap(size: size, words: exact[index]))
            notAbove[index] = reached
        }
    }

    /// Who lies in an interval, both ends included. - Precondition: its ends are bounds of the domain that a filter may name.
    func members(in interval: ClosedRange<Int>) -> Bitmap {
        precondition(interval.lowerBound % step == 0 && interval.upperBound % step == 0, "canonical filters have legal bounds")
        var found = notAbove[code(interval.upperBound)]
        let below = code(interval.lowerBound) - 1
        if below >= 0 { found.subtract(notAbove[below]) }
        return found
    }
}
