// All connections of one server: how many may be open, and how they end together.

import NIOCore
import Synchronization

final class OpenConnections: Sendable {
    private struct State {
        /// Of addresses that are not the edge's.
        var perAddress: [String: Int] = [:]
        var open: [ObjectIdentifier: Connection] = [:]
        /// By event loop.
        var tasks: [ObjectIdentifier: LoopTasks] = [:]
        var isDraining = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let limits: HTTPLimits
    private let state = Mutex(State())

    init(_ limits: HTTPLimits) {
        self.limits = limits
    }

    /// False where the server is ending, and where the address has as many connections as it may.
    func add(_ connection: Connection) -> Bool {
        let address = RemoteAddress.isNeighbour(connection.peerAddress) ? nil : RemoteAddress.network(connection.peerAddress)
        return state.withLock { state in
            guard !state.isDraining else { return false }
            if let address {
                guard state.perAddress[address, default: 0] < limits.connectionsPerAddress else { return false }
                state.perAddress[address, default: 0] += 1
            }
            state.open[ObjectIdentifier(connection)] = connection
            return true
        }
    }

    /// The one of that loop.
    func tasks(for loop: any EventLoop) -> LoopTasks {
        state.withLock { state in
            if let known = state.tasks[ObjectIdentifier(loop)] { return known }
            let new = LoopTasks(loop)
            state.tasks[ObjectIdentifier(loop)] = new
            return new
        }
    }

    /// It is closed and its task is over.
    func remove(_ connection: Connection) {
        let address = RemoteAddress.isNeighbour(connection.peerAddress) ? nil : RemoteAddress.network(connection.peerAddress)
        let waiting = state.withLock { state in
            state.open[ObjectIdentifier(connection)] = nil
            if let address, let count = state.perAddress[address] { state.perAddress[address] = count > 1 ? count - 1 : nil }
            guard state.open.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Closes connections that wait for a request where nearly as many are open as may be, those that have waited longest first: who
    /// comes with a request finds room.
    func relieve() {
        let tooMany = state.withLock { state -> [Connection] in
            let excess = state.open.count - (limits.connections - limits.spareConnections)
            guard excess > 0 else { return [] }
            let waiting = state.open.values.compactMap { connection in connection.waitsSince.map { (connection, $0) } }
            return waiting.sorted { $0.1 < $1.1 }.prefix(excess).map(\.0)
        }
        for connection in tooMany { connection.onLoop { $0.closeIfWaiting() } }
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
    private let isFull: @Sendable () -> Void
    private var open = 0
    private var isHeld = false

    /// - Parameter isFull: called where a connection has to wait.
    init(most: Int, isFull: @escaping @Sendable () -> Void) {
        (self.most, self.isFull) = (most, isFull)
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
        guard open >= most else { return context.read() }
        isHeld = true
        isFull()
    }
}

extension HTTPLimits {
    /// Places that are kept free for those who come.
    fileprivate var spareConnections: Int { min(64, connections / 8) }
}
