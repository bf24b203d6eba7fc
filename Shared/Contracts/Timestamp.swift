// The suite's one kind of time: milliseconds since 1970 in UTC. Int64 on the bus and in stores, RFC 3339 over HTTP.

/// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted. Coded as a bare integer.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static func < (one: Timestamp, other: Timestamp) -> Bool {
        one.milliseconds < other.milliseconds
    }

    /// Negative where `one` is the earlier.
    package static func - (one: Timestamp, other: Timestamp) -> Duration {
        .milliseconds(one.milliseconds - other.milliseconds)
    }

    /// Whole milliseconds count, the rest is cut off. Outside Int64 it traps: times that others send are bounded before.
    package static func + (one: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: one.milliseconds + duration.wholeMilliseconds)
    }

    /// Bounded as `+` is.
    package static func - (one: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: one.milliseconds - duration.wholeMilliseconds)
    }
}

extension Duration {
    /// Rounded towards zero.
    package var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}

// MARK: RFC 3339

extension Timestamp {
    /// `2026-01-10T00:31:00.000Z`: always UTC, always three digits of fraction.
    package var rfc3339: String {
        var text = JSONBytes(capacity: 24)
        text.time(self)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    /// Reads RFC 3339 with any offset and any number of fraction digits (further ones than three are cut off), years 1 to 9999.
    /// A leap second (`:60`) is taken as the last millisecond before the next minute. `nil` for everything else.
    package init?(rfc3339 text: some StringProtocol) {
        var copy = String(text)
        let read = copy.withUTF8 { Timestamp(rfc3339Bytes: UnsafeRawBufferPointer($0)) }
        guard let read else { return nil }
        self = read
    }

    /// As `init(rfc3339:)`, on the bytes of an upload, without making a string of them.
    package init?(rfc3339Bytes bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 20, bytes.count <= 64 else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            var value: Int64 = 0
            for index in range {
                let digit = bytes[index] &- 48
                guard digit <= 9 else { return nil }
                value = value * 10 + Int64(digit)
            }
            return value
        }
        guard let year = number(0..<4), bytes[4] == UInt8(ascii: "-"), let month = number(5..<7), bytes[7] == UInt8(ascii: "-"),
            let day = number(8..<10), bytes[10] | 0x20 == UInt8(ascii: "t"), let hour = number(11..<13),
            bytes[13] == UInt8(ascii: ":"), let minute = number(14..<16), bytes[16] == UInt8(ascii: ":"), let second = number(17..<19),
            year >= 1, hour < 24, minute < 60, second <= 60, let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        var index = 19
        var fraction: Int64 = 0
        if bytes[index] == UInt8(ascii: ".") {
            index += 1
            let start = index
            var weight: Int64 = 100
            while index < bytes.count, bytes[index] &- 48 <= 9 {
                fraction += Int64(bytes[index] - 48) * weight
                weight /= 10
                index += 1
            }
            guard index > start else { return nil }
        }
        guard index < bytes.count else { return nil }
        var offset: Int64 = 0
        if bytes[index] | 0x20 == UInt8(ascii: "z") {
            guard index + 1 == bytes.count else { return nil }
        } else {
            let sign: Int64 = bytes[index] == UInt8(ascii: "-") ? -1 : 1
            guard bytes[index] == UInt8(ascii: "+") || sign == -1, index + 6 == bytes.count,
                let hours = number(index + 1..<index + 3), bytes[index + 3] == UInt8(ascii: ":"),
                let minutes = number(index + 4..<index + 6), hours < 24, minutes < 60
            else { return nil }
            offset = sign * (hours * 60 + minutes)
        }
        let leap = second == 60
        let time = ((hour * 60 + minute - offset) * 60 + (leap ? 59 : second)) * 1000 + (leap ? 999 : fraction)
        self.init(milliseconds: date.daysSince1970 * 86_400_000 + time)
    }
}

/// A day of the proleptic Gregorian calendar. The arithmetic counts years from March, so that the leap day comes last.
package struct CivilDate: Hashable, Sendable {
    /// As ISO 8601 counts: year 0 stands before year 1, negative ones before it.
    package let year: Int64
    /// 1 to 12.
    package let month: Int64
    /// 1 to the length of its month.
    package let day: Int64

    /// `nil` for a day that does not exist, such as 30 February.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard (1...12).contains(month), day >= 1 else { return nil }
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths: [Int64] = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day <= lengths[Int(month) - 1] else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Day 0 is 1 January 1970; earlier days are negative.
    package init(daysSince1970 days: Int64) {
        let (era, dayOfEra) = (days + 719_468).flooredQuotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    package var daysSince1970: Int64 {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = yearFromMarch.flooredQuotientAndRemainder(dividingBy: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension Int64 {
    /// Division that rounds down, so that instants before 1970 fall into the day that holds them.
    package func flooredQuotientAndRemainder(dividingBy divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
