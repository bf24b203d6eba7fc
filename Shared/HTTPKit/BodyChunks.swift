// Getting a body piece by piece, as fast as the reader takes it and no faster.

package import Contracts
package import NIOCore

extension Exchange {
    /// The body in pieces of at most 64 KiB, inflated on the way; the sender waits while the reader works. Can be read once.
    /// A reader that takes longer than the idle timeout over one piece loses the connection; a sender that falls silent, or trickles,
    /// is 408 by `HTTPLimits.bodyPause` and `slowestBody`.
    /// - Parameters:
    ///   - limit: bytes as sent; more is 413 `body-too-large`.
    ///   - inflatedLimit: bytes after inflating; more is 413 `body-too-large`.
    package func bodyChunks(limit: Int = .max, inflatedLimit: Int = .max) throws(Problem) -> BodyChunks {
        let coding = try ContentCoding(head.contentEncoding)
        if let length = head.contentLength, length > limit { throw .bodyTooLarge(limit: limit, inflated: false) }
        return BodyChunks(exchange: self, coding: coding, limit: limit, inflatedLimit: inflatedLimit)
    }
}

/// A body on its way in. Its iterator throws `Problem` for what the caller did wrong, other errors where the connection broke.
package struct BodyChunks: AsyncSequence, Sendable {
    package typealias Element = ByteBuffer

    let exchange: Exchange
    let coding: ContentCoding
    let limit: Int
    let inflatedLimit: Int

    /// Once for each request: a second one stops the process.
    package func makeAsyncIterator() -> AsyncIterator {
        exchange.enterBody()
        return AsyncIterator(self)
    }

    /// Used by one task at a time.
    package struct AsyncIterator: AsyncIteratorProtocol {
        private static let piece = 64 << 10

        private let exchange: Exchange
        private let coding: ContentCoding
        private var base: RequestBody.Reader
        private var left: Int
        private var inflatedLeft: Int
        private let limits: (sent: Int, inflated: Int)
        private var inflater: Inflater?
        private var pace: BodyPace
        /// Sent bytes that are not yet given on.
        private var pending = ByteBuffer()
        private var hasEnded = false

        init(_ chunks: BodyChunks) {
            (exchange, coding) = (chunks.exchange, chunks.coding)
            base = RequestBody.Reader(chunks.exchange.requestBody)
            (left, inflatedLeft) = (chunks.limit, chunks.inflatedLimit)
            limits = (chunks.limit, chunks.inflatedLimit)
            pace = BodyPace(chunks.exchange.limits)
        }

        /// Whether nothing of what comes next is here yet.
        package var mustWait: Bool { pending.readableBytes == 0 && !base.hasMore }

        /// - Throws: `Problem` where the body, as sent or inflated, is too large, its encoding broken or its sender too slow.
        package mutating func next() async throws -> ByteBuffer? {
            if hasEnded { return nil }
            if coding != .identity, inflater == nil { inflater = try Inflater(coding) }
            while true {
                if let piece = try takePiece() {
                    guard piece.readableBytes <= inflatedLeft else {
                        throw Problem.bodyTooLarge(limit: limits.inflated, inflated: true)
                    }
                    inflatedLeft -= piece.readableBytes
                    return piece
                }
                let asked = ContinuousClock.now
                guard let chunk = try await exchange.nextChunk(&base, by: asked + pace.left) else {
                    hasEnded = true
                    exchange.leaveBody(.ended)
                    if let inflater, !inflater.isComplete { throw Problem.badEncoding }
                    return nil
                }
                guard chunk.readableBytes <= left else { throw Problem.bodyTooLarge(limit: limits.sent, inflated: false) }
                left -= chunk.readableBytes
                pace.note(chunk.readableBytes, after: .now - asked)
                pending = chunk
            }
        }

        /// What can be given on without further bytes; nil where there is nothing.
        private mutating func takePiece() throws(Problem) -> ByteBuffer? {
            guard let inflater else {
                return pending.readableBytes == 0 ? nil : pending.readSlice(length: Swift.min(pending.readableBytes, Self.piece))
            }
            var output = ByteBuffer()
            _ = try inflater.inflate(&pending, into: &output, room: Self.piece)
            return output.readableBytes > 0 ? output : nil
        }
    }
}

/// How long the sender of a body that is read piece by piece may keep its reader waiting. The reader's own time does not count.
struct BodyPace {
    private let pause: Duration
    private let slowest: Int
    private var waited = Duration.zero
    private var received = 0

    init(_ limits: HTTPLimits) {
        (pause, slowest) = (limits.bodyPause, limits.slowestBody)
    }

    /// For the next piece; not positive where the time is over.
    var left: Duration {
        min(pause, pause + .milliseconds(received * 1000 / slowest) - waited)
    }

    mutating func note(_ bytes: Int, after wait: Duration) {
        received += bytes
        waited += wait
    }
}
