// One request or mail on its way.

import Synchronization

/// What one transfer carries.
enum TransferCommand: Sendable {
    case request(OutboundRequest)
    case mail(OutboundMail, to: MailServer)

    var timeout: Duration {
        switch self {
        case .request(let request): request.timeout
        case .mail(let mail, _): mail.timeout
        }
    }

    var connectTimeout: Duration {
        switch self {
        case .request(let request): request.connectTimeout
        case .mail(let mail, _): mail.connectTimeout
        }
    }

    var maxResponseBytes: Int {
        switch self {
        case .request(let request): request.maxResponseBytes
        case .mail: 0
        }
    }
}

/// What the loop's thread keeps of an command. Submitted and cancelled from any thread, otherwise touched by the loop alone.
final class Transfer: Sendable {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    let command: TransferCommand
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
        /// Bytes of a mail that libcurl has taken.
        var uploaded = 0
        /// Whether the other side may have everything it needs to act, whatever came back.
        var wasHandedOver = false
        /// When a mail's server said the last thing after it had been given everything.
        var repliedAt: ContinuousClock.Instant?
        /// The last reply code; 0 where there was none.
        var status = 0
    }

    private let state = Mutex(State())

    /// How long a server may take to say good-bye, once it has said what became of the mail.
    private static let farewell = Duration.seconds(1)
    /// Bytes of header lines; no honest answer needs more.
    static let mostHeadBytes = 64 << 10

    init(_ command: TransferCommand) {
        self.command = command
        deadline = .now + command.timeout
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
            if state.wasHandedOver { state.repliedAt = .now }
            return true
        }
    }

    /// False where it is too much: the transfer ends.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            guard state.body.count + bytes.count <= command.maxResponseBytes else {
                state.verdict = .tooLarge
                return false
            }
            state.body.append(contentsOf: bytes)
            return true
        }
    }

    /// Whether a mail need not be waited for any longer: libcurl waits for the last replies without looking at anything else.
    var isOver: Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            state.isCancelled || now > deadline || state.repliedAt.map { now > $0 + Self.farewell } ?? false
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

    /// The next piece of a mail; 0 at its end.
    func readMail(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard case .mail(let mail, _) = command else { return 0 }
        return state.withLock { state in
            let count = min(buffer.count, mail.data.count - state.uploaded)
            buffer.copyBytes(from: mail.data[state.uploaded..<state.uploaded + count])
            state.uploaded += count
            if state.uploaded == mail.data.count { state.wasHandedOver = true }
            return count
        }
    }

    /// What is known once it has ended.
    func note(status: Int, requestBytes: Int) {
        state.withLock { state in
            state.status = status
            if case .request = command, requestBytes > 0 { state.wasHandedOver = true }
        }
    }

    var wasHandedOver: Bool {
        state.withLock { $0.wasHandedOver }
    }

    var status: Int {
        state.withLock { $0.status }
    }

    func response(status: Int) -> OutboundResponse {
        state.withLock { OutboundResponse(status: status, head: $0.head, body: $0.body) }
    }
}
