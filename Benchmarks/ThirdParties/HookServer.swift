// The receivers of webhooks: a small HTTP server on loopback that takes messages, or refuses them when told to.

import Foundation
import Glibc
import Synchronization

/// One thread for each connection, of which the gateway's couriers keep few. Paths are `/hook/N`.
final class HookServer: Sendable {
    typealias Heard = @Sendable (_ hook: Int, _ body: [UInt8], _ isTaken: Bool) -> Void

    let port: Int
    private let refusing = Mutex<Set<Int>>([])
    private let heard: Heard

    /// - Parameter heard: called with the body of each message before it is answered, refused or not.
    init(_ heard: @escaping Heard) throws {
        self.heard = heard
        port = try Stage.freePort()
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = LoopbackSocket.address(port)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard listener >= 0, bound, listen(listener, 64) == 0 else { throw BenchmarkError("no port for webhooks") }
        Thread.detachNewThread { [self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                Thread.detachNewThread { [self] in
                    serve(descriptor)
                    close(descriptor)
                }
            }
        }
    }

    func url(_ hook: Int) -> String { "http://127.0.0.1:\(port)/hook/\(hook)" }

    /// From now on its messages are answered with 503, or taken.
    func set(_ hook: Int, refuses: Bool) {
        refusing.withLock { hooks in
            if refuses { hooks.insert(hook) } else { hooks.remove(hook) }
        }
    }

    private func serve(_ descriptor: Int32) {
        var buffer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        func fill() -> Bool {
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { return false }
            buffer.append(contentsOf: piece[..<count])
            return true
        }
        while true {
            var head: String?
            while head == nil {
                if let end = Self.endOfHead(buffer) {
                    head = String(decoding: buffer[..<end], as: UTF8.self)
                    buffer.removeFirst(end)
                } else if !fill() {
                    return
                }
            }
            let lines = (head ?? "").components(separatedBy: "\r\n")
            let length = Self.field("content-length", lines).flatMap { Int($0) } ?? 0
            if Self.field("expect", lines) != nil { Self.write("HTTP/1.1 100 Continue\r\n\r\n", to: descriptor) }
            while buffer.count < length {
                guard fill() else { return }
            }
            let body = Array(buffer[..<length])
            buffer.removeFirst(length)
            let hook = lines.first?.split(separator: " ").dropFirst().first?.split(separator: "/").last.flatMap { Int($0) } ?? 0
            Self.write(answer(hook, body), to: descriptor)
        }
    }

    private func answer(_ hook: Int, _ body: [UInt8]) -> String {
        struct Challenge: Decodable {
            struct Content: Decodable { var challenge: String }
            var data: Content
        }
        if body.count < 1024, let asked = try? JSONDecoder().decode(Challenge.self, from: Data(body)) {
            return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: \(asked.data.challenge.utf8.count)\r\n\r\n"
                + asked.data.challenge
        }
        let isTaken = !refusing.withLock { $0.contains(hook) }
        heard(hook, body, isTaken)
        return isTaken ? "HTTP/1.1 204 No Content\r\n\r\n" : "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (4...bytes.count).first { bytes[$0 - 4..<$0].elementsEqual("\r\n\r\n".utf8) }
    }

    private static func field(_ name: String, _ lines: [String]) -> String? {
        lines.first { $0.lowercased().hasPrefix(name + ":") }.map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    private static func write(_ text: String, to descriptor: Int32) {
        _ = text.withCString { send(descriptor, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    }
}
