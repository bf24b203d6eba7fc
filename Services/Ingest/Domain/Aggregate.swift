// Roll-ups: what a chart shows of many entries, mergeable from minutes to hours to days.

import Contracts

/// Least, greatest, sum and number of the values of one stretch of time. A metric without values (position) only has a number.
struct Aggregate: Hashable, Sendable {
    var least: Double
    var greatest: Double
    var sum: Double
    var count: Int

    init(_ value: Double) {
        (least, greatest, sum, count) = (value, value, value, 1)
    }

    init(least: Double, greatest: Double, sum: Double, count: Int) {
        (self.least, self.greatest, self.sum, self.count) = (least, greatest, sum, count)
    }

    var mean: Double { sum / Double(count) }

    mutating func add(_ value: Double) {
        least = min(least, value)
        greatest = max(greatest, value)
        sum += value
        count += 1
    }

    mutating func add(_ other: Aggregate) {
        least = min(least, other.least)
        greatest = max(greatest, other.greatest)
        sum += other.sum
        count += other.count
    }
}

/// Length of the stretches that entries are summed up over.
enum Granularity: String, CaseIterable, Sendable {
    case raw, minute, hour, day

    /// In ms; `nil` for raw entries.
    var width: Int64? {
        switch self {
        case .raw: nil
        case .minute: Granularity.minuteWidth
        case .hour: 3_600_000
        case .day: Granularity.dayWidth
        }
    }

    static let minuteWidth: Int64 = 60_000
    static let dayWidth: Int64 = 86_400_000
}

/// Aggregates by the start of their stretch, in ms, all of one width; days are UTC days.
struct RollUp: Hashable, Sendable {
    let width: Int64
    private(set) var stretches: [Int64: Aggregate] = [:]

    init(width: Int64) {
        self.width = width
    }

    func start(of time: Int64) -> Int64 {
        time.flooredQuotientAndRemainder(dividingBy: width).quotient * width
    }

    mutating func add(_ samples: some Sequence<Sample>) {
        for sample in samples {
            let start = start(of: sample.at.milliseconds)
            let value = sample.value ?? 0
            if stretches[start]?.add(value) == nil { stretches[start] = Aggregate(value) }
        }
    }

    /// `aggregate` covers a stretch that lies within one of this roll-up's.
    mutating func add(_ aggregate: Aggregate, from start: Int64) {
        let start = self.start(of: start)
        if stretches[start]?.add(aggregate) == nil { stretches[start] = aggregate }
    }

    mutating func add(_ finer: RollUp) {
        for (start, aggregate) in finer.stretches { add(aggregate, from: start) }
    }

    /// In order of time.
    var sorted: [(start: Int64, aggregate: Aggregate)] {
        stretches.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

/// The minutes of one day as bytes, before they are sealed.
enum RollUpCodec {
    private static let version: UInt8 = 1

    static func encode(_ minutes: RollUp) -> [UInt8] {
        let rows = minutes.sorted
        var writer = ByteWriter()
        writer.bytes.append(version)
        writer.varint(UInt64(rows.count))
        var previous: Int64 = 0
        for row in rows {
            writer.signed(row.start / minutes.width &- previous)
            previous = row.start / minutes.width
        }
        for row in rows { writer.varint(UInt64(row.aggregate.count)) }
        NumberColumn.write(count: rows.count, to: &writer) { rows[$0].aggregate.least }
        NumberColumn.write(count: rows.count, to: &writer) { rows[$0].aggregate.greatest }
        NumberColumn.write(count: rows.count, to: &writer) { rows[$0].aggregate.sum }
        return writer.bytes
    }

    static func decode(_ bytes: UnsafeRawBufferPointer, each: (_ start: Int64, Aggregate) -> Void) throws(CorruptBytes) {
        var reader = ByteReader(bytes)
        guard try reader.byte() == version else { throw CorruptBytes() }
        let rows = try reader.count()
        var starts: [Int64] = []
        starts.reserveCapacity(rows)
        var minute: Int64 = 0
        for _ in 0..<rows {
            minute = minute &+ (try reader.signed())
            starts.append(minute &* 60_000)
        }
        var counts: [Int] = []
        counts.reserveCapacity(rows)
        for _ in 0..<rows { counts.append(Int(truncatingIfNeeded: try reader.varint() & 0xFFFF_FFFF)) }
        let least = try NumberColumn.read(count: rows, from: &reader)
        let greatest = try NumberColumn.read(count: rows, from: &reader)
        let sums = try NumberColumn.read(count: rows, from: &reader)
        try reader.finish()
        for row in 0..<rows {
            each(starts[row], Aggregate(least: least[row], greatest: greatest[row], sum: sums[row], count: counts[row]))
        }
    }
}
