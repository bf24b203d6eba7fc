// Chance for people who are made up: whole numbers alone, the same for the same seed on every machine.

import Contracts

/// Useless for secrets; nothing that is released is drawn from it.
struct SyntheticRandom: RandomNumberGenerator, Hashable, Sendable {
    private var generator = SplitMix64(state: 0)

    /// Independent for every list of parts, such as seed, person and hour.
    init(_ parts: UInt64...) {
        for part in parts {
            generator.state ^= part &* 0xD1B5_4A32_D192_ED03
            generator.state = next()
        }
    }

    mutating func next() -> UInt64 {
        generator.next()
    }

    /// 0 to `limit` less one; for limits far below 2^32 as good as even. - Precondition: `limit` > 0.
    mutating func below(_ limit: Int) -> Int {
        Int(((next() >> 32) &* UInt64(limit)) >> 32)
    }

    mutating func isTrue(permille: Int) -> Bool {
        below(1000) < permille
    }

    /// About normal around 0: the sum of four numbers of 16 bits, never beyond 3.5 deviations.
    mutating func normal(deviation: Int) -> Int {
        let bits = next()
        let sum = (0..<4).reduce(0) { $0 + Int(bits >> (16 * UInt64($1)) & 0xFFFF) }
        // A deviation of the sum is 65536 × √(4/12).
        return ((sum - 131_070) * deviation) / 37_837
    }

    /// The index of one of the weights, each as likely as it is heavy. - Precondition: one of them is above 0.
    mutating func pick(_ weights: [Int]) -> Int {
        var rest = below(weights.reduce(0, +))
        for index in weights.indices {
            rest -= weights[index]
            if rest < 0 { return index }
        }
        return weights.count - 1
    }
}
