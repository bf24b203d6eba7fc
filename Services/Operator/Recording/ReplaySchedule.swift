// When each row of a recording is sent, and which time its entries carry.

import Contracts

/// Recorded times as they are, or moved (and, for a faster life, pressed together) so that the first row is now.
struct ReplaySchedule: Hashable, Sendable {
    var first: Timestamp
    /// Where the first row goes; nil keeps recorded times.
    var liveFrom: Timestamp?
    /// How many times faster than it was recorded; nil: as fast as it can be sent, which recorded times alone allow.
    var speed: Double?

    /// `live` without a speed plays at the recorded pace.
    init(first: Timestamp, live now: Timestamp?, speed: Double?) {
        self.first = first
        liveFrom = now
        self.speed = speed ?? (now == nil ? nil : 1)
    }

    /// The time that an entry of this row carries.
    func time(of recorded: Timestamp) -> Timestamp {
        guard let liveFrom else { return recorded }
        return Timestamp(milliseconds: liveFrom.milliseconds + offset(of: recorded).wholeMilliseconds)
    }

    /// How long after the start the row is due.
    func due(_ recorded: Timestamp) -> Duration {
        speed == nil ? .zero : offset(of: recorded)
    }

    private func offset(of recorded: Timestamp) -> Duration {
        let elapsed = Double(recorded.milliseconds - first.milliseconds)
        return .milliseconds(Int64((elapsed / (speed ?? 1)).rounded(.down)))
    }
}
