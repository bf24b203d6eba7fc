// Hearing news without gaps: the machine decides, this does.

package import Contracts
import Foundation
package import Logging
import Metrics

/// What came of a question that a consumer asked its publisher.
enum ConsumerAnswer: Sendable {
    case replayed(stream: String, ReplayStream.Reply)
    case snapshot(stream: String, SnapshotStream.Reply)
    case failed(stream: String)
}

/// Follows one family: what is applied is gapless and in order per stream, whatever the network, the publisher and this process do.
package struct StreamConsumer: Sendable {
    private let family: StreamFamily
    private let inbox: StreamInbox
    private let publisher: BusClient
    private let logger: Logger
    private let freshness: StreamFreshness

    /// `publisher` is asked for replays and snapshots, and is told the positions.
    package init(
        family: StreamFamily, inbox: StreamInbox, publisher: BusClient, logger: Logger, freshness: StreamFreshness = StreamFreshness()
    ) {
        (self.family, self.inbox, self.publisher, self.logger, self.freshness) = (family, inbox, publisher, logger, freshness)
    }

    /// Runs until the task is cancelled or the node is shut down, and throws what `apply` and `restart` throw: the caller then
    /// runs it again from the stored positions.
    /// - Parameters:
    ///   - positions: As stored. A stream without one starts at the publisher's head, with a snapshot where there are such, or where the
    ///     publisher's log begins (`StreamFamily.tellsNewcomersAll`).
    ///   - apply: Applies at most 256 events of several streams and stores `next` in the same transaction. Without events,
    ///     stores `next` alone. Calls come one after the other. Where a stream begins must be on disk when this returns: killed
    ///     before, a newcomer would begin further on and never hear what was said in between.
    ///   - restart: Takes a page of a snapshot, and stores `next` with the last one. Killed before, a snapshot begins anew. Families that
    ///     keep state need it; of others it is never called.
    ///   - provisional: Receives what has no position in a stream (sequence 0), on arrival or once what came before it is applied:
    ///     perhaps twice, perhaps never, perhaps before or after the fact that it announces. Must return soon. Without it such facts are skipped.
    ///   - ahead: Is shown what comes live on a stream of which earlier facts are not applied yet, with a position or without one; it comes
    ///     again in its turn. Must return soon.
    ///   - passedOver: Facts of the stream were said that are never applied, since no log holds them any more. Called before the position
    ///     behind them is stored, so that after a crash between the two it is called again.
    ///   - durable: How far what was applied is on disk, for a consumer whose `apply` returns before: the publisher is told no more than this.
    ///     Without it what `apply` has returned from counts.
    package func run(
        from positions: [StreamPosition],
        apply: @escaping @Sendable (_ events: [StreamEvent], _ next: [StreamPosition]) async throws -> Void,
        restart: (@Sendable (_ page: SnapshotPage) async throws -> Void)? = nil,
        provisional: (@Sendable (_ event: StreamEvent) async -> Void)? = nil,
        ahead: (@Sendable (_ event: StreamEvent) async -> Void)? = nil,
        passedOver: (@Sendable (_ stream: String, _ facts: Int64) async throws -> Void)? = nil,
        durable: (@Sendable () -> [StreamPosition])? = nil
    ) async throws {
        precondition(restart != nil || !family.keepsState, "a family that keeps state begins with a snapshot")
        let clock = ContinuousClock()
        var snapshots = SnapshotPages()
        var machine = ConsumerMachine(family: family, streams: inbox.streams, positions: positions, now: clock.now)
        var stored = Dictionary(positions.map { ($0.stream, $0) }, uniquingKeysWith: { $1 })
        var tally = ConsumerTally(family.name)
        var nextConfirmation = clock.now
        var early = EarlyFacts()
        inbox.begin()
        try await withThrowingDiscardingTaskGroup { group in
            defer { group.cancelAll() }
            while !Task.isCancelled {
                let arrivals = await inbox.next()
                if arrivals.isClosed { return }
                let (live, heartbeatAt) = hear(arrivals.frames, &machine, at: clock.now)
                if provisional != nil { early.hold(live) }
                for event in live where !machine.isCurrent(event.header.stream) { await ahead?(event) }
                for answer in arrivals.answers {
                    switch answer {
                    case .replayed(let stream, let page): machine.replayed(stream, page, at: clock.now)
                    case .failed(let stream):
                        snapshots.breakOff(stream)
                        machine.failed(stream, at: clock.now)
                    case .snapshot(let stream, let reply):
                        guard let page = nextPage(reply, of: stream, &snapshots, &machine) else { continue }
                        // The next page comes while this one is taken.
                        if let after = reply.next { group.addTask { await takeSnapshot(of: stream, after: after) } }
                        try await restart?(page)
                        guard let next = page.next else { continue }
                        stored[stream] = next
                        machine.restarted(at: next, now: clock.now)
                    }
                }
                machine.passed(to: clock.now)
                for action in machine.take(at: clock.now) {
                    switch action {
                    case .apply(let events, let next):
                        try await apply(events, next)
                        for position in next { stored[position.stream] = position }
                    case .replay(let request): group.addTask { await replay(request) }
                    case .snapshot(let stream): group.addTask { await takeSnapshot(of: stream, after: nil) }
                    case .reopen: reopen()
                    case .putBack(let stream, let facts): putBack(stream, facts)
                    case .passOver(let stream, let facts):
                        passOver(stream, facts)
                        try await passedOver?(stream, facts)
                    }
                }
                // After what came before it: whoever is still behind would take the second of two entries for the first.
                for event in early.takeCurrent(by: machine) { await provisional?(event) }
                tally.record(machine)
                if let heartbeatAt, machine.isCurrent { freshness.noteCurrent(at: heartbeatAt) }
                if clock.now >= nextConfirmation, !stored.isEmpty {
                    nextConfirmation = clock.now + BusLimits.confirmEvery
                    let positions = durable?() ?? Array(stored.values)
                    group.addTask { await confirm(positions) }
                }
            }
        }
    }

    /// Gives back what is no heartbeat, and when the last one came.
    private func hear(
        _ frames: [StreamInbox.Frame], _ machine: inout ConsumerMachine, at now: ContinuousClock.Instant
    ) -> (live: [StreamEvent], heartbeatAt: ContinuousClock.Instant?) {
        var live: [StreamEvent] = []
        var heartbeatAt: ContinuousClock.Instant?
        for frame in frames {
            if let event = hear(frame, &machine, &heartbeatAt, at: now) { live.append(event) }
        }
        return (live, heartbeatAt)
    }

    private func hear(
        _ frame: StreamInbox.Frame, _ machine: inout ConsumerMachine, _ heartbeatAt: inout ContinuousClock.Instant?,
        at now: ContinuousClock.Instant
    ) -> StreamEvent? {
        // What cannot be read is a gap: the log has the same fact.
        guard let header = StreamHeader(frame: frame.header) else {
            BusMetrics.refused("unreadable").increment()
            return nil
        }
        if header.stream == family.heartbeatStream {
            if let heartbeat = try? CheckedJSON.decode(Heartbeat.self, from: frame.payload, of: .suite) {
                machine.heard(heartbeat, at: now)
                heartbeatAt = frame.at
            } else {
                BusMetrics.refused("unreadable").increment()
            }
            return nil
        }
        let event = StreamEvent(header: header, payload: frame.payload)
        machine.heard(event, at: now)
        return inbox.streams.contains(header.stream) ? event : nil
    }

    /// Nil where the snapshot is asked for anew.
    private func nextPage(
        _ reply: SnapshotStream.Reply, of stream: String, _ snapshots: inout SnapshotPages, _ machine: inout ConsumerMachine
    ) -> SnapshotPage? {
        if let page = snapshots.take(reply, of: stream) { return page }
        logger.debug("a snapshot starts over", metadata: ["stream": "\(stream)"])
        machine.failed(stream, at: .now)
        return nil
    }

    // MARK: Asking, each in a task of its own

    private func replay(_ request: ReplayStream) async {
        do throws(Failure) {
            inbox.leave(.replayed(stream: request.stream, try await publisher.replay(request)))
        } catch {
            fail(request.stream, error)
        }
    }

    private func takeSnapshot(of stream: String, after: String?) async {
        do throws(Failure) {
            inbox.leave(.snapshot(stream: stream, try await publisher.snapshot(SnapshotStream(stream: stream, after: after))))
        } catch {
            fail(stream, error)
        }
    }

    /// A lost confirmation is made good by the next one.
    private func confirm(_ positions: [StreamPosition]) async {
        do throws(Failure) {
            try await publisher.confirm(ConfirmPositions(positions: positions))
        } catch {
            logger.debug("positions not confirmed", metadata: ["family": "\(family.name)", "failure": "\(error.code.rawValue)"])
        }
    }

    private func fail(_ stream: String, _ failure: Failure) {
        logger.debug("nothing replayed", metadata: ["stream": "\(stream)", "failure": "\(failure.code.rawValue)"])
        inbox.leave(.failed(stream: stream))
    }

    private func reopen() {
        logger.warning("received nothing, subscribing again", metadata: ["family": "\(family.name)"])
        inbox.reopen()
    }

    private func putBack(_ stream: String, _ facts: Int64) {
        logger.critical(
            "a publisher has lost facts that were applied here: it was restored from a copy; waiting for its new epoch",
            metadata: ["stream": "\(stream)", "facts": "\(facts)"])
    }

    private func passOver(_ stream: String, _ facts: Int64) {
        logger.error(
            "the log of the publisher no longer holds facts that were missed", metadata: ["stream": "\(stream)", "facts": "\(facts)"])
        BusMetrics.lost(family.name).increment(by: facts)
    }
}

/// Tells the metrics what is new since the last time.
private struct ConsumerTally {
    private let lag: Gauge
    private let gaps: Counter
    private let replayed: Counter
    private var told = ConsumerMachine.Tally()

    init(_ family: String) {
        (lag, gaps, replayed) = (BusMetrics.lag(family), BusMetrics.gaps(family), BusMetrics.replayed(family))
    }

    mutating func record(_ machine: ConsumerMachine) {
        lag.record(machine.lag)
        guard machine.tally != told else { return }
        gaps.increment(by: machine.tally.gaps - told.gaps)
        replayed.increment(by: machine.tally.replayed - told.replayed)
        told = machine.tally
    }
}

/// Facts without a position in a stream, until what came before them is applied.
private struct EarlyFacts {
    private var events: [StreamEvent] = []

    /// Drops the oldest past either bound: what is held back may be a stranger's largest uploads.
    mutating func hold(_ live: [StreamEvent]) {
        events += live.filter { $0.header.sequence == 0 }
        var (kept, size) = (0, 0)
        for event in events.reversed() {
            size += event.payload.count
            guard kept < BusLimits.framesHeldBack, size <= BusLimits.bytesWaitingToBeRead else { break }
            kept += 1
        }
        events.removeFirst(events.count - kept)
    }

    /// In the order in which they came.
    mutating func takeCurrent(by machine: ConsumerMachine) -> [StreamEvent] {
        let current = events.filter { machine.isCurrent($0.header.stream) }
        if !current.isEmpty { events.removeAll { machine.isCurrent($0.header.stream) } }
        return current
    }
}
