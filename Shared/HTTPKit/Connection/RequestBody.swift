// A request's body on its way from the connection to whoever reads it.

import NIOCore
import Synchronization

enum RequestBody: Sendable {
    /// All of it was there before the handler began, as with most requests: nobody waits for anything.
    case whole(ByteBuffer)
    case coming(BodyPipe)

    /// Gives the pieces in order.
    struct Reader {
        private var whole: ByteBuffer?
        private var pipe: BodyPipe?

        init(_ body: RequestBody) {
            switch body {
            case .whole(let bytes): whole = bytes
            case .coming(let pipe): self.pipe = pipe
            }
        }

        /// Whether anything is here that was not given yet, the end included.
        var hasMore: Bool { pipe?.hasMore ?? true }

        /// nil at the end.
        /// - Throws: `BodyCutOff` where the connection broke or said nonsense, `BodyTooSlow` where nothing came by `deadline`.
        mutating func next(by deadline: ContinuousClock.Instant) async throws -> ByteBuffer? {
            if let pipe { return try await pipe.next(by: deadline) }
            defer { whole = nil }
            return whole.flatMap { $0.readableBytes > 0 ? $0 : nil }
        }
    }
}

/// The connection ended before the body did.
struct BodyCutOff: Error {}

/// The sender did not go on in time. The connection is sound: it can be answered.
struct BodyTooSlow: Error {}

/// Takes pieces from the connection's event loop and gives them to one task. What is not fetched fills it; then the connection is
/// not read any further, so that the sender waits.
final class BodyPipe: Sendable {
    /// Bytes that wait here at most, but for what was on its way already.
    private static let room = 128 << 10

    private struct State {
        var pieces = CircularBuffer<ByteBuffer>()
        var bytes = 0
        var isHeld = false
        var end: Result<Void, BodyCutOff>?
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
        /// Of `next`: tells the present one from those before.
        var call = 0
        /// The time of the present call is over.
        var isLate = false
    }

    private let state = Mutex(State())
    private let readOn: @Sendable () -> Void

    /// - Parameter readOn: called when there is room again after `add` said that there is none.
    init(readOn: @escaping @Sendable () -> Void) {
        self.readOn = readOn
    }

    /// False where the connection must not be read any further for now.
    func add(_ piece: ByteBuffer) -> Bool {
        let (reader, hasRoom): (CheckedContinuation<ByteBuffer?, any Error>?, Bool) = state.withLock { state in
            if let reader = state.reader {
                state.reader = nil
                return (reader, true)
            }
            state.pieces.append(piece)
            state.bytes += piece.readableBytes
            // Whoever was told to wait is called by `next` alone: a piece that was on its way already must not undo that.
            if state.bytes >= Self.room { state.isHeld = true }
            return (nil, !state.isHeld)
        }
        reader?.resume(returning: piece)
        return hasRoom
    }

    var hasMore: Bool { state.withLock { !$0.pieces.isEmpty || $0.end != nil } }

    /// All of the body has come, or no more of it will. What came is still given.
    func end(_ how: Result<Void, BodyCutOff>) {
        let reader = state.withLock { state in
            if state.end == nil { state.end = how }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(with: how.map { nil }.mapError { $0 })
    }

    /// For one reader. What is there already is never late.
    /// - Throws: `BodyTooSlow` where nothing came by `deadline`; what comes later is kept for the next call.
    func next(by deadline: ContinuousClock.Instant) async throws -> ByteBuffer? {
        let call = state.withLock { state in
            state.isLate = false
            state.call += 1
            return state.call
        }
        if let now = take(orWait: nil) { return try now.get() }
        let watch = Task {
            // Sleeping is the time that the sender has.
            try await Task.sleep(until: deadline, clock: .continuous)
            giveUp(call)
        }
        defer { watch.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            if let now = take(orWait: continuation) { continuation.resume(with: now) }
        }
    }

    /// Nil where there is nothing yet: `reader` gets what comes.
    private func take(orWait reader: CheckedContinuation<ByteBuffer?, any Error>?) -> Result<ByteBuffer?, any Error>? {
        let (now, hasRoomAgain): (Result<ByteBuffer?, any Error>?, Bool) = state.withLock { state in
            if let piece = state.pieces.popFirst() {
                state.bytes -= piece.readableBytes
                guard state.isHeld, state.bytes < Self.room / 2 else { return (.success(piece), false) }
                state.isHeld = false
                return (.success(piece), true)
            }
            if let end = state.end { return (end.map { nil }.mapError { $0 }, false) }
            if state.isLate { return (.failure(BodyTooSlow()), false) }
            state.reader = reader
            return (nil, false)
        }
        if hasRoomAgain { readOn() }
        return now
    }

    private func giveUp(_ call: Int) {
        let reader: CheckedContinuation<ByteBuffer?, any Error>? = state.withLock { state in
            guard state.call == call else { return nil }
            state.isLate = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(throwing: BodyTooSlow())
    }
}
