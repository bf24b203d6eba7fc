// What a subscription has brought and its consumer has not read yet.

package import Contracts
import Metrics
import Synchronization

/// Holds the frames of one family for one consumer. When it is full, new frames are dropped: the consumer sees a gap and
/// replays. Nothing waits for a slow consumer.
package final class StreamInbox: Sendable {
    package let family: StreamFamily
    /// Those subscribed to; the family's heartbeat comes beside them.
    package let streams: [String]

    struct Frame: Sendable {
        let header: [UInt8]
        let payload: [UInt8]
        /// When it came, however long it waited here.
        let at: ContinuousClock.Instant
    }

    /// At most a batch of frames, and what the consumer's own questions brought.
    struct Arrivals: Sendable {
        var frames: [Frame] = []
        var answers: [ConsumerAnswer] = []
        var isClosed = false
    }

    private struct State {
        var frames = Queue<Frame>()
        var bytes = 0
        var answers: [ConsumerAnswer] = []
        var isClosed = false
        var mustReopen = false
        var reader: CheckedContinuation<Arrivals, Never>?

        mutating func take() -> Arrivals {
            let taken = Array(frames.take(atMost: BusLimits.batch))
            for frame in taken { bytes -= frame.header.count + frame.payload.count }
            defer { answers = [] }
            return Arrivals(frames: taken, answers: answers, isClosed: isClosed)
        }
    }

    private let state = Mutex(State())
    private let thread: SocketThread
    private let dropped: Counter

    init(family: StreamFamily, streams: [String], thread: SocketThread) {
        (self.family, self.streams, self.thread) = (family, streams, thread)
        dropped = BusMetrics.dropped("inbox-" + family.name)
    }

    // MARK: The consumer's side

    /// A consumer begins: answers to the questions of the one before are void.
    func begin() {
        state.withLock { $0.answers = [] }
    }

    /// What there is; waits while there is nothing, at most about `BusLimits.inboxTick`. For one reader at a time.
    func next() async -> Arrivals {
        await withCheckedContinuation { reader in
            let arrivals: Arrivals? = state.withLock { state in
                guard state.frames.isEmpty, state.answers.isEmpty, !state.isClosed else { return state.take() }
                precondition(state.reader == nil, "an inbox has one reader")
                state.reader = reader
                return nil
            }
            if let arrivals { reader.resume(returning: arrivals) }
        }
    }

    /// What came of a replay or a snapshot, for the reader.
    func leave(_ answer: ConsumerAnswer) {
        deliver { $0.answers.append(answer) }
    }

    /// Makes the subscription anew.
    func reopen() {
        state.withLock { $0.mustReopen = true }
        thread.wake()
    }

    var depth: Int {
        state.withLock { $0.frames.count }
    }

    // MARK: The socket thread's side

    func leave(_ frames: [Frame]) {
        deliver { state in
            var lost = 0
            for frame in frames {
                let bytes = frame.header.count + frame.payload.count
                if state.frames.count >= BusLimits.framesWaitingToBeRead || state.bytes + bytes > BusLimits.bytesWaitingToBeRead {
                    lost += 1
                } else {
                    state.frames.append(frame)
                    state.bytes += bytes
                }
            }
            if lost > 0 { dropped.increment(by: lost) }
        }
    }

    /// Lets a waiting reader look at the clock.
    func tick() {
        deliver { _ in }
    }

    func close() {
        deliver { $0.isClosed = true }
    }

    func takeReopen() -> Bool {
        state.withLock { state in
            defer { state.mustReopen = false }
            return state.mustReopen
        }
    }

    private func deliver(_ change: (inout State) -> Void) {
        let waiting: (CheckedContinuation<Arrivals, Never>, Arrivals)? = state.withLock { state in
            change(&state)
            guard let reader = state.reader else { return nil }
            state.reader = nil
            return (reader, state.take())
        }
        if let (reader, arrivals) = waiting { reader.resume(returning: arrivals) }
    }
}
