// The asking side's socket: sends questions when the connection takes them, hands each answer to who waits for it.

import Contracts
import Synchronization

/// What came of a question.
enum AskOutcome: Sendable {
    case answer(Result<[UInt8], Failure>)
    case silence, cancelled, closed, tooMany
}

/// Where tasks leave their questions for the socket thread.
final class ClientRequests: Sendable {
    struct Ask: Sendable {
        let id: String
        /// Makes the envelope of the next attempt; its deadline is new each time.
        let envelope: @Sendable () -> [UInt8]
        /// How long each attempt waits.
        let timeout: Duration
        var attemptsLeft: Int
        var until: ContinuousClock.Instant
        let waiter: CheckedContinuation<AskOutcome, Never>
    }

    private struct State {
        var asks: [Ask] = []
        var cancelled: [String] = []
        var waiting = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let thread: SocketThread

    init(thread: SocketThread) {
        self.thread = thread
    }

    /// Sends and sends again until an answer to one of the attempts came, or none came to the last one.
    func exchange(
        id: String, timeout: Duration, attempts: Int, envelope: @escaping @Sendable () -> [UInt8]
    ) async -> AskOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                leave(
                    Ask(
                        id: id, envelope: envelope, timeout: timeout, attemptsLeft: max(1, attempts) - 1, until: .now + timeout,
                        waiter: waiter))
                // The handler may have run before there was anything to cancel.
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    private func leave(_ ask: Ask) {
        let refusal: AskOutcome? = state.withLock { state in
            if state.isClosed { return .closed }
            if state.waiting >= BusLimits.questionsWaiting { return .tooMany }
            state.waiting += 1
            state.asks.append(ask)
            return nil
        }
        if let refusal { ask.waiter.resume(returning: refusal) } else { thread.wake() }
    }

    private func cancel(_ id: String) {
        state.withLock { $0.cancelled.append(id) }
        thread.wake()
    }

    func takeNew() -> (asks: [Ask], cancelled: [String]) {
        state.withLock { state in
            defer { (state.asks, state.cancelled) = ([], []) }
            return (state.asks, state.cancelled)
        }
    }

    func finish(_ ask: Ask, _ outcome: AskOutcome) {
        state.withLock { $0.waiting -= 1 }
        ask.waiter.resume(returning: outcome)
    }

    func close() {
        state.withLock { $0.isClosed = true }
    }
}

final class ClientSocket: SocketHandler {
    let socket: Socket
    private let requests: ClientRequests
    private var waiting: [String: ClientRequests.Ask] = [:]
    private var unsent = Queue<String>()
    /// No waiting question ends before this; questions that were answered may make it too early.
    private var earliest: ContinuousClock.Instant?

    init(socket: Socket, requests: ClientRequests) {
        (self.socket, self.requests) = (socket, requests)
    }

    var waitsForRoom: Bool { !unsent.isEmpty }

    func work(at now: ContinuousClock.Instant) {
        let new = requests.takeNew()
        for ask in new.asks {
            // An id that is asked twice at once: the later one gets the answer.
            if let former = waiting.updateValue(ask, forKey: ask.id) { requests.finish(former, .cancelled) }
            unsent.append(ask.id)
            earliest = min(earliest ?? ask.until, ask.until)
        }
        for id in new.cancelled { end(id, .cancelled) }
        sendWaiting()
        retry(at: now)
    }

    func nextDue(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        earliest
    }

    func receive(at now: ContinuousClock.Instant) {
        for _ in 0..<BusLimits.batch {
            guard let message = socket.receive() else { return }
            guard let envelope = message.frames.last, let answer = Answer(envelope: envelope) else { continue }
            if case .failure(let failure) = answer.result, let ask = waiting[answer.id], ask.attemptsLeft > 0 {
                // An attempt that came too late does not speak for the one that is under way.
                if failure.code == .deadline { continue }
                if failure.code == .unavailable {
                    askAgainSoon(ask, at: now)
                    continue
                }
            }
            end(answer.id, .answer(answer.result))
        }
    }

    /// A server that stops says so within milliseconds; the one that begins in its place has the rest of the question's time.
    private func askAgainSoon(_ ask: ClientRequests.Ask, at now: ContinuousClock.Instant) {
        let until = min(ask.until, now + BusLimits.unavailablePause)
        waiting[ask.id]?.until = until
        earliest = min(earliest ?? until, until)
    }

    func end() {
        requests.close()
        work(at: .now)
        for id in Array(waiting.keys) { end(id, .closed) }
    }

    private func end(_ id: String, _ outcome: AskOutcome) {
        if let ask = waiting.removeValue(forKey: id) { requests.finish(ask, outcome) }
    }

    private func sendWaiting() {
        while let id = unsent.first {
            if let ask = waiting[id], !socket.send([ask.envelope()]) { return }
            unsent.removeFirst()
        }
    }

    /// What got no answer in time is asked again, or ends.
    private func retry(at now: ContinuousClock.Instant) {
        guard let earliest, earliest <= now else { return }
        for ask in waiting.values where ask.until <= now {
            if ask.attemptsLeft == 0 {
                end(ask.id, .silence)
            } else {
                waiting[ask.id]?.attemptsLeft -= 1
                waiting[ask.id]?.until = now + ask.timeout
                if !unsent.contains(ask.id) { unsent.append(ask.id) }
            }
        }
        self.earliest = waiting.values.map(\.until).min()
        sendWaiting()
    }
}
