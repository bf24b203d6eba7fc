// Days, buckets and granularities on the one global grid of time, in quarter hours since 1970 (UTC).

/// A stretch of time, its end not included, in quarter hours since 1970-01-01T00:00Z.
struct TimeSpan: Hashable, Comparable, Sendable {
    static let perHour = 4
    static let perDay = 96

    let start: Int
    let end: Int

    /// - Precondition: `start` < `end`.
    init(_ start: Int, _ end: Int) {
        precondition(start < end, "a span of time holds something")
        (self.start, self.end) = (start, end)
    }

    var length: Int { end - start }

    /// The UTC days that it touches, since 1970.
    var days: Range<Int> { start.flooredQuotient(Self.perDay)..<(end - 1).flooredQuotient(Self.perDay) + 1 }

    static func < (one: TimeSpan, other: TimeSpan) -> Bool {
        (one.start, one.end) < (other.start, other.end)
    }
}

/// Whole UTC days since 1970, the last not included.
struct DayWindow: Hashable, Sendable {
    let days: Range<Int>

    /// - Precondition: not empty.
    init(_ days: Range<Int>) {
        precondition(!days.isEmpty, "a window has at least a day")
        self.days = days
    }

    var span: TimeSpan { TimeSpan(days.lowerBound * TimeSpan.perDay, days.upperBound * TimeSpan.perDay) }

    func overlaps(_ other: DayWindow) -> Bool {
        days.overlaps(other.days)
    }
}

/// How long the buckets of a release are, from fine to coarse.
enum Granularity: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    case quarterHour, hour, sixHours, day, week, thirtyDays
    /// One bucket, as long as what was asked for.
    case window

    static func < (one: Granularity, other: Granularity) -> Bool {
        one.rawValue < other.rawValue
    }

    /// In quarter hours; nil for the window, which has its own.
    var length: Int? {
        switch self {
        case .quarterHour: 1
        case .hour: TimeSpan.perHour
        case .sixHours: 6 * TimeSpan.perHour
        case .day: TimeSpan.perDay
        case .week: 7 * TimeSpan.perDay
        case .thirtyDays: 30 * TimeSpan.perDay
        case .window: nil
        }
    }

    /// Where the grid begins: weeks on Monday, 5 January 1970.
    private var origin: Int { self == .week ? 4 * TimeSpan.perDay : 0 }

    /// The name on the wire.
    var code: String {
        switch self {
        case .quarterHour: "quarter-hour"
        case .hour: "hour"
        case .sixHours: "six-hours"
        case .day: "day"
        case .week: "week"
        case .thirtyDays: "thirty-days"
        case .window: "window"
        }
    }

    init?(code: String) {
        guard let found = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = found
    }

    /// The grid's bucket that holds a quarter hour; nil for the window.
    func bucket(holding quarter: Int) -> TimeSpan? {
        guard let length else { return nil }
        let start = (quarter - origin).flooredQuotient(length) * length + origin
        return TimeSpan(start, start + length)
    }

    /// The buckets of the grid that lie wholly within a window. A bucket that sticks out is left out: what stands in it must depend on the
    /// filters, the type and the bucket alone, never on where a request begins. May be empty.
    func buckets(in window: DayWindow) -> [TimeSpan] {
        guard let length else { return [window.span] }
        let span = window.span
        let first = (span.start - origin + length - 1).flooredQuotient(length) * length + origin
        return stride(from: first, through: span.end - length, by: length).map { TimeSpan($0, $0 + length) }
    }
}

extension Int {
    /// Division that rounds down. - Precondition: `divisor` > 0.
    func flooredQuotient(_ divisor: Int) -> Int {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }

    /// Division that rounds to the nearest, halves up. - Precondition: `divisor` > 0.
    func roundedQuotient(_ divisor: Int) -> Int {
        (2 * self + divisor).flooredQuotient(2 * divisor)
    }
}
