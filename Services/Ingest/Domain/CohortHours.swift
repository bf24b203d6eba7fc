// Sums over whole hours of what somebody shares anonymously: what the anonymiser is told in the place of samples.

import Contracts

/// Whole hours since 1970 (UTC), by the ms of their beginning.
enum CohortHour {
    static let width = CohortHourSummed.milliseconds

    /// The beginning of the hour that holds a time.
    static func start(of time: Int64) -> Int64 {
        time.flooredQuotientAndRemainder(dividingBy: width).quotient * width
    }

    /// The first hour that is not to be summed up yet: the watermark after its end has not passed.
    static func firstOpen(at now: Timestamp, after watermark: Duration) -> Int64 {
        start(of: (now - watermark).milliseconds)
    }
}

/// One person's hours while they are being summed up.
struct CohortHours {
    private struct Hour {
        var sums: [Metric: CohortHourSummed.Sum] = [:]
        var cells: Set<GridCell> = []
    }

    private var hours: [Int64: Hour] = [:]

    /// Values are counted, places become squares of a kilometre.
    mutating func add(_ entries: EntryColumns, of metric: Metric) {
        var (hour, count, sum): (Int64, Int, Int) = (0, 0, 0)
        // Most follow one another within an hour.
        for (time, value) in zip(entries.times, entries.values) {
            let start = CohortHour.start(of: time)
            if start != hour {
                add(count, sum, of: metric, to: hour)
                (hour, count, sum) = (start, 0, 0)
            }
            count += 1
            sum = Self.saturated(sum, Self.thousandths(value))
        }
        add(count, sum, of: metric, to: hour)
        for (time, position) in zip(entries.times, entries.positions) {
            guard let cell = GridCell(latitude: position.latitude, longitude: position.longitude) else { continue }
            hours[CohortHour.start(of: time), default: Hour()].cells.insert(cell)
        }
    }

    private mutating func add(_ count: Int, _ sum: Int, of metric: Metric, to hour: Int64) {
        guard count > 0 else { return }
        var total = hours[hour]?.sums[metric] ?? CohortHourSummed.Sum(metric: metric, count: 0, sum: 0)
        total.count += count
        total.sum = Self.saturated(total.sum, sum)
        hours[hour, default: Hour()].sums[metric] = total
    }

    /// The hours that have something, in order.
    func facts(about person: PersonID) -> [CohortHourSummed] {
        hours.sorted { $0.key < $1.key }.map { start, hour in
            let cells = Array(hour.cells.sorted().prefix(CohortHourSummed.mostCells))
            return CohortHourSummed(
                person: person, hour: Timestamp(milliseconds: start), sums: hour.sums.values.sorted { $0.metric.number < $1.metric.number },
                cells: cells.isEmpty ? nil : cells)
        }
    }

    static func thousandths(_ value: Double) -> Int {
        Int(exactly: (value * 1000).rounded()) ?? (value < 0 ? .min : .max)
    }

    private static func saturated(_ one: Int, _ other: Int) -> Int {
        let (sum, isTooMuch) = one.addingReportingOverflow(other)
        return isTooMuch ? (other < 0 ? .min : .max) : sum
    }
}

extension [CohortOptIn] {
    /// As the store has them, before they are sealed.
    var bytes: [UInt8] {
        var writer = ByteWriter()
        for share in self {
            writer.bytes.append(share.metric.number)
            writer.signed(share.since.milliseconds)
        }
        return writer.bytes
    }

    /// Without metrics that this program does not know.
    init(decoding bytes: UnsafeRawBufferPointer) throws(CorruptBytes) {
        self = []
        var reader = ByteReader(bytes)
        while reader.left > 0 {
            let (number, since) = (try reader.byte(), try reader.signed())
            if let metric = Metric(number: number) { append(CohortOptIn(metric: metric, since: Timestamp(milliseconds: since))) }
        }
    }
}
