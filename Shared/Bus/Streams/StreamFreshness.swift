// How old what a consumer knows may be, for those who must refuse when it is too old.

import Synchronization

/// When everything that the publisher had said was last known to be applied here: the arrival of the last heartbeat after which nothing
/// was missing, on any stream of the family. A publisher that is silent, frames that cannot be read or wait to be read, a broken line
/// and a gap that cannot be closed all let it grow old.
package final class StreamFreshness: Sendable {
    private let current = Mutex<ContinuousClock.Instant?>(nil)

    /// Has no age until the consumer that was given it is up to date for the first time.
    package init() {}

    func noteCurrent(at now: ContinuousClock.Instant) {
        current.withLock { $0 = now }
    }

    /// Something that was said could not be kept: what is known has no age until the consumer is up to date again.
    package func forget() {
        current.withLock { $0 = nil }
    }

    /// How long ago that was; nil where it never was yet, and since `forget`.
    package var age: Duration? {
        current.withLock { $0 }.map { ContinuousClock.now - $0 }
    }
}
