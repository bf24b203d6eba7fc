// A random source that gives the same numbers for the same seed on every machine and with every version of Swift.

/// SplitMix64 (Steele, Lea, Flood 2014): fast, good enough for physiology, useless for secrets.
struct SeededRandom: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    /// Streams of the same seed are independent of each other.
    init(seed: UInt64, stream: UInt64 = 0) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ stream &* 0xD1B5_4A32_D192_ED03
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
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
