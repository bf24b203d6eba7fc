// Asks a service on this machine for its readiness, for container health checks: a client of a dozen lines needs no library.

import Foundation

enum HealthQuestion {
    /// Whether `GET /health/ready` answers 200 within two seconds. A service that listens everywhere is asked on loopback.
    static func isReady(host: String, port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr(host == "0.0.0.0" ? "127.0.0.1" : host)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let question = "GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        guard connected, send(descriptor, question, question.utf8.count, Int32(MSG_NOSIGNAL)) == question.utf8.count else {
            return false
        }
        var answer = [UInt8](repeating: 0, count: 12)
        return recv(descriptor, &answer, answer.count, Int32(MSG_WAITALL)) == answer.count
            && answer == Array("HTTP/1.1 200".utf8)
    }
}
