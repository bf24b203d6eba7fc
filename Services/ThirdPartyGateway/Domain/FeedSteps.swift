// Steps of time of a subscription: which are touched by what arrived, and when they can be read.

import Contracts

/// The seconds, minutes or hours in which a grant hands out data (SHR-12).
struct FeedSteps: Hashable, Sendable {
    /// In ms.
    let width: Int64

    init(_ granularity: GrantGranularity) {
        switch granularity {
        case .seconds: width = 1000
        case .minutes: width = 60_000
        case .hours: width = 3_600_000
        }
    }

    func floor(_ time: Int64) -> Int64 {
        time.flooredQuotientAndRemainder(dividingBy: width).quotient * width
    }

    /// The whole steps that hold something of `range`, as far as they lie in `window`; empty where none does.
    func touched(_ range: Range<Int64>, window: Range<Int64>) -> Range<Int64> {
        guard !range.isEmpty else { return range.lowerBound..<range.lowerBound }
        let from = max(floor(range.lowerBound), window.lowerBound)
        let (end, overflow) = floor(range.upperBound - 1).addingReportingOverflow(width)
        let to = min(overflow ? .max : end, window.upperBound)
        return from..<max(from, to)
    }

    /// When the step that holds `time` is over, so that its value does not change by itself any more.
    func over(_ time: Int64, window: Range<Int64>) -> Int64 {
        min(floor(time) + width, window.upperBound)
    }

    /// What has to be read once at a subscription's beginning: steps that a download at the same moment could not hold yet. Entries
    /// may be dated a little ahead of the clock, as far as ingest usually lets them.
    func atBeginning(_ now: Int64, window: Range<Int64>) -> Range<Int64> {
        let ahead: Int64 = 60_000
        return touched((floor(now) - width)..<(now + ahead), window: window)
    }
}

/// Since when a subscription that runs has brought nothing (SHR-14): a person paused, or wears no device.
enum FeedQuiet {
    /// Steps that may pass without anything before it is said, and a minute for devices that send by the minute.
    private static let tolerance: (steps: Int64, ms: Int64) = (3, 60_000)

    /// - Parameters:
    ///   - newest: the time of the newest entry that was delivered; nil where there was none.
    ///   - begun: when the subscription began.
    /// - Returns: nil while data flow.
    static func since(newest: Timestamp?, begun: Timestamp, steps: FeedSteps, now: Timestamp) -> Timestamp? {
        let last = newest ?? begun
        return now.milliseconds - last.milliseconds > tolerance.steps * steps.width + tolerance.ms ? last : nil
    }
}
