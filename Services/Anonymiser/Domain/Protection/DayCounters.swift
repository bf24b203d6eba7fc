// In how many releases of statistics each person's day took part already.

/// A counter of four bits for every person, in four bitmaps: adding a cohort is a ripple of ANDs and XORs. One for each day that data are
/// of. Counts never go down, and a day is never refreshed.
struct DayCounters: Hashable, Sendable {
    /// What four bits hold; counters stay there.
    static let most = 15

    /// From the lowest bit up; all of one size.
    private(set) var slices: [Bitmap]
    /// No counter is higher: so many cohorts were added. While it is below the cap, nobody can have reached it.
    private(set) var additions: Int

    init(size: Int) {
        slices = [Bitmap](repeating: Bitmap(size: size), count: 4)
        additions = 0
    }

    /// As it was kept. - Precondition: four slices of one size.
    init(slices: [Bitmap], additions: Int) {
        precondition(slices.count == 4 && Set(slices.map(\.size)).count == 1, "four slices of one population")
        (self.slices, self.additions) = (slices, additions)
    }

    var size: Int { slices[0].size }

    mutating func grow(to size: Int) {
        for index in slices.indices { slices[index].grow(to: size) }
    }

    func count(of member: Int) -> Int {
        slices.indices.reduce(0) { $0 | (slices[$1][member] ? 1 << $1 : 0) }
    }

    /// Counts each member of a cohort once more.
    mutating func add(_ cohort: Bitmap) {
        var carry = cohort
        for index in slices.indices {
            let both = slices[index].intersection(carry)
            slices[index].formSymmetricDifference(carry)
            carry = both
        }
        // Who went over the top stays at it.
        if !carry.isEmpty {
            for index in slices.indices { slices[index].formUnion(carry) }
        }
        additions += 1
    }

    /// Who has taken part in at least `cap` releases. - Precondition: 1 to 15.
    func exhausted(cap: Int) -> Bitmap {
        precondition((1...Self.most).contains(cap), "a cap that four bits hold")
        guard additions >= cap else { return Bitmap(size: size) }
        // Compares bit by bit from the top: greater so far, or equal so far.
        var greater = Bitmap(size: size)
        var equal = Bitmap.full(size: size)
        for index in slices.indices.reversed() {
            if cap >> index & 1 == 1 {
                equal.formIntersection(slices[index])
            } else {
                greater.formUnion(equal.intersection(slices[index]))
                equal.subtract(slices[index])
            }
        }
        greater.formUnion(equal)
        return greater
    }
}
