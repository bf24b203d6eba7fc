// Where one child's heartbeats arrive.

import Foundation
import ServiceKit
import Synchronization

/// A datagram socket in the file system, made again for each life of a child, so that the last beats of one are never taken for the first
/// of the next.
final class HeartbeatSocket: Sendable {
    private let path: String
    private let descriptor: Int32
    private let isClosed: Flag

    private static let messageBytes = 256

    /// Shared with the thread that reads, which must not keep the socket itself.
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter received: called on a thread of its own for each message, until `close`.
    init(_ path: String, received: @escaping @Sendable (Heartbeat.Message) -> Void) throws(Fault) {
        self.path = path
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw Fault(description: "\(path) is too long for a socket")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        unlink(path)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        guard descriptor >= 0, bound == 0 else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 { Foundation.close(descriptor) }
            throw Fault(description: "\(path) cannot be listened on: \(reason)")
        }
        self.descriptor = descriptor
        let isClosed = Flag()
        self.isClosed = isClosed
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: HeartbeatSocket.messageBytes)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count == -1, errno == EINTR { continue }
                // An empty datagram reads as the end does, and reports nothing: whoever sends one must not cost a service its watch.
                guard count >= 0, !isClosed.isSet.load(ordering: .acquiring) else { break }
                let lines = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n")
                for message in lines.compactMap({ Heartbeat.Message(rawValue: String($0)) }) { received(message) }
            }
            Foundation.close(descriptor)
        }
    }

    /// To be called once.
    func close() {
        unlink(path)
        isClosed.isSet.store(true, ordering: .releasing)
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// The environment by which a child finds it; the variables of a watchdog over this process are not the child's. Without the operator's
    /// wish there is no backtrace of a crash: the process that writes it outlives the one that crashed, may hang, and holds its port.
    static func environment(_ inherited: [String: String], at path: String?) -> [String: String] {
        var environment = inherited
        for key in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { environment[key] = nil }
        environment["SWIFT_BACKTRACE"] = environment["SWIFT_BACKTRACE"] ?? "enable=no"
        if let path {
            environment["NOTIFY_SOCKET"] = path
            environment["WATCHDOG_USEC"] = String(Int64(SupervisorMachine.Limits.beatBound / .microseconds(1)))
        }
        return environment
    }
}
