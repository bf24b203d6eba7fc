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

    /// The time under which the step that begins then is handed out.
    func time(of start: Int64) -> Timestamp {
        Timestamp(milliseconds: max(start, earliest))
    }

    /// As they are handed out. Only the first can begin before the window.
    func columns(_ granules: EntryColumns, of metric: Metric) -> SampleColumns {
        var times = granules.times
        if let first = times.first { times[0] = time(of: first).milliseconds }
        return SampleColumns(of: metric, times: times, values: granules.values, positions: granules.positions)
    }

    /// Everything before this was read once these steps were, which are all there are unless there was no room for more.
    func readTo(_ granules: EntryColumns, hasMore: Bool) -> Timestamp {
        guard hasMore, let last = granules.times.last else { return Timestamp(milliseconds: range.upperBound) }
        return Timestamp(milliseconds: end(of: last))
    }

    /// Of the step that begins then, as far as it lies in the range.
    func end(of start: Int64) -> Int64 {
        min(start + width, range.upperBound)
    }

    private static func floor(_ time: Int64, _ width: Int64) -> Int64 {
        time.flooredQuotientAndRemainder(dividingBy: width).quotient * width
    }
}

/// Folds single entries, in order of time, into steps: of each its beginning, and the mean of what was measured or the first position.
struct GranuleFold: Sendable {
    private let width: Int64
    private var step: Range<Int64>?
    private var sum = 0.0
    private var count = 0
    private var place: Position?
    /// Steps after which an entry of a later one has come.
    private(set) var complete = EntryColumns()

    init(width: Int64) {
        self.width = width
    }

    mutating func add(_ entries: EntryColumns) {
        complete.makeRoom(for: entries)
        for index in entries.times.indices {
            begin(with: entries.times[index])
            if entries.positions.isEmpty {
                sum += entries.values[index]
                count += 1
            } else if place == nil {
                place = entries.positions[index]
            }
        }
    }

    /// No more entries follow.
    mutating func finish() -> EntryColumns {
        close()
        return complete
    }

    private mutating func begin(with time: Int64) {
        if let step, step.contains(time) { return }
        // Mostly it is in the next one: no division.
        let next = step?.upperBound
        close()
        let start: Int64 =
            if let next, time >= next, time &- next < width { next } else {
                time.flooredQuotientAndRemainder(dividingBy: width).quotient * width
            }
        step = start..<start + width
    }

    private mutating func close() {
        guard let step else { return }
        if let place {
            complete.append(step.lowerBound, position: place)
        } else {
            complete.append(step.lowerBound, value: sum / Double(count))
        }
        (self.step, sum, count, place) = (nil, 0, 0, nil)
    }
}
