// How long to wait before the next attempt. Among the contracts, because services' domains count with it.

/// Exponential, with jitter, so that many that failed at once do not all come back at once.
package struct Backoff: Hashable, Sendable {
    package let first: Duration
    package let last: Duration

    package init(_ first: Duration, upTo last: Duration) {
        (self.first, self.last) = (first, last)
    }

    /// - Parameters:
    ///   - failures: in a row, 1 or more.
    ///   - random: from 0 up to 1: the pause is between half of the whole one and all of it.
    package func pause(after failures: Int, random: Double) -> Duration {
        let doublings = min(max(failures, 1) - 1, 30)
        return min(last, first * (1 << doublings)) * (0.5 + random / 2)
    }
}
