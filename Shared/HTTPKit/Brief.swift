// Requests that are answered without a task: for what comes by the thousand each second.

package import Contracts
package import NIOCore

/// Proves credentials at once, or gives nil where that takes waiting: then `Authenticate` is asked.
package typealias Recognise = @Sendable (Credentials, Access) throws -> Caller?

/// Answers a request whose body is there as a whole, on the connection's own thread: meanwhile that thread's other connections
/// wait, so it computes for a millisecond at most and never blocks. Either gives false and has done nothing, and the route's
/// `handler` is asked; or answers, now or later, or throws a refusal. Tasks and continuations cost an upload of one entry about
/// 5 of 65 µs of processor time, which is why there is a second way.
package typealias BriefHandler = @Sendable (Exchange, BriefAnswer) throws -> Bool

/// Where the answer to a brief request goes. Call it once, from any thread.
package struct BriefAnswer: Sendable {
    private let connection: Connection
    private let finish: @Sendable (Result<HTTPAnswer, any Error>) -> OutgoingAnswer

    init(_ connection: Connection, finish: @escaping @Sendable (Result<HTTPAnswer, any Error>) -> OutgoingAnswer) {
        (self.connection, self.finish) = (connection, finish)
    }

    /// Answers with what `make` gives or throws. It is called on the connection's thread, also where the caller has gone away.
    package func callAsFunction(_ make: @escaping @Sendable () throws -> HTTPAnswer) {
        connection.soonOnLoop { [finish] handler in
            handler.finish(finish(Result { try make() }))
        }
    }
}

extension Exchange {
    /// Larger bodies are no brief affair.
    private static let longestBrief = 64 << 10

    /// The body for a brief handler; nil where it is still coming, packed or long. Can be read once, and not by `body()` as well.
    package func briefBody() throws(Problem) -> ByteBuffer? {
        guard case .whole(let bytes) = requestBody, bytes.readableBytes <= Self.longestBrief, head.contentEncoding == nil else {
            return nil
        }
        if let limit = shape?.limit, bytes.readableBytes > limit { throw .bodyTooLarge(limit: limit, inflated: false) }
        return bytes
    }
}
