// A server that answers exactly what it is told, with blocking sockets on threads of its own.

import Foundation
import Synchronization
import TestKit

/// One accepted connection.
struct RudeConnection: Sendable {
    let descriptor: Int32

    /// The head and body of one request; nil at the end.
    func readRequest() -> String? {
        var bytes: [UInt8] = []
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let length =
                    text[..<end.lowerBound].lowercased().components(separatedBy: "content-length: ").dropFirst().first
                    .flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
                if bytes.count >= text[..<end.upperBound].utf8.count + length { return text }
            }
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    func write(_ text: String) {
        write(Array(text.utf8))
    }

    func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    func answer(_ status: Int, _ body: String = "", headers: String = "") {
        write("HTTP/1.1 \(status) Some\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)")
    }
}

/// A TCP socket on a port of 127.0.0.1 that the kernel chose.
private func boundSocket() -> (descriptor: Int32, port: Int) {
    guard let bound = try? Loopback.bound() else { preconditionFailure("no port is free") }
    return bound
}

/// Runs `serve` once per connection until the process ends: its thread keeps it, whoever else forgets it.
final class RudeServer: Sendable {
    let port: Int
    private let accepted = Mutex(0)

    var connections: Int { accepted.withLock { $0 } }

    var url: String { "http://127.0.0.1:\(port)" }

    init(_ serve: @escaping @Sendable (RudeConnection) -> Void) {
        let (listener, port) = boundSocket()
        self.port = port
        listen(listener, 1024)
        Thread.detachNewThread { @Sendable [self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                accepted.withLock { $0 += 1 }
                Thread.detachNewThread { @Sendable in
                    serve(RudeConnection(descriptor: descriptor))
                    close(descriptor)
                }
            }
        }
    }

    /// Answers every request of a connection with 200 and what was sent.
    static func echo() -> RudeServer {
        RudeServer { connection in
            while let request = connection.readRequest() { connection.answer(200, request) }
        }
    }

    /// A port on which nobody listens, and which nobody else is given: it stays bound.
    static func closedPort() -> Int {
        boundSocket().port
    }
}
