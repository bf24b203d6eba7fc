// Saying news: from any task, without waiting, in order.

package import Contracts
import Logging
import Metrics
import Synchronization

/// Publishes the streams of one family. May be copied and used by many tasks; what one task says stays in its order.
package struct Publisher: Sendable {
    /// A fact of a stream that is not the family's is refused, counted and logged, never sent.
    package let family: StreamFamily
    let queue: PublisherQueue

    /// To be called after the commit that made the facts, in their order; never waits. `head` becomes each fact's own sequence.
    /// When more wait than the bus takes, frames are dropped: the heads are told all the same, and consumers replay.
    package func publish(_ events: [StreamEvent]) {
        queue.leave(events)
    }

    /// As `publish`, for what has no place in a stream: its sequence is 0, no log has it, and heads stay where they are.
    package func publishProvisionally(_ event: StreamEvent) {
        var event = event
        (event.header.sequence, event.header.head) = (0, 0)
        queue.leave([event])
    }

    /// Moves the head that heartbeats tell, for facts that were committed but not rendered because nobody listens.
    package func advance(_ stream: String, to head: Int64) {
        queue.advance(stream, to: head)
    }

    /// Whether a connected peer has subscribed to this stream. It may change at any time: who begins to listen replays.
    package func hasListeners(_ stream: String) -> Bool {
        queue.hasListeners(stream)
    }
}

/// Where tasks leave frames for the socket thread.
final class PublisherQueue: Sendable {
    struct Outgoing: Sendable {
        let stream: String
        let header: [UInt8]
        let payload: [UInt8]

        var bytes: Int { header.count + payload.count }
    }

    private struct State {
        var outgoing = Queue<Outgoing>()
        var bytes = 0
        var heads: [String: Int64]
        var listeners: [String: Int] = [:]
        var isClosed = false
    }

    let family: StreamFamily
    let epoch: String
    private let state: Mutex<State>
    private let thread: SocketThread
    private let logger: Logger

    init(family: StreamFamily, epoch: String, heads: [String: Int64], thread: SocketThread, logger: Logger) {
        (self.family, self.epoch, self.thread, self.logger) = (family, epoch, thread, logger)
        let known = Dictionary(uniqueKeysWithValues: family.streams.map { ($0, heads[$0] ?? 0) })
        state = Mutex(State(heads: known))
    }

    func leave(_ events: [StreamEvent]) {
        guard !events.isEmpty else { return }
        let frames = events.map { event in
            var header = event.header
            header.head = header.sequence
            return Outgoing(stream: header.stream, header: header.frame, payload: event.payload)
        }
        let (dropped, refused) = state.withLock { state in
            var (dropped, refused) = (0, 0)
            for (event, frame) in zip(events, frames) {
                guard let head = state.heads[frame.stream] else {
                    refused += 1
                    continue
                }
                state.heads[frame.stream] = max(head, event.header.sequence)
                if state.isClosed || frame.payload.count > BusLimits.factBytes || frame.header.count > StreamHeader.longestFrame {
                    refused += 1
                } else if state.outgoing.count >= BusLimits.framesWaitingToGo || state.bytes + frame.bytes > BusLimits.bytesWaitingToGo {
                    dropped += 1
                } else {
                    state.outgoing.append(frame)
                    state.bytes += frame.bytes
                }
            }
            return (dropped, refused)
        }
        if dropped > 0 { BusMetrics.dropped("publisher").increment(by: dropped) }
        if refused > 0 {
            BusMetrics.refused("publisher").increment(by: refused)
            logger.error("facts not published", metadata: ["family": "\(family.name)", "count": "\(refused)"])
        }
        thread.wake()
    }

    func advance(_ stream: String, to head: Int64) {
        state.withLock { state in
            guard let known = state.heads[stream] else { return }
            state.heads[stream] = max(known, head)
        }
    }

    func hasListeners(_ stream: String) -> Bool {
        state.withLock { state in
            if state.listeners.isEmpty { return false }
            if state.listeners[stream] != nil { return true }
            return state.listeners.keys.contains { stream.hasPrefix($0) }
        }
    }

    /// A subscription is a prefix; each consumer's counts.
    func subscribed(_ prefix: String, _ isComing: Bool) {
        state.withLock { state in
            let count = (state.listeners[prefix] ?? 0) + (isComing ? 1 : -1)
            state.listeners[prefix] = count > 0 ? count : nil
        }
    }

    /// The oldest waiting frames and, where these are all, the heads that hold after them.
    func take(atMost limit: Int) -> (frames: ArraySlice<Outgoing>, heads: [String: Int64]?) {
        state.withLock { state in
            let frames = state.outgoing.take(atMost: limit)
            for frame in frames { state.bytes -= frame.bytes }
            return (frames, state.outgoing.isEmpty ? state.heads : nil)
        }
    }

    var waiting: Int {
        state.withLock { $0.outgoing.count }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.listeners = [:]
        }
    }
}
