// What has come before its turn: it has no place in a stream, or what was said before it is still to be applied.

import Contracts

/// Keeps such frames, the newest within bounds, until they may be handed on. What has a place in a stream comes once more in that place,
/// from the machine; whoever is told of it here is told of a copy.
struct FactsAhead: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Waiting: Sendable {
        let event: StreamEvent
        /// Whether it was handed on ahead, and left for later.
        var isLeft = false
    }

    private var waiting: [Waiting] = []
    private var behindSince: Instant?

    /// Whether something was missed that is not applied yet, on any stream.
    var isBehind: Bool { behindSince != nil }

    mutating func note(_ event: StreamEvent) {
        waiting.append(Waiting(event: event))
    }

    /// It was handed on ahead and is to be handed on again once its stream is current.
    mutating func leave(_ event: StreamEvent) {
        waiting.append(Waiting(event: event, isLeft: true))
    }

    /// Drops the oldest past either bound: what is held back may be a stranger's largest uploads.
    mutating func keepNewest(frames: Int, bytes: Int) {
        guard !waiting.isEmpty else { return }
        var (kept, size) = (0, 0)
        for one in waiting.reversed() {
            size += one.event.payload.count
            guard kept < frames, size <= bytes else { break }
            kept += 1
        }
        waiting.removeFirst(waiting.count - kept)
    }

    mutating func fellBehind(at now: Instant) {
        behindSince = behindSince ?? now
    }

    mutating func caughtUp() {
        behindSince = nil
    }

    /// Takes out each once, from `BusLimits.aheadTimeout` after falling behind on: a frame that was lost alone is there again in milliseconds,
    /// and what it tells comes first.
    mutating func takeAhead(at now: Instant) -> [StreamEvent] {
        guard let behindSince, now - behindSince >= BusLimits.aheadTimeout else { return [] }
        let ahead = waiting.filter { !$0.isLeft }
        if !ahead.isEmpty { waiting.removeAll { !$0.isLeft } }
        return ahead.map(\.event)
    }

    /// Takes out what belongs to streams that are current.
    /// - Returns: of it, what has no place in a stream; the rest was applied in its place.
    mutating func takeCurrent(_ isCurrent: (String) -> Bool) -> [StreamEvent] {
        guard !waiting.isEmpty else { return [] }
        var current: [StreamEvent] = []
        var others: [Waiting] = []
        for one in waiting {
            if !isCurrent(one.event.header.stream) {
                others.append(one)
            } else if one.event.header.sequence == 0 {
                current.append(one.event)
            }
        }
        waiting = others
        return current
    }
}
