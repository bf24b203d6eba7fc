// Data at the step that a grant allows: one value for each second, minute or hour, and never an entry outside the window (SHR-12).

import Contracts

extension GrantGranularity {
    /// In ms.
    var width: Int64 {
        switch self {
        case .seconds: 1000
        case .minutes: 60_000
        case .hours: 3_600_000
        }
    }
}

/// One step of time as it is handed out.
struct Granule: Hashable, Sendable {
    /// Beginning of the whole step, in ms; the window may begin later.
    let start: Int64
    /// The mean of what was measured; nil for a position.
    let value: Double?
    /// The first one of the step.
    let position: Position?
}

/// Which entries go into which steps.
struct GranulePlan: Hashable, Sendable {
    let width: Int64
    /// Instants whose entries may be used, in ms: within the grant, within what was asked widened to whole steps, and no step that
    /// is still going on, whose value would change. Empty where there are none yet.
    let range: Range<Int64>
    /// Where the grant begins: no value is handed out with an earlier time.
    private let earliest: Int64

    /// `asked` has passed `GrantRules`.
    /// - Throws: `invalid` for a cursor that no page gave.
    init(_ asked: ReadSamples, under grant: GrantState, now: Timestamp) throws(ReadDenial) {
        let width = grant.granularity.width
        let window = grant.from.milliseconds..<grant.to.milliseconds
        var from = max(window.lowerBound, Self.floor(asked.from.milliseconds, width))
        if let after = asked.after {
            guard let start = Int64(after), start % width == 0, start >= Self.floor(window.lowerBound, width), start < window.upperBound
            else { throw .invalid("after is the next of the page before") }
            from = max(from, start + width)
        }
        let (asksTo, over) = Self.floor(asked.to.milliseconds, width).addingReportingOverflow(
            asked.to.milliseconds % width == 0 ? 0 : width)
        let complete = now >= grant.to ? window.upperBound : Self.floor(now.milliseconds, width)
        let to = min(window.upperBound, over ? .max : asksTo, complete)
        (self.width, range, earliest) = (width, from..<max(from, to), window.lowerBound)
    }

    /// The whole steps of the range; what lies before and after them is a cut one each.
    var whole: Range<Int64> {
        let first = Self.floor(range.lowerBound, width) == range.lowerBound ? range.lowerBound : Self.floor(range.lowerBound, width) + width
        let last = Self.floor(range.upperBound, width)
        return first..<max(first, last)
    }

    /// Everything before the whole steps, and everything after them.
    var cut: (before: Range<Int64>, after: Range<Int64>) {
        let whole = whole.clamped(to: range)
        return (range.lowerBound..<whole.lowerBound, whole.upperBound..<range.upperBound)
    }

    func start(of time: Int64) -> Int64 {
        Self.floor(time, width)
    }

    /// The time under which a step is handed out.
    func time(of granule: Granule) -> Timestamp {
        Timestamp(milliseconds: max(granule.start, earliest))
    }

    /// As they are handed out. The place where something was measured is a type of its own and never comes along with another.
    func samples(of granules: [Granule], _ metric: Metric) -> [Sample] {
        granules.map {
            Sample(type: metric, at: time(of: $0), value: $0.value, position: metric == .position ? $0.position : nil)
        }
    }

    /// Everything before this was read once these steps were, which are all there are unless there was no room for more.
    func readTo(_ granules: [Granule], hasMore: Bool) -> Timestamp {
        guard hasMore, let last = granules.last else { return Timestamp(milliseconds: range.upperBound) }
        return Timestamp(milliseconds: min(last.start + width, range.upperBound))
    }

    private static func floor(_ time: Int64, _ width: Int64) -> Int64 {
        time.flooredQuotientAndRemainder(dividingBy: width).quotient * width
    }
}

/// Folds single entries, in order of time, into steps.
struct GranuleFold: Sendable {
    private let width: Int64
    private var sum = 0.0
    private var count = 0
    private var place: Position?
    private var start: Int64?
    /// Steps after which an entry of a later one has come.
    private(set) var complete: [Granule] = []

    init(width: Int64) {
        self.width = width
    }

    mutating func add(_ sample: Sample) {
        let start = sample.at.milliseconds.flooredQuotientAndRemainder(dividingBy: width).quotient * width
        if start != self.start { close() }
        if self.start == nil {
            self.start = start
            place = sample.type == .position ? sample.position : nil
        }
        if let value = sample.value {
            sum += value
            count += 1
        }
    }

    /// No more entries follow.
    mutating func finish() -> [Granule] {
        close()
        return complete
    }

    private mutating func close() {
        guard let start else { return }
        complete.append(Granule(start: start, value: count > 0 ? sum / Double(count) : nil, position: place))
        (self.start, sum, count, place) = (nil, 0, 0, nil)
    }
}
