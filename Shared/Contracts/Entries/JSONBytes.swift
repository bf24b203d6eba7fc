// JSON written by hand where the bytes matter or the time does: numbers as short as they can be, nothing kept but the text.

/// JSON under construction.
package struct JSONBytes: Sendable {
    /// Those since the last `drain`.
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// As it stands: nothing is escaped.
    package mutating func literal(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// ASCII; another scalar stops the process.
    package mutating func byte(_ scalar: Unicode.Scalar) {
        bytes.append(UInt8(ascii: scalar))
    }

    /// Text that needs no escapes: codes, ids, times.
    package mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// UTF-8 that needs no escapes.
    package mutating func append(_ text: [UInt8]) {
        bytes.append(contentsOf: text)
    }

    /// Gives what was written and begins anew.
    package mutating func drain() -> [UInt8] {
        defer { self = JSONBytes(capacity: 1 << 12) }
        return bytes
    }

    /// Any text, quoted and escaped.
    package mutating func string(_ text: String) {
        byte("\"")
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                literal("\\u00")
                bytes.append(contentsOf: (byte < 16 ? "0" : "").utf8)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        byte("\"")
    }

    package mutating func integer(_ value: Int64) {
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        digits(value.magnitude, atLeast: 1)
    }

    /// At least so many digits, padded with zeros in front.
    private mutating func digits(_ value: UInt64, atLeast width: Int) {
        if value < 1000, width == 1 { return few(value) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { buffer in
            var rest = value
            var start = 20
            while rest > 0 || 20 - start < width {
                start -= 1
                buffer[start] = UInt8(truncatingIfNeeded: rest % 10) + UInt8(ascii: "0")
                rest /= 10
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[start...]))
        }
    }

    /// One to three digits: most of what people measure.
    private mutating func few(_ value: UInt64) {
        if value >= 100 { bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 100)) }
        if value >= 10 { bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10 % 10)) }
        bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
    }

    /// As `Timestamp.rfc3339`, without quotes.
    package mutating func time(_ at: Timestamp) {
        let (day, millisecond) = at.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000)
        let date = CivilDate(daysSince1970: day)
        if date.year < 0 { bytes.append(UInt8(ascii: "-")) }
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

    /// The shortest decimal that reads back as the same Double; finite numbers only, as the rules let no others in.
    package mutating func number(_ value: Double) {
        for scale in 0...4 {
            guard let mantissa = DecimalForm.mantissa(of: value, scale: scale) else { continue }
            return scale == 0 ? integer(mantissa) : decimal(mantissa, scale: scale)
        }
        // Swift's description is the shortest that reads back, and valid JSON for every finite number ("1e-07", "-0.0").
        bytes.append(contentsOf: value.description.utf8)
    }

    private mutating func decimal(_ mantissa: Int64, scale: Int) {
        if mantissa < 0 { bytes.append(UInt8(ascii: "-")) }
        let power = UInt64(DecimalForm.powers[scale])
        digits(mantissa.magnitude / power, atLeast: 1)
        bytes.append(UInt8(ascii: "."))
        digits(mantissa.magnitude % power, atLeast: scale)
    }

    /// What is not known of it is left out, not written as null.
    package mutating func position(_ position: Position) {
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
