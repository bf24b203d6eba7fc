// Decides what a consumer does with what it receives, so that each fact is applied once, in order, with none left out.

import Contracts

/// The rules of hearing one family: apply what is next, drop what was applied, hold back what comes too early and ask for what is
/// missing. A pure value: what happened goes in with the time of it, `take` gives what to do.
struct ConsumerMachine: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Action: Sendable {
        /// Apply these, and store these positions with the effect. Without events: store the positions alone.
        case apply([StreamEvent], [StreamPosition])
        case replay(ReplayStream)
        case snapshot(stream: String)
        /// Nothing was heard for too long: make the subscription anew.
        case reopen
        /// No log holds them any more; the family has no snapshots that could stand for them.
        case passOver(stream: String, facts: Int64)
        /// The publisher's log ends before what was applied from it: it was restored from a copy and has not noticed.
        case putBack(stream: String, facts: Int64)
    }

    /// Numbers for the metrics; they only grow.
    struct Tally: Equatable, Sendable {
        var gaps = 0
        var replayed = 0
    }

    private let keepsState: Bool
    private let tellsNewcomersAll: Bool
    /// How long nothing may be heard: three heartbeats, but at least a second.
    private let silence: Duration
    private let streams: [String]
    private var lines: [String: StreamLine]
    private var asksUnderWay = 0
    /// Where the next round of asking begins, so that each stream has its turn.
    private var turn = 0
    private var lastHeard: Instant
    private var mustReopen = false
    /// Whether the publisher has said, on this connection, how far its streams go.
    private var knowsHeads = false
    private var heldBack = 0
    private var steps: [Step] = []
    private var passedOver: [(stream: String, facts: Int64)] = []
    private var putBack: [(stream: String, facts: Int64)] = []
    private(set) var tally = Tally()

    private enum Step: Sendable {
        case event(StreamEvent)
        case position(StreamPosition)
    }

    /// `positions` as stored; a stream without one is new to this consumer.
    init(family: StreamFamily, streams: [String], positions: [StreamPosition], now: Instant) {
        (keepsState, tellsNewcomersAll) = (family.keepsState, family.tellsNewcomersAll)
        silence = max(family.heartbeat * 3, .seconds(1))
        self.streams = streams
        lines = Dictionary(uniqueKeysWithValues: streams.map { ($0, StreamLine()) })
        lastHeard = now
        for position in positions where lines[position.stream] != nil {
            lines[position.stream]?.place = .at(epoch: position.epoch, next: position.next)
        }
    }

    /// Facts between next and head, over all streams.
    var lag: Int64 {
        lines.values.reduce(0) { $0 + $1.missing }
    }

    /// Whether it is known where each stream stands, and nothing that is known to exist is left to apply.
    var isCurrent: Bool {
        lines.values.allSatisfy(\.isCurrent)
    }

    /// As `isCurrent`, of one stream, and by the publisher's own word since the connection began.
    func isCurrent(_ stream: String) -> Bool {
        knowsHeads && lines[stream]?.isCurrent ?? false
    }

    // MARK: What happened

    /// A frame of one of the streams came, live.
    mutating func heard(_ event: StreamEvent, at now: Instant) {
        lastHeard = now
        let header = event.header
        guard lines[header.stream] != nil, header.sequence > 0 else { return }
        if case .at(let epoch, _)? = lines[header.stream]?.place, epoch != header.epoch {
            meetEpoch(head: header.head, of: header.stream)
        }
        if lines[header.stream]?.isForeign == false { receive(event) }
    }

    mutating func heard(_ heartbeat: Heartbeat, at now: Instant) {
        lastHeard = now
        knowsHeads = true
        for stream in streams {
            guard let head = heartbeat.heads[stream], let line = lines[stream] else { continue }
            doubt(stream, epoch: heartbeat.epoch, head: head)
            switch line.place {
            case .unknown:
                if keepsState {
                    lines[stream]?.place = .voided
                } else {
                    settle(stream, at: heartbeat.epoch, next: tellsNewcomersAll ? 1 : head + 1)
                }
            case .voided: continue
            case .at(let epoch, _):
                if epoch != heartbeat.epoch { meetEpoch(head: head, of: stream) }
            }
            if lines[stream]?.isForeign == false { lines[stream]?.sawHead(head) }
        }
    }

    /// A page of the publisher's log came.
    mutating func replayed(_ stream: String, _ page: ReplayStream.Reply, at now: Instant) {
        guard let asked = endAsk(stream), case .replay(let askedEpoch, let from) = asked,
            case .at(let epoch, let next)? = lines[stream]?.place, epoch == askedEpoch
        else { return }
        guard page.epoch == epoch else { return begin(page, of: stream) }
        guard page.head >= from - 1 else { return meetLoss(of: from - 1 - page.head, of: stream, at: now) }
        lines[stream]?.agree()
        lines[stream]?.sawHead(page.head)
        if page.oldest > next, page.head >= next { return skipForgotten(stream, epoch: epoch, next: next, page: page) }
        for fact in page.facts where fact.header.stream == stream && fact.header.epoch == epoch && fact.header.sequence > 0 {
            if receive(StreamEvent(header: fact.header, payload: Array(fact.payload.utf8))) { tally.replayed += 1 }
        }
        let gaveNothing = lines[stream]?.next == next && (lines[stream]?.missing ?? 0) > 0
        lines[stream]?.endAttempt(failed: gaveNothing, at: now)
    }

    /// No answer to a replay or a snapshot, or a refusal.
    mutating func failed(_ stream: String, at now: Instant) {
        guard endAsk(stream) != nil else { return }
        lines[stream]?.endAttempt(failed: true, at: now)
    }

    /// The snapshot stands in the consumer's store, together with `next`.
    mutating func restarted(at position: StreamPosition, now: Instant) {
        guard endAsk(position.stream) != nil else { return }
        lines[position.stream]?.endAttempt(failed: false, at: now)
        settle(position.stream, at: position.epoch, next: position.next, isStored: true)
    }

    /// Time went on.
    mutating func passed(to now: Instant) {
        guard now - lastHeard >= silence else { return }
        // The answering socket may work where the subscription does not: ask it too.
        lastHeard = now
        mustReopen = true
        knowsHeads = false
        for stream in streams { lines[stream]?.mustProbe = true }
    }

    // MARK: What to do

    /// Everything that is to be done now, in this order.
    mutating func take(at now: Instant) -> [Action] {
        var actions: [Action] = passedOver.map { .passOver(stream: $0.stream, facts: $0.facts) }
        actions += putBack.map { .putBack(stream: $0.stream, facts: $0.facts) }
        (passedOver, putBack) = ([], [])
        actions += takeSteps()
        actions += takeAsks(at: now)
        if mustReopen { actions.append(.reopen) }
        mustReopen = false
        return actions
    }

    private mutating func takeSteps() -> [Action] {
        var actions: [Action] = []
        var events: [StreamEvent] = []
        var next: [String: StreamPosition] = [:]
        func position(after header: StreamHeader) -> StreamPosition {
            StreamPosition(stream: header.stream, epoch: header.epoch, next: header.sequence + 1)
        }
        for step in steps {
            switch step {
            case .event(let event):
                events.append(event)
                next[event.header.stream] = position(after: event.header)
            case .position(let position):
                next[position.stream] = position
            }
            if events.count == BusLimits.batch {
                actions.append(.apply(events, Array(next.values)))
                (events, next) = ([], [:])
            }
        }
        if !next.isEmpty { actions.append(.apply(events, Array(next.values))) }
        steps.removeAll(keepingCapacity: true)
        return actions
    }

    private mutating func takeAsks(at now: Instant) -> [Action] {
        var actions: [Action] = []
        for offset in streams.indices where asksUnderWay < BusLimits.asksAtOnce {
            let stream = streams[(turn + offset) % streams.count]
            guard let action = lines[stream]?.ask(stream, at: now) else { continue }
            if case .replay = action, lines[stream]?.isBehind == false, (lines[stream]?.missing ?? 0) > 0 {
                tally.gaps += 1
                lines[stream]?.isBehind = true
            }
            asksUnderWay += 1
            actions.append(action)
            if asksUnderWay == BusLimits.asksAtOnce { turn = (turn + offset + 1) % streams.count }
        }
        return actions
    }

    // MARK: Steps

    /// Takes one fact of the right epoch; true where it, and perhaps what waited for it, can be applied.
    @discardableResult
    private mutating func receive(_ event: StreamEvent) -> Bool {
        switch lines[event.header.stream]?.accept(event, mayHold: heldBack < BusLimits.framesHeldBack) {
        case .next:
            steps.append(.event(event))
            release(event.header.stream)
            return true
        case .held: heldBack += 1
        case .dropped, nil: break
        }
        return false
    }

    /// Applies what was held back and is next now.
    private mutating func release(_ stream: String) {
        guard let released = lines[stream]?.release() else { return }
        heldBack -= released.count
        for event in released { steps.append(.event(event)) }
    }

    /// What is heard ends before what was applied. Mostly a replay has overtaken it; else the publisher was restored: it is asked.
    private mutating func doubt(_ stream: String, epoch: String, head: Int64) {
        guard case .at(epoch, let next)? = lines[stream]?.place, head < next - 1 else { return }
        lines[stream]?.mustProbe = true
    }

    /// The publisher's own answer ends before what had been applied when it was asked. What it says from here on would be dropped as known:
    /// the stream is not current any more, and the publisher is asked until it has begun a new epoch, as it does when it is asked so.
    private mutating func meetLoss(of facts: Int64, of stream: String, at now: Instant) {
        if lines[stream]?.meetPutBack() == true { putBack.append((stream, facts)) }
        dropHeld(stream) { _ in true }
        lines[stream]?.endAttempt(failed: true, at: now)
    }

    /// Another epoch than the consumer's was heard of. What is known of a state is void; of other streams the publisher is asked where
    /// to go on. What of the epoch comes before its answer is replayed: it may be a late frame of the one that is over.
    private mutating func meetEpoch(head: Int64, of stream: String) {
        dropHeld(stream) { _ in true }
        if keepsState {
            lines[stream]?.place = .voided
            lines[stream]?.head = head
        } else {
            lines[stream]?.isForeign = true
        }
    }

    /// The publisher has said where its new epoch begins for this consumer.
    private mutating func begin(_ page: ReplayStream.Reply, of stream: String) {
        meetEpoch(head: page.head, of: stream)
        guard !keepsState else { return }
        settle(stream, at: page.epoch, next: max(1, page.oldest))
        lines[stream]?.sawHead(page.head)
    }

    /// The consumer goes on from here.
    private mutating func settle(_ stream: String, at epoch: String, next: Int64, isStored: Bool = false) {
        lines[stream]?.place = .at(epoch: epoch, next: next)
        lines[stream]?.agree()
        if !isStored { steps.append(.position(StreamPosition(stream: stream, epoch: epoch, next: next))) }
        dropHeld(stream) { $0.header.epoch != epoch || $0.header.sequence < next }
        let highestHeld = lines[stream]?.held.keys.max() ?? 0
        lines[stream]?.head = max(next - 1, highestHeld)
        release(stream)
    }

    /// The log does not hold `next` any more.
    private mutating func skipForgotten(_ stream: String, epoch: String, next: Int64, page: ReplayStream.Reply) {
        if keepsState {
            lines[stream]?.place = .voided
        } else {
            let oldest = min(page.oldest, page.head + 1)
            passedOver.append((stream, oldest - next))
            settle(stream, at: epoch, next: oldest)
            lines[stream]?.sawHead(page.head)
        }
    }

    private mutating func dropHeld(_ stream: String, where isVoid: (StreamEvent) -> Bool) {
        guard let held = lines[stream]?.held, !held.isEmpty else { return }
        let kept = held.filter { !isVoid($0.value) }
        heldBack -= held.count - kept.count
        lines[stream]?.held = kept
    }

    private mutating func endAsk(_ stream: String) -> StreamLine.Ask? {
        guard let asked = lines[stream]?.asked else { return nil }
        lines[stream]?.asked = nil
        asksUnderWay -= 1
        return asked
    }
}
