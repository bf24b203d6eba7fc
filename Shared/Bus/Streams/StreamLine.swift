// How a consumer stands with one stream.

import Contracts

/// The part of `ConsumerMachine` that concerns one stream.
struct StreamLine: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Place: Equatable, Sendable {
        /// New here: the first heartbeat says where to begin.
        case unknown
        /// What was known counts no more: a snapshot is needed.
        case voided
        case at(epoch: String, next: Int64)
    }

    enum Ask: Equatable, Sendable {
        case replay(epoch: String, from: Int64)
        case snapshot
    }

    var place = Place.unknown
    /// The highest sequence that is known to exist.
    var head: Int64 = 0
    /// Frames that came before their turn, by sequence.
    var held: [Int64: StreamEvent] = [:]
    var asked: Ask?
    /// Ask although nothing is known to be missing.
    var mustProbe = false
    /// The publisher counts in another epoch, and has not said yet where to go on in it.
    var isForeign = false
    /// The publisher knows less than was applied from it, in the same epoch: it was restored, and has not begun a new epoch yet.
    private(set) var isPutBack = false
    /// A gap was counted and is not closed yet.
    var isBehind = false
    private var failures = 0
    private var notBefore: Instant?

    var next: Int64? {
        if case .at(_, let next) = place { next } else { nil }
    }

    /// Facts that exist and are not applied.
    var missing: Int64 {
        next.map { max(0, head - $0 + 1) } ?? 0
    }

    var isCurrent: Bool { next != nil && missing == 0 && !isForeign }

    /// What becomes of one fact.
    enum Reception {
        /// It is next: the place has moved behind it.
        case next
        /// It waits for what is missing before it.
        case held
        /// It was applied before, waits already, there is no room to hold it, or nobody knows yet where to begin.
        case dropped
    }

    mutating func accept(_ event: StreamEvent, mayHold: Bool) -> Reception {
        let sequence = event.header.sequence
        sawHead(max(event.header.head, sequence))
        if case .at(let epoch, let next) = place {
            if sequence == next {
                place = .at(epoch: epoch, next: next + 1)
                return .next
            }
            if sequence < next { return .dropped }
        } else if case .unknown = place {
            return .dropped
        }
        guard mayHold, held[sequence] == nil else { return .dropped }
        held[sequence] = event
        return .held
    }

    /// Takes out what was held back and is next now, and moves the place behind it.
    mutating func release() -> [StreamEvent] {
        guard case .at(let epoch, var next) = place else { return [] }
        var released: [StreamEvent] = []
        while !held.isEmpty, let event = held.removeValue(forKey: next) {
            released.append(event)
            next += 1
        }
        if !released.isEmpty { place = .at(epoch: epoch, next: next) }
        if missing == 0 { isBehind = false }
        return released
    }

    /// Says whether that is new.
    mutating func meetPutBack() -> Bool {
        defer { (isForeign, isPutBack) = (true, true) }
        return !isPutBack
    }

    /// The publisher and this consumer speak of one log.
    mutating func agree() {
        (isForeign, isPutBack) = (false, false)
    }

    mutating func sawHead(_ seen: Int64) {
        head = max(head, seen)
    }

    /// After failures the next attempt waits 20 ms, 40 ms … at most 200 ms: a publisher that is back shall not wait for us.
    mutating func endAttempt(failed: Bool, at now: Instant) {
        failures = failed ? failures + 1 : 0
        notBefore = failed ? now + .milliseconds(min(200, 10 << min(failures, 5))) : nil
    }

    /// The question to ask now, if there is one, marked as asked.
    mutating func ask(_ stream: String, at now: Instant) -> ConsumerMachine.Action? {
        guard asked == nil, notBefore.map({ $0 <= now }) ?? true else { return nil }
        switch place {
        case .unknown: return nil
        case .voided:
            asked = .snapshot
            return .snapshot(stream: stream)
        case .at(let epoch, let next):
            guard missing > 0 || mustProbe || isForeign else { return nil }
            mustProbe = false
            asked = .replay(epoch: epoch, from: next)
            let pageEnd = next + Int64(BusLimits.factsPerPage) - 1
            let through = held.keys.min().map { min($0 - 1, pageEnd) } ?? pageEnd
            return .replay(ReplayStream(stream: stream, epoch: epoch, from: next, through: through))
        }
    }
}
