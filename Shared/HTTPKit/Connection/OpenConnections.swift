// All connections of one server: how many may be open, and how they end together.

import NIOCore
import Synchronization

final class OpenConnections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: Connection] = [:]
        /// By event loop.
        var errands: [ObjectIdentifier: LoopErrands] = [:]
        var isDraining = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// False where the server is ending.
    func add(_ connection: Connection) -> Bool {
        state.withLock { state in
            guard !state.isDraining else { return false }
            state.open[ObjectIdentifier(connection)] = connection
            return true
        }
    }

    /// The one of that loop.
    func errands(for loop: any EventLoop) -> LoopErrands {
        state.withLock { state in
            if let known = state.errands[ObjectIdentifier(loop)] { return known }
            let new = LoopErrands(loop)
            state.errands[ObjectIdentifier(loop)] = new
            return new
        }
    }

    /// It is closed and its task is over.
    func remove(_ connection: Connection) {
        let waiting = state.withLock { state in
            state.open[ObjectIdentifier(connection)] = nil
            guard state.open.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Lets every connection finish what it does, ends what takes longer, and returns when all are gone.
    func drain(within limit: Duration) async {
        let all = state.withLock { state in
            state.isDraining = true
            return Array(state.open.values)
        }
        for connection in all { connection.onLoop { $0.drain() } }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.allGone() }
            // Ends early, by cancellation, when all are gone or nobody waits any more.
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
            for connection in all { connection.onLoop { $0.abandon() } }
        }
    }

    private func allGone() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if !state.open.isEmpty { state.waiting.append(continuation) }
                return state.open.isEmpty
            }
            if isEmpty { continuation.resume() }
        }
    }
}

/// Takes no further connection where as many are open as may be; those who come wait in the kernel's backlog.
final class AcceptGate: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = any Channel

    private let most: Int
    private var open = 0
    private var isHeld = false

    init(most: Int) {
        self.most = most
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        open += 1
        unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop).assumeIsolated().whenComplete { _ in
            self.open -= 1
            guard self.isHeld else { return }
            self.isHeld = false
            context.read()
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        if open < most { context.read() } else { isHeld = true }
    }
}
