// Samples of one metric as bytes, before they are sealed: columns instead of rows, nothing lost, order kept.
// Together with Contracts and this folder's byte and number files it compiles alone, for fuzzing.

import Contracts

/// Layout, version 1: `1`, count, flags, times (first one, then differences of differences), values unless the metric is
/// position, then for positions a bitmap of who has one unless all do, latitudes, longitudes, and likewise altitudes and accuracies.
enum ChunkCodec {
    static let version: UInt8 = 1

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let values = Flags(rawValue: 1)
        static let positions = Flags(rawValue: 2)
        static let everyPosition = Flags(rawValue: 4)
        static let known = Flags(rawValue: 7)
    }

    /// `samples` are of one metric: all have a value or none has.
    static func encode(_ samples: some RandomAccessCollection<Sample>) -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(16 + samples.count * 4)
        writer.bytes.append(version)
        writer.varint(UInt64(samples.count))
        let start = samples.startIndex
        func sample(_ index: Int) -> Sample { samples[samples.index(start, offsetBy: index)] }
        let placed = samples.reduce(0) { $0 + ($1.position == nil ? 0 : 1) }
        var flags: Flags = samples.first?.value == nil ? [] : .values
        if placed > 0 { flags.insert(.positions) }
        if placed == samples.count { flags.insert(.everyPosition) }
        writer.bytes.append(flags.rawValue)
        writeTimes(samples, to: &writer)
        if flags.contains(.values) {
            NumberColumn.write(count: samples.count, to: &writer) { sample($0).value ?? 0 }
        }
        if placed > 0 { writePositions(samples, count: placed, to: &writer) }
        return writer.bytes
    }

    private static func writeTimes(_ samples: some RandomAccessCollection<Sample>, to writer: inout ByteWriter) {
        var previous: Int64 = 0
        var step: Int64 = 0
        for (index, sample) in samples.enumerated() {
            // The first is the time itself and the second a difference; from then on the difference of differences, mostly 0.
            let next = sample.at.milliseconds &- previous
            writer.signed(index <= 1 ? next : next &- step)
            previous = sample.at.milliseconds
            step = next
        }
    }

    private static func writePositions(
        _ samples: some RandomAccessCollection<Sample>, count: Int, to writer: inout ByteWriter
    ) {
        if count < samples.count { writer.bitmap(samples.map { $0.position != nil }) }
        let places = samples.compactMap(\.position)
        NumberColumn.write(count: count, to: &writer) { places[$0].latitude }
        NumberColumn.write(count: count, to: &writer) { places[$0].longitude }
        writeOptional(places.map(\.altitude), to: &writer)
        writeOptional(places.map(\.accuracy), to: &writer)
    }

    /// 0 for none, 1 for all, 2 and a bitmap for some; then the numbers that are there.
    private static func writeOptional(_ column: [Double?], to writer: inout ByteWriter) {
        let known = column.compactMap { $0 }
        writer.bytes.append(known.isEmpty ? 0 : known.count == column.count ? 1 : 2)
        if !known.isEmpty, known.count < column.count { writer.bitmap(column.map { $0 != nil }) }
        NumberColumn.write(count: known.count, to: &writer) { known[$0] }
    }

    // MARK: Reading

    static func decode(_ bytes: UnsafeRawBufferPointer, metric: Metric) throws(CorruptBytes) -> [Sample] {
        try decode(bytes, metric: metric, in: nil, limit: .max)
    }

    /// Of the samples of a period the first, at least `limit` of them unless there are fewer: a page out of a whole day makes no more.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, metric: Metric, in period: Range<Int64>?, limit: Int
    ) throws(CorruptBytes) -> [Sample] {
        var reader = ByteReader(bytes)
        let (times, flags, isOrdered) = try header(&reader)
        let values = flags.contains(.values) ? try NumberColumn.read(count: times.count, from: &reader) : []
        let positions = flags.contains(.positions) ? try readPositions(&reader, flags, count: times.count) : []
        try reader.finish()
        var samples: [Sample] = []
        let wanted = period.map { wantedPlaces(times, isOrdered, in: $0, limit: limit) } ?? times.startIndex..<times.endIndex
        samples.reserveCapacity(wanted.count)
        for index in wanted where period?.contains(times[index]) ?? true {
            samples.append(
                Sample(
                    type: metric, at: Timestamp(milliseconds: times[index]), value: values.isEmpty ? nil : values[index],
                    position: positions.isEmpty ? nil : positions[index]))
        }
        return samples
    }

    /// As `decode` of a period, column by column: of positions the places, of everything else the values.
    static func columns(
        _ bytes: UnsafeRawBufferPointer, metric: Metric, in period: Range<Int64>, limit: Int
    ) throws(CorruptBytes) -> EntryColumns {
        var reader = ByteReader(bytes)
        let (times, flags, isOrdered) = try header(&reader)
        let wanted = wantedPlaces(times, isOrdered, in: period, limit: limit)
        var columns = EntryColumns()
        if metric.definition.shape == .position {
            guard flags == [.positions, .everyPosition] else { throw CorruptBytes() }
            columns.positions = try readPositions(&reader, flags, count: times.count)[wanted].compactMap(\.self)
        } else {
            guard flags.contains(.values) else { throw CorruptBytes() }
            columns.values = try NumberColumn.read(wanted, of: times.count, from: &reader)
        }
        columns.times = Array(times[wanted])
        columns.keep(period)
        return columns
    }

    /// Where to look for them. What is not in order of time is looked through as a whole.
    private static func wantedPlaces(_ times: [Int64], _ isOrdered: Bool, in period: Range<Int64>, limit: Int) -> Range<Int> {
        guard isOrdered else { return times.startIndex..<times.endIndex }
        var (start, end) = (0, times.count)
        while start < end {
            let middle = (start + end) / 2
            if times[middle] < period.lowerBound { start = middle + 1 } else { end = middle }
        }
        return start..<(limit < times.count - start ? start + max(0, limit) : times.count)
    }

    /// Only the times, in ms, for what needs no values.
    static func decodeTimes(_ bytes: UnsafeRawBufferPointer) throws(CorruptBytes) -> [Int64] {
        var reader = ByteReader(bytes)
        return try header(&reader).times
    }

    private static func header(_ reader: inout ByteReader) throws(CorruptBytes) -> (times: [Int64], flags: Flags, isOrdered: Bool) {
        guard try reader.byte() == version else { throw CorruptBytes() }
        let count = try reader.count()
        let flags = Flags(rawValue: try reader.byte())
        guard flags.isSubset(of: .known) else { throw CorruptBytes() }
        var times = [Int64](repeating: 0, count: count)
        let isOrdered = try times.withUnsafeMutableBufferPointer { (times) throws(CorruptBytes) in try readTimes(&reader, into: times) }
        return (times, flags, isOrdered)
    }

    /// - Returns: whether none is earlier than the one before it.
    private static func readTimes(
        _ reader: inout ByteReader, into times: UnsafeMutableBufferPointer<Int64>
    ) throws(CorruptBytes) -> Bool {
        var (time, step, place, isOrdered): (Int64, Int64, Int, Bool) = (0, 0, 0, true)
        while place < times.count {
            let difference = try reader.signed()
            step = place <= 1 ? difference : step &+ difference
            // As long as a device keeps its pace, the differences of differences are 0.
            let run = place == 0 ? 1 : 1 + reader.zeros(atMost: times.count - place - 1)
            for offset in 0..<run { times[place + offset] = time &+ step &* Int64(offset + 1) }
            let (length, isTooLong) = step.multipliedReportingOverflow(by: Int64(run))
            if place > 0, step < 0 || isTooLong || time.addingReportingOverflow(length).overflow { isOrdered = false }
            time = times[place + run - 1]
            place += run
        }
        return isOrdered
    }

    private static func readPositions(
        _ reader: inout ByteReader, _ flags: Flags, count: Int
    ) throws(CorruptBytes) -> [Position?] {
        let present = flags.contains(.everyPosition) ? nil : try reader.bitmap(count)
        let placed = present.map { $0.count { $0 } } ?? count
        let latitudes = try NumberColumn.read(count: placed, from: &reader)
        let longitudes = try NumberColumn.read(count: placed, from: &reader)
        let altitudes = try readOptional(&reader, count: placed)
        let accuracies = try readOptional(&reader, count: placed)
        var next = 0
        var positions: [Position?] = []
        positions.reserveCapacity(count)
        for index in 0..<count {
            guard present?[index] ?? true else {
                positions.append(nil)
                continue
            }
            positions.append(
                Position(
                    latitude: latitudes[next], longitude: longitudes[next], altitude: altitudes[next], accuracy: accuracies[next]))
            next += 1
        }
        return positions
    }

    private static func readOptional(_ reader: inout ByteReader, count: Int) throws(CorruptBytes) -> [Double?] {
        switch try reader.byte() {
        case 0: return [Double?](repeating: nil, count: count)
        case 1: return try NumberColumn.read(count: count, from: &reader)
        case 2:
            let present = try reader.bitmap(count)
            let known = try NumberColumn.read(count: present.count { $0 }, from: &reader)
            var next = 0
            return present.map { isThere in
                guard isThere else { return nil }
                next += 1
                return known[next - 1]
            }
        default: throw CorruptBytes()
        }
    }
}

extension ByteWriter {
    fileprivate mutating func bitmap(_ bits: [Bool]) {
        for start in stride(from: 0, to: bits.count, by: 8) {
            var byte: UInt8 = 0
            for offset in 0..<min(8, bits.count - start) where bits[start + offset] { byte |= 1 << UInt8(offset) }
            bytes.append(byte)
        }
    }
}

extension ByteReader {
    fileprivate mutating func bitmap(_ count: Int) throws(CorruptBytes) -> [Bool] {
        let packed = try take((count + 7) / 8)
        return (0..<count).map { packed[$0 >> 3] >> UInt8($0 & 7) & 1 == 1 }
    }
}
