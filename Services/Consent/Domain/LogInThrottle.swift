// How long whoever guesses must wait: longer with every failure, never longer than a minute, never for good (CON-09).

import Contracts

/// Wrong log-ins in a row, of one account or from one address. A pure value; time is told.
struct FailureRun: Hashable, Sendable {
    var count: Int
    /// When the last one began.
    var last: Timestamp

    init(count: Int, last: Timestamp) {
        (self.count, self.last) = (count, last)
    }
}

/// When the next log-in may be tried after a run of failures.
struct LogInThrottle: Hashable, Sendable {
    static let longestWait = Duration.seconds(60)

    /// The failure after which the first wait comes.
    let first: Int
    /// A run ends by a success, or when nothing happened for that long.
    let memory: Duration

    /// Of one account: a second after the fifth failure in a row, then two, four … a minute.
    static let account = LogInThrottle(first: 5, memory: .seconds(24 * 3600))
    /// Of one remote address, behind which there may be a whole company: the same, from the twentieth failure.
    static let address = LogInThrottle(first: 20, memory: .seconds(15 * 60))

    /// The run as it counts now; nil where there is none any more.
    func current(_ run: FailureRun?, at now: Timestamp) -> FailureRun? {
        run.flatMap { now - $0.last < memory ? $0 : nil }
    }

    /// How long to wait before the next try; nil is leave to go on. Where the last try lies ahead, few failures make
    /// nobody wait, and many no longer than ever.
    func wait(after run: FailureRun?, at now: Timestamp) -> Duration? {
        guard let run = current(run, at: now) else { return nil }
        let left = pause(after: run.count) - (now - run.last.notAhead(of: now))
        return left > .zero ? left : nil
    }

    /// One more try: it counts as a failure until it has turned out to be right.
    func adding(to run: FailureRun?, at now: Timestamp) -> FailureRun {
        FailureRun(count: (current(run, at: now)?.count ?? 0) + 1, last: now)
    }

    private func pause(after count: Int) -> Duration {
        guard count >= first else { return .zero }
        return min(.seconds(1 << min(count - first, 6)), Self.longestWait)
    }
}
