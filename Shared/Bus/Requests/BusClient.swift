// Asking another peer.

package import Contracts
import Foundation

/// Asks one peer over one connection. May be copied and used by many tasks at once. Everything that goes wrong is a `Failure`:
/// what the server said, `deadline` where it said nothing, `unavailable` where this node is shut down, too many questions wait
/// or the task was cancelled, `invalid` for a question of more than 1 MiB, `internal` for an answer of another form.
package struct BusClient: Sendable {
    package let peer: Peer
    let requests: ClientRequests

    /// Asks up to `attempts` times, each time waiting for `deadline`, always under the same id: the server gives a repeated
    /// question of a mutating method its first answer again. What the server says is final, a failure too, unless it says of an attempt
    /// before the last one that it came too late, or that the server is `unavailable`: stopping, starting or full, it may answer the next,
    /// which it is sent after `BusLimits.unavailablePause` at most.
    package func ask<R: BusRequest>(
        _ request: R, trace: String = "", deadline: Duration = .milliseconds(250), attempts: Int = 3
    ) async throws(Failure) -> R.Reply {
        try await ask(R.method, request, trace: trace, deadline: deadline, attempts: attempts)
    }

    /// As the typed one; `body` is a JSON text, and so is the answer.
    package func ask(
        method: String, body: [UInt8], trace: String = "", deadline: Duration = .milliseconds(250), attempts: Int = 3
    ) async throws(Failure) -> [UInt8] {
        try await ask(id: randomQuestionID(), method: method, body: body, trace: trace, deadline: deadline, attempts: attempts)
    }

    /// Asks for what a stream's log still holds; every consumer of the stream may.
    package func replay(
        _ request: ReplayStream, deadline: Duration = .seconds(1), attempts: Int = 2
    ) async throws(Failure) -> ReplayStream.Reply {
        try await ask(ReplayStream.method, request, trace: "", deadline: deadline, attempts: attempts)
    }

    /// Asks for one page of a state stream's current facts.
    package func snapshot(
        _ request: SnapshotStream, deadline: Duration = .seconds(1), attempts: Int = 2
    ) async throws(Failure) -> SnapshotStream.Reply {
        try await ask(SnapshotStream.method, request, trace: "", deadline: deadline, attempts: attempts)
    }

    /// Lets the publisher's log forget what this peer has applied durably.
    package func confirm(
        _ positions: ConfirmPositions, deadline: Duration = .milliseconds(250), attempts: Int = 3
    ) async throws(Failure) {
        let _: Nothing = try await ask(ConfirmPositions.method, positions, trace: "", deadline: deadline, attempts: attempts)
    }

    /// Lets the publisher's log no longer wait for a consumer that is gone for good. `notFound` names those that are known, `conflict` says
    /// that it runs.
    @discardableResult
    package func forget(
        _ consumer: ForgetConsumer, deadline: Duration = .milliseconds(250), attempts: Int = 3
    ) async throws(Failure) -> ForgetConsumer.Reply {
        try await ask(ForgetConsumer.method, consumer, trace: "", deadline: deadline, attempts: attempts)
    }

    private func ask<Reply: Decodable>(
        _ method: String, _ body: some Encodable, trace: String, deadline: Duration, attempts: Int
    ) async throws(Failure) -> Reply {
        guard let bytes = try? busJSON(body) else { throw Failure(.invalid, "the request cannot be written as JSON") }
        let answer = try await ask(method: method, body: bytes, trace: trace, deadline: deadline, attempts: attempts)
        if let known = Reply.self as? any HandWrittenJSON.Type, let reply = known.init(handWritten: answer) as? Reply { return reply }
        guard let reply = try? CheckedJSON.decode(Reply.self, from: answer, of: .suite) else {
            throw Failure(.internal, "the answer of \(peer) to \(method) does not fit")
        }
        return reply
    }

    /// With the id given, for a caller that repeats a question across its own restarts: 1 to 64 printable ASCII characters without
    /// quotes and backslashes. Any other id is `invalid` and nothing is asked: changed to fit, two of them might become one and share
    /// an answer. An id that is asked again while the first asking waits ends that one as `unavailable`.
    package func ask(
        id: String, method: String, body: [UInt8], trace: String = "", deadline: Duration = .milliseconds(250), attempts: Int = 3
    ) async throws(Failure) -> [UInt8] {
        guard body.count + 1024 <= BusLimits.frameBytes else { throw Failure(.invalid, "the request is larger than 1 MiB") }
        guard isBusWord(id), isBusWord(method) else {
            throw Failure(.invalid, "id and method have 1 to \(BusLimits.wordBytes) printable ASCII characters, no quotes or backslashes")
        }
        let trace = busWord(trace)
        let outcome = await requests.exchange(id: id, timeout: deadline, attempts: attempts) {
            Question(id: id, method: method, deadline: busTime() + deadline, trace: trace, body: body).envelope
        }
        switch outcome {
        case .answer(let result): return try result.get()
        case .silence: throw Failure(.deadline, "\(peer) did not answer \(method) within \(attempts) times \(deadline)")
        case .cancelled: throw Failure(.unavailable, "the request was cancelled")
        case .closed: throw Failure(.unavailable, "this process's bus is closed")
        case .tooMany: throw Failure(.unavailable, "too many questions wait for \(peer)")
        }
    }
}
