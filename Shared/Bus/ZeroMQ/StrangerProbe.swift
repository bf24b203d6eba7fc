// Knocks at a bound socket with a key that nobody knows, to see that it stays shut.

import CZeroMQ
import Contracts
import Foundation
import Synchronization

enum StrangerProbe {
    enum Outcome {
        case refused
        case admitted
        /// Neither came about in time.
        case unclear
    }

    /// The keys that this process knocks with, so that its own attempts are not reported as somebody's.
    private static let ownKeys = Mutex<Set<String>>([])

    static func isOwn(_ publicKey: String) -> Bool {
        ownKeys.withLock { $0.contains(publicKey) }
    }

    /// Watches one connection's handshake on a thread of its own.
    static func knock(at endpoint: String, as kind: SocketKind, serverKey: String) async -> Outcome {
        await withCheckedContinuation { waiter in
            Thread { waiter.resume(returning: (try? watch(endpoint, kind, serverKey)) ?? .unclear) }.start()
        }
    }

    private static func watch(_ endpoint: String, _ kind: SocketKind, _ serverKey: String) throws(BusError) -> Outcome {
        let keys = try CurveKeyPair.generate()
        ownKeys.withLock { _ = $0.insert(keys.publicKey) }
        defer { ownKeys.withLock { _ = $0.remove(keys.publicKey) } }
        let socket = try Socket(kind, .trusting(serverKey: serverKey, keys: keys))
        try socket.set(SocketOption(ZMQ_LINGER, 0))
        let address = "inproc://probe-\(UInt(bitPattern: socket.handle))"
        // Without MONITOR_STOPPED: libzmq would wait until somebody reads that event.
        guard zmq_socket_monitor(socket.handle, address, ZMQ_EVENT_ALL & ~ZMQ_EVENT_MONITOR_STOPPED) == 0 else {
            throw BusError(.zeromq, lastZeroMQError())
        }
        let monitor = try Socket(inProcess: ZMQ_PAIR)
        // Events to a monitor that is gone would block the I/O thread: first no more events, then no more monitor.
        defer {
            zmq_socket_monitor(socket.handle, nil, 0)
            monitor.close()
        }
        guard zmq_connect(monitor.handle, address) == 0 else { throw BusError(.zeromq, lastZeroMQError()) }
        try socket.connect(to: endpoint)
        let end = ContinuousClock.now + BusLimits.selfTest
        var hasConnected = false
        while case let left = end - .now, left > .zero {
            guard monitor.waitForInput(milliseconds: Int(left.wholeMilliseconds) + 1), let event = monitor.receive()?.frames.first,
                event.count >= 2
            else { continue }
            switch Int32(event[0]) | Int32(event[1]) << 8 {
            case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: return .admitted
            case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: return .refused
            case ZMQ_EVENT_CONNECTED: hasConnected = true
            // The listener hung up in the middle of the handshake: so it does when nobody can say yes.
            case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, ZMQ_EVENT_DISCONNECTED: if hasConnected { return .refused }
            default: break
            }
        }
        return .unclear
    }
}
