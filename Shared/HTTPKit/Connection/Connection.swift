// One connection as tasks see it.

import NIOCore
import Synchronization

/// A handle from any thread to what lives on the connection's event loop.
final class Connection: Sendable {
    /// The other end's address, without its port.
    let peerAddress: String
    private let loop: any EventLoop
    /// Since when nothing is owed to the other end, in nanoseconds of the loop's clock; 0 while something is.
    private let waiting = Atomic<UInt64>(0)
    private let tasks: LoopTasks
    private let handler: NIOLoopBound<ConnectionHandler>

    /// Call on the channel's event loop.
    /// - Parameter tasks: of that loop.
    init(_ handler: ConnectionHandler, _ channel: any Channel, tasks: LoopTasks) {
        (loop, self.tasks) = (channel.eventLoop, tasks)
        self.handler = NIOLoopBound(handler, eventLoop: loop)
        peerAddress = channel.remoteAddress?.ipAddress ?? ""
    }

    /// Since when it waits for a request, or only for its end: such a connection may be closed where others need its place. Nil while a
    /// request is being read or answered.
    var waitsSince: NIODeadline? {
        let nanoseconds = waiting.load(ordering: .relaxed)
        return nanoseconds == 0 ? nil : .uptimeNanoseconds(nanoseconds)
    }

    func waits(since time: NIODeadline?) {
        waiting.store(time?.uptimeNanoseconds ?? 0, ordering: .relaxed)
    }

    /// At once where this is the connection's thread, else soon.
    func onLoop(_ work: @escaping @Sendable (ConnectionHandler) -> Void) {
        if loop.inEventLoop {
            work(handler.value)
        } else {
            loop.execute { [handler] in work(handler.value) }
        }
    }

    /// On the connection's thread, when what it does now is done.
    func soonOnLoop(_ work: @escaping @Sendable (ConnectionHandler) -> Void) {
        tasks.add { [handler] in work(handler.value) }
    }

    /// Writes the whole answer.
    func finish(_ answer: OutgoingAnswer) {
        onLoop { $0.finish(answer) }
    }

    /// Writes the head of an answer whose body comes piece by piece.
    func begin(_ answer: OutgoingAnswer) async throws {
        try await written { $0.begin(answer, $1) }
    }

    /// Returns when the kernel has taken the bytes.
    func write(_ piece: ByteBuffer) async throws {
        try await written { $0.write(piece, $1) }
    }

    /// The last piece has been written.
    func end() {
        onLoop { $0.end() }
    }

    /// Closes in the middle of things: nothing that could be said would be understood.
    func cut() {
        onLoop { $0.cut() }
    }

    private func written(_ work: @escaping @Sendable (ConnectionHandler, EventLoopPromise<Void>) -> Void) async throws {
        let promise = loop.makePromise(of: Void.self)
        onLoop { work($0, promise) }
        try await promise.futureResult.get()
    }
}
