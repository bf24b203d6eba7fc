// Many event streams heard by one thread, as a third party's own program would.

import Foundation
import Glibc
import Synchronization

/// Server-sent events over plain sockets on loopback. The frames of chunked transfer fall between two events and are passed over.
final class EventListeners: Sendable {
    private struct Stream {
        let request: String
        var buffer: [UInt8] = []
    }

    private let isStopped = Mutex(false)

    /// - Parameter heard: called with whole events, in order.
    init(
        port: Int, streams: [(request: String, token: String)], heard: @escaping @Sendable (_ request: String, ArraySlice<UInt8>) -> Void
    ) throws {
        var open: [Int32: Stream] = [:]
        for stream in streams {
            let descriptor = try Self.connect(port)
            let head =
                "GET /thirdparty/v1/subscriptions/\(stream.request)/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                + "Authorization: Bearer \(stream.token)\r\nAccept: text/event-stream\r\nLast-Event-ID: 0\r\n\r\n"
            guard head.withCString({ send(descriptor, $0, strlen($0), Int32(MSG_NOSIGNAL)) }) == head.utf8.count else {
                throw BenchmarkError("an event stream cannot be asked for")
            }
            open[descriptor] = Stream(request: stream.request)
        }
        let first = open
        Thread.detachNewThread { [self] in listen(first, heard) }
    }

    func stop() {
        isStopped.withLock { $0 = true }
    }

    private func listen(_ first: [Int32: Stream], _ heard: (String, ArraySlice<UInt8>) -> Void) {
        var open = first
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while !isStopped.withLock({ $0 }), !open.isEmpty {
            var waiting = open.keys.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&waiting, nfds_t(waiting.count), 100) > 0 else { continue }
            for one in waiting where one.revents != 0 {
                let count = recv(one.fd, &piece, piece.count, Int32(MSG_DONTWAIT))
                guard count > 0 else {
                    if count < 0, errno == EAGAIN { continue }
                    close(one.fd)
                    open[one.fd] = nil
                    continue
                }
                open[one.fd]?.buffer.append(contentsOf: piece[..<count])
                if let stream = open[one.fd], let end = Self.endOfLastEvent(stream.buffer) {
                    heard(stream.request, stream.buffer[..<end])
                    open[one.fd]?.buffer.removeFirst(end)
                }
            }
        }
        for descriptor in open.keys { close(descriptor) }
    }

    private static func endOfLastEvent(_ bytes: [UInt8]) -> Int? {
        let line = UInt8(ascii: "\n")
        var index = bytes.count - 1
        while index > 0 {
            if bytes[index] == line, bytes[index - 1] == line { return index + 1 }
            index -= 1
        }
        return nil
    }

    private static func connect(_ port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = LoopbackSocket.address(port)
        let done = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard descriptor >= 0, done == 0 else { throw BenchmarkError("nobody listens on port \(port)") }
        return descriptor
    }
}

enum LoopbackSocket {
    static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}
