// Does rounds of work until it is cancelled: the one loop of workers that wait for a wake-up signal and poll in case it was lost.

package import Contracts
import Storage

/// What a round says of the next one.
package enum NextRound: Hashable, Sendable {
    /// There may be more to do already.
    case atOnce
    /// At the wake-up signal, at the latest after the poll interval.
    case whenWoken
    /// As `whenWoken`, and at the latest after this time: by the round's own clock, something is due then.
    case after(Duration)
    /// The round failed and has said so: after the backoff.
    case backOff
}

/// What a round works off is in the store, so that a lost wake-up costs a poll interval and a restart nothing.
package struct WorkLoop: Sendable {
    /// Says in the log what a round threw, without personal data; throws what the worker cannot go on after.
    package typealias Failed = @Sendable (any Error) throws -> Void
    /// At most so long; without a signal, nothing but the end of the task shortens it.
    typealias Wait = @Sendable (Duration, WakeUpSignal?) async -> Void

    private let interval: Duration
    private let signal: WakeUpSignal
    private let backoff: Backoff?
    private let failed: Failed
    private let wait: Wait

    /// - Parameters:
    ///   - interval: the poll interval.
    ///   - signal: waited for by this loop alone; without it the interval is the pace.
    ///   - backoff: after failures in a row, without jitter, as one worker waits. Without it a round that failed is followed as any other.
    ///   - failed: is not told of what the end of the task or a closed store throws, which end the loop. Without it every error does.
    package init(
        every interval: Duration, signal: WakeUpSignal = WakeUpSignal(), backoff: Backoff? = nil, failed: @escaping Failed = { throw $0 }
    ) {
        self.init(every: interval, signal: signal, backoff: backoff, failed: failed) { limit, signal in
            _ = await (signal ?? WakeUpSignal()).wait(atMost: limit)
        }
    }

    /// - Parameter wait: for tests, which do not wait.
    init(every interval: Duration, signal: WakeUpSignal, backoff: Backoff?, failed: @escaping Failed, wait: @escaping Wait) {
        (self.interval, self.signal, self.backoff) = (interval, signal, backoff)
        (self.failed, self.wait) = (failed, wait)
    }

    /// Begins with a round.
    /// - Throws: `CancellationError` when the task is cancelled, or what `failed` throws.
    package func run(_ round: @escaping @Sendable () async throws -> NextRound) async throws {
        var failures = 0
        while !Task.isCancelled {
            let next: NextRound
            do {
                next = try await round()
            } catch {
                try Task.checkCancellation()
                if error as? StoreError == .closed { throw error }
                try failed(error)
                next = .backOff
            }
            failures = next == .backOff ? failures + 1 : 0
            await pause(before: next, failures)
        }
        throw CancellationError()
    }

    /// As `run`, for rounds that say nothing of the next one.
    package func poll(_ round: @escaping @Sendable () async throws -> Void) async throws {
        try await run {
            try await round()
            return .whenWoken
        }
    }

    private func pause(before next: NextRound, _ failures: Int) async {
        switch next {
        case .atOnce: return
        case .whenWoken: await wait(interval, signal)
        // A round that comes a moment too early for its clock must not spin.
        case .after(let time): await wait(min(max(.milliseconds(1), time), interval), signal)
        case .backOff:
            guard let backoff else { return await wait(interval, signal) }
            // Not shortened by wake-ups: while they keep coming, a full disk is not asked and complained of again at each.
            await wait(backoff.first, nil)
            let rest = backoff.pause(after: failures, random: 1) - backoff.first
            if rest > .zero { await wait(rest, signal) }
        }
    }
}
