// How slow this machine is while a test runs, so that a bound of time that a requirement promises can be asserted wherever the test runs.

import Foundation
import Synchronization

/// Compares, on a thread of its own beside what is tested, how long a little work takes with the processor time that it needs: about 1
/// on a quiet machine, 3 where three processes want each core. Costs some 2 % of one core.
package final class MachinePace: Sendable {
    /// A machine may be busy with other things, but a bound remains a bound.
    package static let mostSlowness = 5.0
    /// For a call for help that no process must be started for: what it waits for on purpose does not stretch, and what it computes is
    /// a small part of its bound on any machine. A call that takes half as long again is a fault of the suite, not of the machine.
    package static let mostSlownessOfCall = 1.5
    /// For a call for help that waits until a process was started anew: loading it is work, which a busy machine does later.
    package static let mostSlownessOfRestart = 2.0

    private static let pause = 0.04
    private static let workNanoseconds: UInt64 = 800_000

    private struct State {
        var samples: [Double] = []
        var isEnded = false
    }

    private let state = Mutex(State())

    /// Measures from now on, until it is let go.
    package init() {
        Thread.detachNewThread { [weak self] in
            while let self, state.withLock({ !$0.isEnded }) {
                let due = MachinePace.nanoseconds(of: CLOCK_MONOTONIC) + UInt64(MachinePace.pause * 1e9)
                // Not a task: how late the kernel lets a thread run is what is measured, not how late a pool of tasks does.
                Thread.sleep(forTimeInterval: MachinePace.pause)
                let begun = MachinePace.nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
                var now = begun
                while now - begun < MachinePace.workNanoseconds { now = MachinePace.nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) }
                let took = Double(MachinePace.nanoseconds(of: CLOCK_MONOTONIC) &- due)
                state.withLock { $0.samples.append(took / Double(now - begun)) }
            }
        }
    }

    /// Ends the measurement.
    package func end() {
        state.withLock { $0.isEnded = true }
    }

    /// At least 1: what nine of ten measurements stayed below.
    package var slowness: Double {
        let sorted = state.withLock { $0.samples }.sorted()
        guard !sorted.isEmpty else { return 1 }
        return min(MachinePace.mostSlowness, max(1, sorted[sorted.count * 9 / 10]))
    }

    /// A promise of `bound`, of which `waiting` is waited on purpose, as this machine can keep it.
    /// - Parameter most: however slow the machine is, the rest of the bound is not stretched further.
    package func allowed(_ bound: Duration, waiting: Duration = .zero, most: Double = MachinePace.mostSlowness) -> Duration {
        waiting + (bound - waiting) * min(slowness, most)
    }

    private static func nanoseconds(of clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
