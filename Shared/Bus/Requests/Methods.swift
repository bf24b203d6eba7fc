// What a peer answers: one handler per method, the rights and bounds that go with it.

package import Contracts
import Foundation

/// Who asks, and how long they listen.
package struct RequestContext: Sendable {
    /// As authenticated by the peer's key.
    package let peer: Peer
    /// The client's id of this question; a retry has the same.
    package let id: String
    package let method: String
    /// By the client's clock: after this nobody waits for the answer.
    package let deadline: Timestamp
    /// Follows one piece of work through services, streams and logs; may be empty.
    package let trace: String

    package init(peer: Peer, id: String, method: String, deadline: Timestamp, trace: String) {
        (self.peer, self.id, self.method, self.deadline, self.trace) = (peer, id, method, deadline, trace)
    }
}

/// The first answers of mutating questions, stored in the transaction of their effects.
package protocol AnswerMemory: Sendable {
    /// The JSON of the reply body that this question got before; nil where it is new.
    func answer(to peer: Peer, id: String) async throws -> [UInt8]?
}

/// The questions that a node answers at one endpoint, each in a task of its own. A thrown `Failure` travels to the client; any other
/// error becomes `internal` and is logged by its type alone. What is still in work when `BusLimits.shutdownGrace` is over is
/// cancelled. Two handlers for one method stop the process.
package struct Methods: Sendable {
    /// Takes and gives a JSON text in UTF-8: at most 1 MiB comes in, at most `BusLimits.answerBytes` go out.
    package typealias Raw = @Sendable (_ body: [UInt8], RequestContext) async throws -> [UInt8]

    struct Method: Sendable {
        /// How a peer comes by the right to ask.
        enum Right: Sendable {
            /// The allow-list names the method.
            case listed
            /// The peer may hear the families that the streams in the body belong to; `run` asks for it.
            case hearing
        }

        let mutates: Bool
        let right: Right
        let run: @Sendable (_ body: [UInt8], RequestContext, StreamRights) async throws -> [UInt8]
    }

    let memory: (any AnswerMemory)?
    private(set) var byName: [String: Method] = [:]

    /// `memory` is asked before a mutating method's handler; without one a repeated id runs the handler again.
    package init(memory: (any AnswerMemory)? = nil) {
        self.memory = memory
    }

    /// `handler` throws `Failure`; a body that is no such question is `invalid` before it is asked.
    package mutating func on<R: BusRequest>(
        _: R.Type, _ handler: @escaping @Sendable (R, RequestContext) async throws -> R.Reply
    ) {
        on(method: R.method, mutates: R.mutates) { body, context in
            try Methods.encode(try await handler(try Methods.decode(R.self, body), context))
        }
    }

    /// For bodies that the handler decodes itself. They are JSON texts of at most 1 MiB, not yet checked.
    package mutating func on(method: String, mutates: Bool = false, raw handler: @escaping Raw) {
        add(method, Method(mutates: mutates, right: .listed) { body, context, _ in try await handler(body, context) })
    }

    /// Replays: asked by every peer that may hear the stream's family. A page with more facts or bytes than allowed is cut.
    package mutating func onReplay(
        _ handler: @escaping @Sendable (ReplayStream, RequestContext) async throws -> ReplayStream.Reply
    ) {
        onHeard(ReplayStream.self, method: ReplayStream.method, streams: { [$0.stream] }) { request, context in
            var reply = try await handler(request, context)
            reply.facts = cut(reply.facts)
            return reply
        }
    }

    /// Snapshots: asked by every peer that may hear the stream's family. The handler keeps pages under 1 MiB.
    package mutating func onSnapshot(
        _ handler: @escaping @Sendable (SnapshotStream, RequestContext) async throws -> SnapshotStream.Reply
    ) {
        onHeard(SnapshotStream.self, method: SnapshotStream.method, streams: { [$0.stream] }, handler)
    }

    /// Positions of the asking peer itself, on streams that it may hear.
    package mutating func onConfirm(_ handler: @escaping @Sendable (ConfirmPositions, RequestContext) async throws -> Void) {
        onHeard(ConfirmPositions.self, method: ConfirmPositions.method, streams: { $0.positions.map(\.stream) }) { request, context in
            try await handler(request, context)
            return Nothing()
        }
    }

    /// Only for peers that the allow-list grants `forget-consumer`.
    package mutating func onForget(
        _ handler: @escaping @Sendable (ForgetConsumer, RequestContext) async throws -> ForgetConsumer.Reply
    ) {
        on(method: ForgetConsumer.method) { body, context in
            try Methods.encode(try await handler(try Methods.decode(ForgetConsumer.self, body), context))
        }
    }

    /// A reply body as it travels: what a mutating handler remembers for `AnswerMemory`.
    package static func encode(_ reply: some Encodable) throws -> [UInt8] {
        try busJSON(reply)
    }

    /// Throws `Failure(.invalid)` for a body that does not fit; what was sent is not repeated in the reason.
    package static func decode<Body: Decodable>(_ type: Body.Type, _ body: [UInt8]) throws(Failure) -> Body {
        if let known = Body.self as? any HandWrittenJSON.Type, let read = known.init(handWritten: body) as? Body { return read }
        do {
            return try CheckedJSON.decode(Body.self, from: body, of: .suite)
        } catch {
            throw Failure(.invalid, "the body does not fit the method")
        }
    }

    private mutating func onHeard<Body: Codable & Sendable, Reply: Codable & Sendable>(
        _: Body.Type, method: String, streams: @escaping @Sendable (Body) -> [String],
        _ handler: @escaping @Sendable (Body, RequestContext) async throws -> Reply
    ) {
        let run: @Sendable ([UInt8], RequestContext, StreamRights) async throws -> [UInt8] = { bytes, context, rights in
            let body = try Methods.decode(Body.self, bytes)
            guard streams(body).allSatisfy({ rights.may(context.peer, hear: $0) }) else {
                throw Failure(.forbidden, "\(context.peer) may not hear this stream")
            }
            return try Methods.encode(try await handler(body, context))
        }
        add(method, Method(mutates: false, right: .hearing, run: run))
    }

    private mutating func add(_ name: String, _ method: Method) {
        precondition(byName[name] == nil, "two handlers for \(name)")
        byName[name] = method
    }
}

/// At most `factsPerPage` facts and `pageBytes` of payload, but always the first fact.
private func cut(_ facts: [ReplayStream.Fact]) -> [ReplayStream.Fact] {
    var bytes = 0
    for (index, fact) in facts.enumerated() {
        bytes += fact.payload.utf8.count
        if index > 0, index == BusLimits.factsPerPage || bytes > BusLimits.pageBytes { return Array(facts[..<index]) }
    }
    return facts
}
