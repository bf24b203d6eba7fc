// Draws whose probabilities are exact: whole numbers and fractions alone, never floating point (Canonne, Kamath, Steinke 2020).

/// A fraction of whole numbers, not reduced. - Precondition of all that takes one: the denominator is not 0.
struct Fraction: Hashable, Sendable {
    let numerator: UInt128
    let denominator: UInt128
}

extension RandomNumberGenerator {
    /// True with probability `fraction`, which is at most 1.
    mutating func bernoulli(_ fraction: Fraction) -> Bool {
        // 64 bits are drawn where they suffice: much cheaper, and as exact.
        if fraction.denominator <= UInt128(UInt64.max) {
            return UInt128(next(upperBound: UInt64(fraction.denominator))) < fraction.numerator
        }
        return next(upperBound: fraction.denominator) < fraction.numerator
    }

    /// True with probability exp(−γ), for any γ ≥ 0 whose parts multiplied by the number of rounds fit into 128 bits. Takes about 1.6
    /// rounds for each whole part of γ that it gets through.
    mutating func bernoulliExp(minus gamma: Fraction) -> Bool {
        var rest = gamma
        while rest.numerator > rest.denominator {
            guard bernoulliExpOfAtMostOne(Fraction(numerator: 1, denominator: 1)) else { return false }
            rest = Fraction(numerator: rest.numerator - rest.denominator, denominator: rest.denominator)
        }
        return bernoulliExpOfAtMostOne(rest)
    }

    /// Counts how long draws of γ/1, γ/2, γ/3 … succeed: the alternating series of exp(−γ) makes an odd count as likely as that.
    private mutating func bernoulliExpOfAtMostOne(_ gamma: Fraction) -> Bool {
        var round: UInt128 = 1
        while bernoulli(Fraction(numerator: gamma.numerator, denominator: gamma.denominator * round)) { round += 1 }
        return round % 2 == 1
    }

    /// A whole number z with probability proportional to exp(−|z| / scale). - Precondition: 1 ≤ `scale` < 2^40.
    mutating func discreteLaplace(scale: Int) -> Int {
        precondition(scale >= 1 && scale < 1 << 40, "a scale that 128 bits carry")
        let width = UInt64(scale)
        while true {
            let low = next(upperBound: width)
            guard bernoulliExp(minus: Fraction(numerator: UInt128(low), denominator: UInt128(width))) else { continue }
            var high = 0
            while bernoulliExp(minus: Fraction(numerator: 1, denominator: 1)) { high += 1 }
            let magnitude = Int(low) + scale * high
            let isNegative = next(upperBound: 2 as UInt64) == 1
            // Or 0 would be twice as likely.
            if isNegative, magnitude == 0 { continue }
            return isNegative ? -magnitude : magnitude
        }
    }

    /// A whole number z with probability proportional to exp(−z² / (2 σ²)).
    /// - Parameter variance: σ², a whole number. - Precondition: 1 ≤ `variance` < 2^50, so that squares fit into 128 bits by a wide margin.
    mutating func discreteGaussian(variance: Int) -> Int {
        precondition(variance >= 1 && variance < 1 << 50, "a variance that 128 bits carry")
        let scale = variance.wholeSquareRoot + 1
        while true {
            let candidate = discreteLaplace(scale: scale)
            // Accepted with exp(−(|z| − σ²/t)² / (2 σ²)), multiplied by t² to be whole.
            let distance = (UInt128(candidate.magnitude) * UInt128(scale)).distanceFrom(UInt128(variance))
            let gamma = Fraction(
                numerator: distance * distance, denominator: 2 * UInt128(variance) * UInt128(scale) * UInt128(scale))
            if bernoulliExp(minus: gamma) { return candidate }
        }
    }
}

extension UInt128 {
    fileprivate func distanceFrom(_ other: UInt128) -> UInt128 { self > other ? self - other : other - self }
}

extension Int {
    /// ⌊√self⌋, by Newton's method on whole numbers. - Precondition: not negative.
    var wholeSquareRoot: Int {
        precondition(self >= 0, "a square is not negative")
        guard self > 1 else { return self }
        var root = 1 << ((Int.bitWidth - leadingZeroBitCount + 1) / 2)
        while true {
            let next = (root + self / root) / 2
            if next >= root { return root }
            root = next
        }
    }
}

/// Lets an exact bound answer as differential privacy wants it (ε = 1, δ < 1e-6): never below it, and by chance for some people above.
enum GeometricMargin {
    /// The noise is cut off here; beyond it lies less than 1e-6 of a discrete Laplace of scale 1: e^−14 / (e + 1) = 2.2e-7 on a side.
    static let cut = 14

    /// - Parameter excess: how far above the largest number that must be refused; 1 is the first that may be admitted.
    static func admits(above excess: Int, using generator: inout some RandomNumberGenerator) -> Bool {
        guard excess > 0 else { return false }
        guard excess <= 2 * cut else { return true }
        while true {
            let noise = generator.discreteLaplace(scale: 1)
            if abs(noise) <= cut { return excess + noise > cut }
        }
    }
}
