// Numbers that people and devices write have few decimals: seeing them as whole numbers makes them small and quick to write.

/// A Double as `mantissa` / 10^`scale`, where that division gives back every bit of it.
package struct DecimalForm {
    /// That of the last of `powers`.
    package static let maximumScale = 7
    /// Exactly representable, so that dividing by them rounds once and correctly.
    @usableFromInline package static let powers: [Double] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000]

    /// The mantissa at this scale; `nil` unless dividing it again gives the same bits. −0, NaN and infinities have none.
    @inlinable
    @inline(__always)
    package static func mantissa(of value: Double, scale: Int) -> Int64? {
        let scaled = (value * powers[scale]).rounded()
        guard scaled.magnitude <= 9_007_199_254_740_992 else { return nil }
        let mantissa = Int64(scaled)
        guard (Double(mantissa) / powers[scale]).bitPattern == value.bitPattern else { return nil }
        return mantissa
    }

    @inlinable
    @inline(__always)
    package static func value(_ mantissa: Int64, scale: Int) -> Double {
        Double(mantissa) / powers[scale]
    }
}
