// What is too late: told by a clock that a leap of the wall clock does not lead astray.

package import Contracts
import Synchronization

/// The wall clock, but for a leap ahead: until the wall clock has been as much ahead for `trial`, time goes on as it has passed. So a clock
/// that is wrong for six seconds, or until somebody sets it right, gives up nothing and puts off nothing, and what waits is tried for the
/// trial at least; a clock that was behind when the process began, and was set right, is followed after the trial, however far behind it
/// was. One that is set back is followed at once.
package final class DeadlineClock: Sendable {
    /// How long the wall clock must stay ahead to be believed: longer than it takes to set one right that somebody was alarmed of.
    static let trial = Duration.seconds(3600)
    /// Leads that differ by less are one and the same: two looks at two clocks are not taken at once.
    private static let tolerance = Duration.seconds(1)
    /// What was too late already when the process began is spared for so long: the clock of a machine that has just started may not be
    /// right yet.
    package static let settlingTime = Duration.seconds(60)

    private struct State {
        /// What the wall clock showed when the process began, as far as it is believed.
        var origin: Timestamp
        /// How far the wall clock is ahead, and since when.
        var lead: (by: Duration, since: Duration)?
    }

    private let wall: @Sendable () -> Timestamp
    private let steady: @Sendable () -> Duration
    private let state: Mutex<State>

    /// - Parameter steady: how long ago the process began, whatever is done to the wall clock; nil for what the machine counts.
    package init(wall: @escaping @Sendable () -> Timestamp = { .now }, steady: (@Sendable () -> Duration)? = nil) {
        let start = ContinuousClock.now
        self.wall = wall
        self.steady = steady ?? { ContinuousClock.now - start }
        state = Mutex(State(origin: wall()))
    }

    /// To be asked more often than each trial, or a lead is noticed late.
    package var now: Timestamp {
        state.withLock { state in
            let (shown, uptime) = (wall(), steady())
            let lead = shown - (state.origin + uptime)
            guard lead > .zero else {
                state.lead = nil
                return shown
            }
            guard let known = state.lead, max(known.by, lead) - min(known.by, lead) < Self.tolerance else {
                state.lead = (lead, uptime)
                return state.origin + uptime
            }
            guard uptime - known.since >= Self.trial else { return state.origin + uptime }
            (state.origin, state.lead) = (shown - uptime, nil)
            return shown
        }
    }

    /// How long the process has run.
    package var uptime: Duration { steady() }
}
