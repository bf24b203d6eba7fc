// Whose measurements of what: the unit in which entries are unique, stored and read.

import Contracts

/// All entries of one metric of one person. The person is given by the number that this service's store gave them.
struct Series: Hashable, Sendable {
    let person: Int64
    let metric: Metric

    /// Person and metric in one number, in the order of both.
    var word: Int64 { Self.word(person, metric: metric.number) }

    static func word(_ person: Int64, metric number: UInt8) -> Int64 {
        person << 8 | Int64(number)
    }
}

/// The attributes of a chunk that stay unsealed, and what its seal is bound to.
struct ChunkOutline: Hashable, Sendable {
    let first: Int64
    let last: Int64
    let count: Int

    init(first: Int64, last: Int64, count: Int) {
        (self.first, self.last, self.count) = (first, last, count)
    }

    /// `nil` for no samples.
    init?(of samples: [Sample]) {
        guard let one = samples.first else { return nil }
        var (first, last) = (one.at, one.at)
        for sample in samples {
            first = min(first, sample.at)
            last = max(last, sample.at)
        }
        self.init(first: first.milliseconds, last: last.milliseconds, count: samples.count)
    }

    var spanClass: SpanClass { SpanClass(first: first, last: last) }

    /// The UTC days that it touches, from the first to the last.
    var days: ClosedRange<Int64> {
        UTCDay.number(of: first)...UTCDay.number(of: last)
    }
}

/// Days since 1970-01-01, in UTC.
enum UTCDay {
    static func number(of time: Int64) -> Int64 {
        time.flooredQuotientAndRemainder(dividingBy: Granularity.dayWidth).quotient
    }

    static func range(_ day: Int64) -> Range<Int64> {
        day * Granularity.dayWidth..<(day + 1) * Granularity.dayWidth
    }
}
