// What is due and what is too late: told by a clock that a leap of the wall clock does not lead astray.

import Contracts
import ServiceKit

/// The wall clock, but never ahead of the time that has passed since the process began. A wall clock that leaps ahead, for six seconds
/// or for good, gives up no message and puts off no attempt; one that is set back is followed.
struct DeliveryClock: Sendable {
    private let wall: @Sendable () -> Timestamp
    private let steady: @Sendable () -> Duration
    private let began: Timestamp

    /// - Parameter steady: how long ago the process began, whatever is done to the wall clock; nil for what the machine counts.
    init(wall: @escaping @Sendable () -> Timestamp = { .now }, steady: (@Sendable () -> Duration)? = nil) {
        let start = ContinuousClock.now
        self.wall = wall
        self.steady = steady ?? { ContinuousClock.now - start }
        began = wall()
    }

    var now: Timestamp { min(wall(), began + steady()) }

    /// How long the process has run.
    var uptime: Duration { steady() }
}
