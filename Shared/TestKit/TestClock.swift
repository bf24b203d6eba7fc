// A clock for tests that cannot wait for hours to pass, and that must not hurry because the machine is slow.

package import Contracts
import Foundation
import Synchronization

/// The machine's time when it was made, and from then on only what a test adds.
package final class TestClock: Sendable {
    private let time = Mutex(Timestamp.ofTheMachine)

    package init() {}

    package var now: Timestamp { time.withLock { $0 } }

    package func advance(_ duration: Duration) {
        time.withLock { $0 = Timestamp(milliseconds: $0.milliseconds + duration.wholeMilliseconds) }
    }
}

extension Timestamp {
    /// Now, for tests that compare with what another process says.
    package static var ofTheMachine: Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
