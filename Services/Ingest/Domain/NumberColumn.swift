// A column of Doubles, kept to the last bit.

import Contracts

/// First byte: the scale, or `raw`. Scaled columns hold the zigzag differences of the mantissas, raw ones eight bytes a number.
enum NumberColumn {
    private static let raw: UInt8 = 0xFF

    static func write(count: Int, to writer: inout ByteWriter, _ value: (Int) -> Double) {
        guard count > 0 else { return }
        guard let scale = scale(count: count, value) else {
            writer.bytes.append(raw)
            for index in 0..<count { writer.raw(value(index)) }
            return
        }
        writer.bytes.append(UInt8(scale))
        var previous: Int64 = 0
        for index in 0..<count {
            let mantissa = DecimalForm.mantissa(of: value(index), scale: scale) ?? 0
            writer.signed(mantissa &- previous)
            previous = mantissa
        }
    }

    /// The smallest scale at which every number of the column is whole. A larger scale keeps what a smaller one kept
    /// in all but pathological numbers, for which the column is then written raw.
    private static func scale(count: Int, _ value: (Int) -> Double) -> Int? {
        var scale = 0
        var checked = 0
        while checked < count {
            if DecimalForm.mantissa(of: value(checked), scale: scale) != nil {
                checked += 1
            } else {
                scale += 1
                guard scale <= DecimalForm.maximumScale else { return nil }
                checked = checked == 0 ? 0 : restart(count: checked, scale: scale, value)
            }
        }
        return scale
    }

    /// How many of the first numbers are whole at this scale too.
    private static func restart(count: Int, scale: Int, _ value: (Int) -> Double) -> Int {
        (0..<count).first { DecimalForm.mantissa(of: value($0), scale: scale) == nil } ?? count
    }

    static func read(count: Int, from reader: inout ByteReader) throws(CorruptBytes) -> [Double] {
        try read(0..<count, of: count, from: &reader)
    }

    /// Some of `count` numbers. What comes after the last of them is left unread.
    static func read(_ wanted: Range<Int>, of count: Int, from reader: inout ByteReader) throws(CorruptBytes) -> [Double] {
        guard count > 0 else { return [] }
        let scale = try reader.byte()
        var values: [Double] = []
        if scale == raw {
            guard reader.left / 8 >= count else { throw CorruptBytes() }
            _ = try reader.take(8 * wanted.lowerBound)
            values.reserveCapacity(wanted.count)
            for _ in wanted { values.append(try reader.raw()) }
            return values
        }
        guard Int(scale) <= DecimalForm.maximumScale, reader.left >= count else { throw CorruptBytes() }
        values.reserveCapacity(wanted.count)
        var mantissa = try reader.sum(of: wanted.lowerBound)
        for _ in wanted {
            mantissa = mantissa &+ (try reader.signed())
            values.append(DecimalForm.value(mantissa, scale: Int(scale)))
        }
        return values
    }
}
