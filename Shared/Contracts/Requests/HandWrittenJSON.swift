// Bodies whose JSON is written and read by hand: what is asked a thousand times a second, and pages of a thousand values, would cost
// the decoder more than all the rest of a read.

/// Says the same JSON as its `Codable` form, several times quicker.
package protocol HandWrittenJSON: Codable {
    /// A text that the `Codable` form reads to an equal value.
    var handWritten: [UInt8] { get }

    /// nil for every text but exactly the kind that `handWritten` gives: that is the decoder's to judge.
    init?(handWritten text: [UInt8])
}

/// Reads what `JSONBytes` writes: members in one order and no spaces. What gives nil is of another kind.
struct HandWrittenCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0
    /// Entries of one page are mostly of one type.
    private var known: (code: Range<Int>, metric: Metric)?

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The value that `take` takes off the whole text; nil where it leaves something.
    static func whole<Value>(_ text: [UInt8], _ take: (inout HandWrittenCursor) -> Value?) -> Value? {
        text.withUnsafeBufferPointer { whole($0, take) }
    }

    static func whole<Value>(_ text: UnsafeBufferPointer<UInt8>, _ take: (inout HandWrittenCursor) -> Value?) -> Value? {
        var cursor = HandWrittenCursor(text)
        guard let value = take(&cursor), cursor.index == text.count else { return nil }
        return value
    }

    mutating func take(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - index >= count else { return false }
        for offset in 0..<count where bytes[index + offset] != text.utf8Start[offset] { return false }
        index += count
        return true
    }

    /// One ASCII character.
    @inline(__always)
    private mutating func take(byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    /// A list of what `element` takes.
    @inline(__always)
    mutating func list<Element>(_ element: (inout HandWrittenCursor) -> Element?) -> [Element]? {
        guard take(byte: UInt8(ascii: "[")) else { return nil }
        var elements: [Element] = []
        if take(byte: UInt8(ascii: "]")) { return elements }
        repeat {
            guard let next = element(&self) else { return nil }
            elements.append(next)
        } while take(byte: UInt8(ascii: ","))
        return take(byte: UInt8(ascii: "]")) ? elements : nil
    }

    // MARK: Texts

    /// A quoted text of plain ASCII without escapes.
    mutating func word() -> String? {
        plain().map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    mutating func identifier<Kind: Identified>(of kind: Kind.Type = Kind.self) -> Identifier<Kind>? {
        word().flatMap { Identifier<Kind>($0) }
    }

    mutating func metric() -> Metric? {
        guard let code = plain() else { return nil }
        if let known, bytes[known.code].elementsEqual(bytes[code]) { return known.metric }
        guard let metric = Metric(code: String(decoding: bytes[code], as: UTF8.self)) else { return nil }
        known = (code, metric)
        return metric
    }

    /// The inside of a quoted text.
    private mutating func plain() -> Range<Int>? {
        guard take("\"") else { return nil }
        let start = index
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            guard bytes[index] >= 0x20, bytes[index] < 0x7F, bytes[index] != UInt8(ascii: "\\") else { return nil }
            index += 1
        }
        guard index < bytes.count else { return nil }
        index += 1
        return start..<index - 1
    }

    mutating func position() -> Position? {
        guard take("{\"latitude\":"), let latitude = number(), take(",\"longitude\":"), let longitude = number() else { return nil }
        var place = Position(latitude: latitude, longitude: longitude)
        if take(",\"altitude\":") {
            guard let altitude = number() else { return nil }
            place.altitude = altitude
        }
        if take(",\"accuracy\":") {
            guard let accuracy = number() else { return nil }
            place.accuracy = accuracy
        }
        return take("}") ? place : nil
    }

    // MARK: Numbers

    @inline(__always)
    private func isDigit(_ place: Int) -> Bool {
        place < bytes.count && bytes[place] &- UInt8(ascii: "0") <= 9
    }

    mutating func time() -> Timestamp? {
        integer().map(Timestamp.init(milliseconds:))
    }

    /// As JSON writes it: no plus sign, no leading zero, no fraction. What 64 bits do not hold is none.
    mutating func integer() -> Int64? {
        let isNegative = take(byte: UInt8(ascii: "-"))
        guard isDigit(index), bytes[index] != UInt8(ascii: "0") || !isDigit(index + 1) else { return nil }
        // Below zero, where there is room for one more.
        var value: Int64 = 0
        while isDigit(index) {
            let (tens, tooMany) = value.multipliedReportingOverflow(by: 10)
            let (next, overflow) = tens.subtractingReportingOverflow(Int64(bytes[index] - UInt8(ascii: "0")))
            guard !tooMany, !overflow else { return nil }
            value = next
            index += 1
        }
        guard isNegative || value != .min else { return nil }
        return isNegative ? value : -value
    }

    mutating func number() -> Double? {
        let start = index
        let isNegative = take(byte: UInt8(ascii: "-"))
        var (mantissa, digits, scale): (UInt64, Int, Int) = (0, 0, 0)
        while isDigit(index), digits < 16 {
            mantissa = mantissa * 10 + UInt64(bytes[index] - UInt8(ascii: "0"))
            (index, digits) = (index + 1, digits + 1)
        }
        guard digits > 0, digits == 1 || bytes[start + (isNegative ? 1 : 0)] != UInt8(ascii: "0") else { return nil }
        if isDigit(index + 1), take(byte: UInt8(ascii: ".")) {
            while isDigit(index), digits < 16 {
                mantissa = mantissa * 10 + UInt64(bytes[index] - UInt8(ascii: "0"))
                (index, digits, scale) = (index + 1, digits + 1, scale + 1)
            }
        }
        let next = index < bytes.count ? bytes[index] : UInt8(ascii: ",")
        let isOver = next == UInt8(ascii: ",") || next == UInt8(ascii: "}") || next == UInt8(ascii: "]")
        // Below 2^53, divided by a power of ten that a Double holds exactly, the quotient is the nearest Double.
        if isOver, mantissa < 1 << 53, !(isNegative && mantissa == 0) {
            let value = Double(mantissa) / Self.powers[scale]
            return isNegative ? -value : value
        }
        index = start
        while index < bytes.count, isDigit(index) || "+-.eE".utf8.contains(bytes[index]) { index += 1 }
        let text = bytes[start..<index]
        guard isDigit(index - 1), text.indices.allSatisfy({ text[$0] != UInt8(ascii: ".") || isDigit($0 + 1) }) else { return nil }
        // What is too large or too small for a Double is the decoder's to judge; of zeros only -0 comes here.
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite, value != 0 || text.elementsEqual("-0.0".utf8)
        else {
            return nil
        }
        return value
    }

    private static let powers: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16]
}
