// Asks a service on this machine for its readiness, for container health checks: a client of a dozen lines needs no library.

import Foundation

enum HealthQuestion {
    /// How long one address may take, in seconds.
    private static let patience = 2

    /// Whether `GET /health/ready` answers 200 within two seconds at one of the host's addresses, by name or number, IPv4 or IPv6. A
    /// service that listens everywhere is asked on loopback.
    static func isReady(host: String, port: Int) -> Bool {
        var wish = addrinfo()
        wish.ai_socktype = Int32(SOCK_STREAM.rawValue)
        wish.ai_flags = AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let loopback = ["0.0.0.0": "127.0.0.1", "::": "::1"]
        guard getaddrinfo(loopback[host] ?? host, String(port), &wish, &found) == 0, let first = found else { return false }
        defer { freeaddrinfo(first) }
        return sequence(first: first, next: \.pointee.ai_next).contains { isReady($0.pointee) }
    }

    private static func isReady(_ place: addrinfo) -> Bool {
        let descriptor = socket(place.ai_family, place.ai_socktype, place.ai_protocol)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let question = "GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        guard connect(descriptor, place.ai_addr, place.ai_addrlen) == 0,
            send(descriptor, question, question.utf8.count, Int32(MSG_NOSIGNAL)) == question.utf8.count
        else { return false }
        var answer = [UInt8](repeating: 0, count: 12)
        return recv(descriptor, &answer, answer.count, Int32(MSG_WAITALL)) == answer.count
            && answer == Array("HTTP/1.1 200".utf8)
    }
}
