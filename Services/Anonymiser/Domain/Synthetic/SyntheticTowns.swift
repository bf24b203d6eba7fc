// Where people who are made up live, were born and work.

import Contracts

/// A municipality, as public tables know it.
struct SyntheticTown: Hashable, Sendable {
    /// As profiles name it: Belfiore's in Italy.
    let code: String
    let inhabitants: Int
    /// The square of its middle.
    let middle: GridCell
}

/// Towns that are lived in as often as they have inhabitants.
struct SyntheticTowns: Sendable {
    /// Codes of countries in which the most people were born who live in Italy and were not.
    static let abroad = ["Z129", "Z100", "Z330", "Z210", "Z138"]

    let towns: [SyntheticTown]
    /// Running sums of inhabitants.
    private let sums: [Int]

    /// Towns without inhabitants are left out; the order does not matter.
    init(_ all: some Sequence<SyntheticTown>) {
        var sums: [Int] = []
        towns = all.filter { $0.inhabitants > 0 }.sorted { $0.code < $1.code }
        for town in towns { sums.append((sums.last ?? 0) + town.inhabitants) }
        self.sums = sums
    }

    /// - Precondition: there is one.
    func drawn(_ random: inout SyntheticRandom) -> SyntheticTown {
        let wanted = random.below(sums[sums.count - 1])
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > wanted { high = middle } else { low = middle + 1 }
        }
        return towns[low]
    }
}

extension SyntheticTown {
    /// A square of the town: nearer to its middle more likely, and in larger towns farther away.
    func square(_ random: inout SyntheticRandom) -> GridCell {
        let reach = inhabitants.wholeSquareRoot / 150 + 1
        return middle.moved(random.below(reach) - random.below(reach), random.below(reach) - random.below(reach))
    }
}

extension GridCell {
    /// Stays within the bounds of the grid.
    func moved(_ columns: Int, _ rows: Int) -> GridCell {
        func bounded(_ number: Int) -> Int32 {
            Int32(min(max(number, GridCell.bounds.lowerBound), GridCell.bounds.upperBound))
        }
        return GridCell(x: bounded(Int(x) + columns), y: bounded(Int(y) + rows))
    }
}
