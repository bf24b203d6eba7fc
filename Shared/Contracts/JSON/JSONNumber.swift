// Numbers of a JSON text, read exactly: the nearest Double, as every correct reader gives it.

/// A number as it was written: `decimal` where it is short enough to be computed exactly, else read by the standard library.
@usableFromInline
package struct JSONNumber {
    /// The nearest Double; infinite where the number is beyond Double's range.
    @usableFromInline package var value: Double
    /// The number itself where it was written as a whole number that fits.
    @usableFromInline package var whole: Int64?

    @inlinable
    init(value: Double, whole: Int64?) {
        (self.value, self.whole) = (value, whole)
    }
}

extension JSONCursor {
    /// 10^0 … 10^22: exactly the powers of ten that a Double holds exactly.
    @usableFromInline static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
        1e22,
    ]

    /// Takes one number: no leading zeros or plus sign, digits on both sides of a point, as RFC 8259 §6 says.
    @inlinable
    @inline(__always)
    package mutating func number() throws(JSONFault) -> JSONNumber {
        let start = at
        let negative = at < end && bytes[at] == UInt8(ascii: "-")
        if negative { at += 1 }
        var mantissa: UInt64 = 0
        var digits = try takeDigits(into: &mantissa)
        if digits > 1, bytes[at - digits] == UInt8(ascii: "0") { throw JSONFault(kind: .badNumber, offset: at - digits) }
        var exponent = 0
        var isWhole = true
        if at < end, bytes[at] == UInt8(ascii: ".") {
            at += 1
            let fraction = try takeDigits(into: &mantissa)
            exponent = -fraction
            digits += fraction
            isWhole = false
        }
        if at < end, bytes[at] | 0x20 == UInt8(ascii: "e") {
            exponent += try takeExponent()
            isWhole = false
        }
        // 19 digits fit into the mantissa; below 2^53 and with an exact power of ten one correctly rounded operation is exact.
        if digits <= 19, mantissa <= 1 << 53, abs(exponent) <= 22 {
            let magnitude = Double(mantissa)
            let value = exponent < 0 ? magnitude / Self.powersOfTen[-exponent] : magnitude * Self.powersOfTen[exponent]
            let whole = isWhole ? Int64(mantissa) : nil
            return negative ? JSONNumber(value: -value, whole: whole.map { -$0 }) : JSONNumber(value: value, whole: whole)
        }
        return slowNumber(start..<at, isWhole: isWhole)
    }

    @inlinable
    @inline(__always)
    mutating func takeDigits(into mantissa: inout UInt64) throws(JSONFault) -> Int {
        let start = at
        while at < end {
            let digit = bytes[at] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            mantissa = mantissa &* 10 &+ UInt64(digit)
            at += 1
        }
        guard at > start else { throw fault(at < end ? .badNumber : .unexpectedEnd) }
        return at - start
    }

    /// The exponent after `e`; anything far beyond Double's range counts as 100,000.
    @usableFromInline
    mutating func takeExponent() throws(JSONFault) -> Int {
        at += 1
        var negative = false
        if at < end, bytes[at] == UInt8(ascii: "-") || bytes[at] == UInt8(ascii: "+") {
            negative = bytes[at] == UInt8(ascii: "-")
            at += 1
        }
        let start = at
        var value = 0
        while at < end {
            let digit = bytes[at] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            value = min(value * 10 + Int(digit), 100_000)
            at += 1
        }
        guard at > start else { throw fault(at < end ? .badNumber : .unexpectedEnd) }
        return negative ? -value : value
    }

    @usableFromInline
    @inline(never)
    func slowNumber(_ range: Range<Int>, isWhole: Bool) -> JSONNumber {
        let written = String(decoding: bytes[range], as: UTF8.self)
        // The standard library gives nil only for what is no number, and this is one; an overflow gives an infinity.
        return JSONNumber(value: Double(written) ?? .infinity, whole: isWhole ? Int64(written) : nil)
    }
}
