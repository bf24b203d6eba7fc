// Chance that a seed repeats, for properties and made-up data in tests.

import Contracts

/// The same numbers for the same seed on every machine.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    package init(seed: UInt64) {
        generator = SplitMix64(state: seed)
    }

    package mutating func next() -> UInt64 {
        generator.next()
    }
}
