// Reads an event stream as a browser would, with a blocking socket on a thread of its own.

import Foundation
import Synchronization

final class EventReader: Sendable {
    private let descriptor: Int32
    private let received = Mutex<[UInt8]>([])

    /// Everything that came so far, head included, without the chunks' lengths mattering to anybody.
    var text: String { received.withLock { String(decoding: $0, as: UTF8.self) } }

    struct CannotConnect: Error {}

    init(port: Int, path: String, token: String, lastEventID: String? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let descriptor = descriptor
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }
        }
        guard connected else { throw CannotConnect() }
        let last = lastEventID.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\(last)\r\n"
        send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL))
        Thread.detachNewThread { [self] in
            var piece = [UInt8](repeating: 0, count: 1 << 14)
            while true {
                let count = recv(descriptor, &piece, piece.count, 0)
                guard count > 0 else { break }
                received.withLock { $0 += piece[..<count] }
            }
            Foundation.close(descriptor)
        }
    }

    func close() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}
