// The one ZeroMQ context of the process.

import CZeroMQ
import Synchronization

/// Exactly one per process, also where several nodes live in it: closing a second context that uses CURVE can crash the first
/// (libzmq bcb659e0). It is never terminated; sockets are closed by their owners.
final class Context: Sendable {
    static let shared = Result { () throws(BusError) in try Context() }

    /// A context may be used by every thread (zmq_ctx_new(3)); the pointer never changes.
    private nonisolated(unsafe) let handle: UnsafeMutableRawPointer

    /// Threads for everything that needs no name: bound sockets, ipc, addresses in numbers.
    private static let ownThreads = 2
    /// Threads for connections to hosts that are named. libzmq looks a name up on the connection's I/O thread at every attempt,
    /// and waits there for a name server that does not answer: such a wait must hold up nothing but that host's connections.
    private static let lookupThreads = 8
    private let lookupThreadOfHost = Mutex<[String: Int]>([:])

    private init() throws(BusError) {
        var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
        zmq_version(&major, &minor, &patch)
        // 4.3.3 mends the advisories of 2020.
        guard (major, minor, patch) >= (4, 3, 3) else { throw BusError(.zeromq, "libzmq \(major).\(minor).\(patch) is older than 4.3.3") }
        guard zmq_has("curve") == 1, zmq_has("ipc") == 1 else { throw BusError(.zeromq, "libzmq was built without CURVE or ipc") }
        guard let handle = zmq_ctx_new() else { throw BusError(.zeromq, "no context: \(lastZeroMQError())") }
        zmq_ctx_set(handle, ZMQ_IO_THREADS, Int32(Self.ownThreads + Self.lookupThreads))
        zmq_ctx_set(handle, ZMQ_MAX_SOCKETS, 4096)
        self.handle = handle
    }

    /// A raw socket, with no options set yet.
    func makeSocket(_ type: Int32) throws(BusError) -> UnsafeMutableRawPointer {
        guard let socket = zmq_socket(handle, type) else { throw BusError(.zeromq, "no socket: \(lastZeroMQError())") }
        return socket
    }

    /// The I/O threads that a socket may use for what it binds or connects next, as ZMQ_AFFINITY counts them. `host` is a name that
    /// must be looked up: each has a thread of its own, until there are more than `lookupThreads`.
    func threads(lookingUp host: String?) -> SocketOption {
        guard let host else { return SocketOption(ZMQ_AFFINITY, 1 << Int64(Self.ownThreads) - 1) }
        let thread = lookupThreadOfHost.withLock { threads in
            let thread = threads[host] ?? threads.count % Self.lookupThreads
            threads[host] = thread
            return thread
        }
        return SocketOption(ZMQ_AFFINITY, 1 << Int64(Self.ownThreads + thread))
    }
}

/// What libzmq says about the calling thread's last failure.
func lastZeroMQError() -> String {
    String(cString: zmq_strerror(zmq_errno()))
}
