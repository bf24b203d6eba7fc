// Bodies whose JSON is written and read by hand: pages of a thousand values would cost the decoder more than all the rest of a read.

/// Says the same JSON as its `Codable` form, several times quicker.
package protocol HandWrittenJSON: Codable {
    /// A text that the `Codable` form reads to an equal value.
    var handWritten: [UInt8] { get }

    /// nil for every text but exactly the kind that `handWritten` gives: that is the decoder's to judge.
    init?(handWritten text: [UInt8])
}

extension ReadSamples.Reply: HandWrittenJSON {
    package var handWritten: [UInt8] {
        var json = JSONBytes(capacity: 64 + samples.count * 72)
        json.literal("{")
        if let next {
            json.literal("\"next\":")
            json.string(next)
            json.literal(",")
        }
        json.literal("\"samples\":")
        json.samples(samples)
        json.literal("}")
        return json.bytes
    }

    package init?(handWritten text: [UInt8]) {
        let read = text.withUnsafeBufferPointer { bytes -> Self? in
            var cursor = HandWrittenCursor(bytes)
            guard cursor.take("{") else { return nil }
            var next: String?
            if cursor.take("\"next\":") {
                guard let word = cursor.word(), cursor.take(",") else { return nil }
                next = word
            }
            guard cursor.take("\"samples\":"), let samples = cursor.samples(), cursor.take("}"), cursor.isAtEnd else { return nil }
            return Self(samples: samples, next: next)
        }
        guard let read else { return nil }
        self = read
    }
}

extension ReadSampleRanges.Reply: HandWrittenJSON {
    package var handWritten: [UInt8] {
        var json = JSONBytes(capacity: 64 + outcomes.reduce(0) { $0 + 64 + $1.samples.count * 72 })
        json.literal("{\"outcomes\":[")
        for (place, outcome) in outcomes.enumerated() {
            json.literal(place == 0 ? "{" : ",{")
            if let denial = outcome.denial {
                json.literal("\"denial\":{\"code\":")
                json.string(denial.code.rawValue)
                json.literal(",\"reason\":")
                json.string(denial.reason)
                json.literal("},")
            }
            if let readTo = outcome.readTo {
                json.literal("\"readTo\":")
                json.integer(readTo.milliseconds)
                json.literal(",")
            }
            json.literal("\"samples\":")
            json.samples(outcome.samples)
            json.literal("}")
        }
        json.literal("]}")
        return json.bytes
    }

    package init?(handWritten text: [UInt8]) {
        let read = text.withUnsafeBufferPointer { bytes -> [ReadSampleRanges.Outcome]? in
            var cursor = HandWrittenCursor(bytes)
            guard cursor.take("{\"outcomes\":[") else { return nil }
            var outcomes: [ReadSampleRanges.Outcome] = []
            if !cursor.take("]") {
                repeat {
                    guard let outcome = cursor.outcome() else { return nil }
                    outcomes.append(outcome)
                } while cursor.take(",")
                guard cursor.take("]") else { return nil }
            }
            guard cursor.take("}"), cursor.isAtEnd else { return nil }
            return outcomes
        }
        guard let read else { return nil }
        self.init(outcomes: read)
    }
}

extension JSONBytes {
    fileprivate mutating func samples(_ samples: [Sample]) {
        byte("[")
        for (place, sample) in samples.enumerated() {
            literal(place == 0 ? "{\"at\":" : ",{\"at\":")
            integer(sample.at.milliseconds)
            if let position = sample.position {
                literal(",\"position\":")
                self.position(position)
            }
            literal(",\"type\":\"")
            append(sample.type.code)
            byte("\"")
            if let value = sample.value {
                literal(",\"value\":")
                number(value)
            }
            byte("}")
        }
        byte("]")
    }
}

/// Reads what `JSONBytes` writes of samples: members in that order and no spaces.
struct HandWrittenCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0
    /// Samples of one page are mostly of one type.
    private var known: (code: Range<Int>, metric: Metric)?

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { index == bytes.count }

    mutating func take(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - index >= count else { return false }
        for offset in 0..<count where bytes[index + offset] != text.utf8Start[offset] { return false }
        index += count
        return true
    }

    // MARK: Samples

    mutating func samples() -> [Sample]? {
        guard take("[") else { return nil }
        var samples: [Sample] = []
        if take("]") { return samples }
        samples.reserveCapacity((bytes.count - index) / 40)
        repeat {
            guard let sample = sample() else { return nil }
            samples.append(sample)
        } while take(",")
        return take("]") ? samples : nil
    }

    private mutating func sample() -> Sample? {
        guard take("{\"at\":"), let at = integer() else { return nil }
        var place: Position?
        if take(",\"position\":") {
            guard let read = position() else { return nil }
            place = read
        }
        guard take(",\"type\":"), let metric = metric() else { return nil }
        var value: Double?
        if take(",\"value\":") {
            guard let read = number() else { return nil }
            value = read
        }
        guard take("}") else { return nil }
        return Sample(type: metric, at: Timestamp(milliseconds: at), value: value, position: place)
    }

    mutating func metric() -> Metric? {
        guard let code = plain() else { return nil }
        if let known, bytes[known.code].elementsEqual(bytes[code]) { return known.metric }
        guard let metric = Metric(code: String(decoding: bytes[code], as: UTF8.self)) else { return nil }
        known = (code, metric)
        return metric
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

    mutating func outcome() -> ReadSampleRanges.Outcome? {
        guard take("{") else { return nil }
        var outcome = ReadSampleRanges.Outcome(samples: [], readTo: nil)
        if take("\"denial\":{\"code\":") {
            guard let code = word().flatMap(Failure.Code.init(rawValue:)), take(",\"reason\":"), let reason = word(), take("},") else {
                return nil
            }
            outcome.denial = Failure(code, reason)
        }
        if take("\"readTo\":") {
            guard let readTo = integer(), take(",") else { return nil }
            outcome.readTo = Timestamp(milliseconds: readTo)
        }
        guard take("\"samples\":"), let samples = samples(), take("}") else { return nil }
        outcome.samples = samples
        return outcome
    }

    // MARK: Texts and numbers

    /// A quoted text of plain ASCII without escapes.
    mutating func word() -> String? {
        plain().map { String(decoding: bytes[$0], as: UTF8.self) }
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

    private func isDigit(_ place: Int) -> Bool {
        place < bytes.count && bytes[place] >= UInt8(ascii: "0") && bytes[place] <= UInt8(ascii: "9")
    }

    mutating func integer() -> Int64? {
        let isNegative = take("-")
        guard isDigit(index), bytes[index] != UInt8(ascii: "0") || !isDigit(index + 1) else { return nil }
        var value: Int64 = 0
        while isDigit(index) {
            let (tens, tooMany) = value.multipliedReportingOverflow(by: 10)
            let (next, overflow) = tens.addingReportingOverflow(Int64(bytes[index] - UInt8(ascii: "0")))
            guard !tooMany, !overflow else { return nil }
            value = next
            index += 1
        }
        return isNegative ? -value : value
    }

    mutating func number() -> Double? {
        let start = index
        let isNegative = take("-")
        var (mantissa, digits, scale): (UInt64, Int, Int) = (0, 0, 0)
        while isDigit(index), digits < 16 {
            mantissa = mantissa * 10 + UInt64(bytes[index] - UInt8(ascii: "0"))
            (index, digits) = (index + 1, digits + 1)
        }
        guard digits > 0, digits == 1 || bytes[start + (isNegative ? 1 : 0)] != UInt8(ascii: "0") else { return nil }
        if isDigit(index + 1), take(".") {
            while isDigit(index), digits < 16 {
                mantissa = mantissa * 10 + UInt64(bytes[index] - UInt8(ascii: "0"))
                (index, digits, scale) = (index + 1, digits + 1, scale + 1)
            }
        }
        let goesOn = index < bytes.count && ![UInt8(ascii: ","), UInt8(ascii: "}")].contains(bytes[index])
        // Below 2^53, divided by a power of ten that a Double holds exactly, the quotient is the nearest Double.
        if !goesOn, mantissa < 1 << 53, !(isNegative && mantissa == 0) {
            let value = Double(mantissa) / Self.powers[scale]
            return isNegative ? -value : value
        }
        index = start
        while index < bytes.count, isDigit(index) || "+-.eE".utf8.contains(bytes[index]) { index += 1 }
        let text = bytes[start..<index]
        guard isDigit(index - 1), text.indices.allSatisfy({ text[$0] != UInt8(ascii: ".") || isDigit($0 + 1) }) else { return nil }
        return Double(String(decoding: text, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
    }

    private static let powers: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16]
}
