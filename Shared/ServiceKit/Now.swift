// The one place where the suite's clock is read as a wall-clock time.

package import Contracts
import Foundation

extension Timestamp {
    /// May jump when the clock is set: durations are measured otherwise. Not for domain code, which is told the time.
    package static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
