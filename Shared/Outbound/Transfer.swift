// One request on its way.

import Synchronization

/// What the loop's thread keeps of a request. Submitted and cancelled from any thread, otherwise touched by the loop alone.
final class Transfer: Sendable {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    let request: OutboundRequest
    let deadline: ContinuousClock.Instant

    struct State: ~Copyable {
        var continuation: CheckedContinuation<Outcome, Never>?
        var head: [UInt8] = []
        var body: [UInt8] = []
        /// Decided in a callback; overrides libcurl's own word.
        var verdict: OutboundError?
        /// At least one address of the name was allowed, so that what went wrong is not the policy.
        var wasPermitted = false
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Bytes of header lines; no honest answer needs more.
    static let mostHeadBytes = 64 << 10

    init(_ request: OutboundRequest) {
        self.request = request
        deadline = .now + request.timeout
    }

    func begin(_ continuation: CheckedContinuation<Outcome, Never>) {
        state.withLock { $0.continuation = continuation }
    }

    /// Answers the caller, the first time it is called.
    func finish(_ outcome: Outcome) {
        let continuation = state.withLock { $0.continuation.take() }
        continuation?.resume(returning: outcome)
    }

    /// False where it is too much: the transfer ends.
    func receiveHead(_ line: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            // A status line begins the head anew: what came before was an interim answer.
            if line.starts(with: "HTTP/".utf8) { state.head.removeAll(keepingCapacity: true) }
            guard state.head.count + line.count <= Self.mostHeadBytes else {
                state.verdict = .tooLarge
                return false
            }
            state.head.append(contentsOf: line)
            return true
        }
    }

    /// False where it is too much: the transfer ends.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            guard state.body.count + bytes.count <= request.maxResponseBytes else {
                state.verdict = .tooLarge
                return false
            }
            state.body.append(contentsOf: bytes)
            return true
        }
    }

    func refuseAddress() {
        state.withLock { state in
            if !state.wasPermitted { state.verdict = .refusedAddress }
        }
    }

    func permitAddress() {
        state.withLock { state in
            state.wasPermitted = true
            if state.verdict == .refusedAddress { state.verdict = nil }
        }
    }

    /// Remembered here, because the word may come before the transfer has been submitted.
    func markCancelled() {
        state.withLock { $0.isCancelled = true }
    }

    var isCancelled: Bool {
        state.withLock { $0.isCancelled }
    }

    var verdict: OutboundError? {
        state.withLock { $0.verdict }
    }

    func response(status: Int) -> OutboundResponse {
        state.withLock { OutboundResponse(status: status, head: $0.head, body: $0.body) }
    }
}
