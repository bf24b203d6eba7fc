// A random source that gives the same numbers for the same seed on every machine and with every version of Swift.

import Contracts

/// Good enough for physiology.
struct SeededRandom: RandomNumberGenerator, Hashable, Sendable {
    private var generator: SplitMix64

    /// Streams of the same seed are independent of each other.
    init(seed: UInt64, stream: UInt64 = 0) {
        generator = SplitMix64(state: seed &* 0x9E37_79B9_7F4A_7C15 &+ stream &* 0xD1B5_4A32_D192_ED03)
        _ = next()
    }

    mutating func next() -> UInt64 {
        generator.next()
    }

    /// In [0, 1).
    mutating func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    mutating func between(_ low: Double, _ high: Double) -> Double {
        low + (high - low) * unit()
    }

    /// About normal with mean 0 and deviation 1 (sum of twelve uniform numbers), never beyond ±6.
    mutating func normal() -> Double {
        (0..<12).reduce(-6.0) { sum, _ in sum + unit() }
    }
}
