// Asks a service on this machine for its readiness, for container health checks: a client of a dozen lines needs no library.

import Foundation

enum HealthProbe {
    /// How long one address may take, in seconds.
    private static let timeout = 2

    /// Whether `GET /health/ready` answers 200 within two seconds at one of the host's addresses, by name or number, IPv4 or IPv6. A
    /// service that listens everywhere is asked on loopback.
    static func isReady(host: String, port: Int) -> Bool {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let loopback = ["0.0.0.0": "127.0.0.1", "::": "::1"]
        guard getaddrinfo(loopback[host] ?? host, String(port), &hints, &found) == 0, let first = found else { return false }
        defer { freeaddrinfo(first) }
        return sequence(first: first, next: \.pointee.ai_next).contains { isReady($0.pointee) }
    }

    private static func isReady(_ address: addrinfo) -> Bool {
        let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let request = "GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        guard connect(descriptor, address.ai_addr, address.ai_addrlen) == 0,
            send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count
        else { return false }
        var answer = [UInt8](repeating: 0, count: 12)
        return recv(descriptor, &answer, answer.count, Int32(MSG_WAITALL)) == answer.count
            && answer == Array("HTTP/1.1 200".utf8)
    }
}
