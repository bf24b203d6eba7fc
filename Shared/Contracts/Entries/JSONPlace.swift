// Numbers, times and positions as JSON in memory that is known to be large enough.

/// Where the next byte goes. Whoever makes one has made room for all that is written; nothing here looks.
struct JSONPlace {
    /// Bytes of a number at most: Swift's description of a Double has up to 24.
    static let longestNumber = 32
    /// Of the most distant `Timestamp`.
    static let longestTime = 32
    /// The names of all its parts, and four numbers.
    static let longestPosition = 52 + 4 * longestNumber

    private(set) var end: UnsafeMutablePointer<UInt8>

    @inline(__always)
    init(_ start: UnsafeMutablePointer<UInt8>) {
        end = start
    }

    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        end.pointee = byte
        end += 1
    }

    /// ASCII; another scalar stops the process.
    @inline(__always)
    mutating func byte(_ scalar: Unicode.Scalar) {
        put(UInt8(ascii: scalar))
    }

    @inline(__always)
    mutating func literal(_ text: StaticString) {
        end.update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        end += text.utf8CodeUnitCount
    }

    @inline(__always)
    mutating func copy(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        end.update(from: start, count: bytes.count)
        end += bytes.count
    }

    @inline(__always)
    mutating func integer(_ value: Int64) {
        if value < 0 { byte("-") }
        digits(value.magnitude, atLeast: 1)
    }

    /// At least so many digits, padded with zeros in front.
    @inline(__always)
    private mutating func digits(_ value: UInt64, atLeast width: Int) {
        var count = 1
        var bound: UInt64 = 10
        // Ten to the twentieth is no UInt64.
        while value >= bound, count < 20 {
            count += 1
            if count < 20 { bound *= 10 }
        }
        count = max(count, width)
        var rest = value
        for place in stride(from: count - 1, through: 0, by: -1) {
            end[place] = UInt8(truncatingIfNeeded: rest % 10) + UInt8(ascii: "0")
            rest /= 10
        }
        end += count
    }

    mutating func time(_ at: Timestamp) {
        let (day, millisecond) = at.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000)
        let date = CivilDate(daysSince1970: day)
        if date.year < 0 { byte("-") }
        digits(date.year.magnitude, atLeast: 4)
        part("-", date.month, 2)
        part("-", date.day, 2)
        part("T", millisecond / 3_600_000, 2)
        part(":", millisecond / 60_000 % 60, 2)
        part(":", millisecond / 1000 % 60, 2)
        part(".", millisecond % 1000, 3)
        byte("Z")
    }

    private mutating func part(_ mark: Unicode.Scalar, _ value: Int64, _ width: Int) {
        byte(mark)
        digits(value.magnitude, atLeast: width)
    }

    mutating func number(_ value: Double) {
        // Most of what people measure is whole; -0 is not.
        if value.magnitude < 1e15, Double(Int64(value)) == value, value != 0 || value.sign == .plus { return integer(Int64(value)) }
        for scale in 0...4 {
            guard let mantissa = DecimalForm.mantissa(of: value, scale: scale) else { continue }
            return scale == 0 ? integer(mantissa) : decimal(mantissa, scale: scale)
        }
        // Swift's description is the shortest that reads back, and valid JSON for every finite number ("1e-07", "-0.0").
        for byte in value.description.utf8 { put(byte) }
    }

    private mutating func decimal(_ mantissa: Int64, scale: Int) {
        if mantissa < 0 { byte("-") }
        let power = UInt64(DecimalForm.powers[scale])
        digits(mantissa.magnitude / power, atLeast: 1)
        byte(".")
        digits(mantissa.magnitude % power, atLeast: scale)
    }

    mutating func position(_ position: Position) {
        literal("{\"latitude\":")
        number(position.latitude)
        literal(",\"longitude\":")
        number(position.longitude)
        if let altitude = position.altitude {
            literal(",\"altitude\":")
            number(altitude)
        }
        if let accuracy = position.accuracy {
            literal(",\"accuracy\":")
            number(accuracy)
        }
        byte("}")
    }
}
