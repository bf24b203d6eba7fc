// A TCP proxy on loopback that delays, slices, cuts and swallows what goes through it.

import Foundation
import Synchronization
import TestKit

final class FaultProxy: Sendable {
    enum Manners: Sendable {
        case honest
        /// Every piece of at most 16 bytes, each a little late.
        case slices
        /// 200 ms, more or less 200.
        case late
        /// Reset after some hundred bytes.
        case resets
        /// Takes everything, and nothing comes out at the other end.
        case halfOpen
    }

    let port: Int
    private let listener: Int32
    private let state = Mutex((manners: Manners.honest, target: 0, connections: 0, isOpen: true))

    init() throws {
        (listener, port) = try Loopback.listening(backlog: 256)
        Thread { [self] in accepts() }.start()
    }

    /// Where everything goes.
    func lead(to target: Int) { state.withLock { $0.target = target } }
    func behave(_ manners: Manners) { state.withLock { $0.manners = manners } }
    var connections: Int { state.withLock { $0.connections } }

    func end() {
        state.withLock { $0.isOpen = false }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func accepts() {
        while state.withLock({ $0.isOpen }) {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { continue }
            let target = state.withLock { state in
                state.connections += 1
                return state.target
            }
            guard let server = try? Loopback.connected(to: target) else {
                close(client)
                continue
            }
            let ends = Mutex(2)
            let finish: @Sendable () -> Void = {
                let left = ends.withLock { ends in
                    ends -= 1
                    return ends
                }
                if left == 0 {
                    close(client)
                    close(server)
                }
            }
            Thread { [self] in pump(client, server, finish) }.start()
            Thread { [self] in pump(server, client, finish) }.start()
        }
    }

    /// The manners of the moment hold for connections that stand already, too: clients keep theirs.
    private func pump(_ from: Int32, _ to: Int32, _ finish: @Sendable () -> Void) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var passed = 0
        while true {
            let count = recv(from, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            let manners = state.withLock { $0.manners }
            if case .halfOpen = manners { continue }
            if case .late = manners {
                Thread.sleep(forTimeInterval: Double.random(in: 0...0.2))  // The fault itself; the thread has no other work.
            }
            var sent = 0
            while sent < count {
                let piece: Int
                if case .slices = manners { piece = min(count - sent, Int.random(in: 1...16)) } else { piece = count - sent }
                let written = bytes[sent..<sent + piece].withUnsafeBytes { send(to, $0.baseAddress, piece, Int32(MSG_NOSIGNAL)) }
                guard written > 0 else { break }
                sent += written
            }
            passed += count
            if case .resets = manners, passed > Int.random(in: 200...1500) {
                var abrupt = linger(l_onoff: 1, l_linger: 0)
                setsockopt(to, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
                setsockopt(from, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
                shutdown(from, Int32(SHUT_RDWR))
                break
            }
        }
        shutdown(to, Int32(SHUT_WR))
        finish()
    }
}

/// An emergency desk's port on which every connection is answered in another wrong way, in turns.
final class RudeDesk: Sendable {
    static let answers: [String] = [
        "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/elsewhere\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + String(repeating: "x", count: 100_000),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 70\r\n\r\n"
            + #"{"ack":{"ackId":"a1","messageId":"emg_0-0","result":"accepted"}}      "#,
        "no HTTP at all\r\n\r\n",
        "",
    ]

    private let listener: Int32
    private let served = Mutex(0)

    /// On this very port, which must be free.
    init(port: Int) throws {
        listener = try Loopback.listening(port).descriptor
        Thread { [self] in serve() }.start()
    }

    /// Connections that have been answered.
    var count: Int { served.withLock { $0 } }

    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            let answer = RudeDesk.answers[count % RudeDesk.answers.count]
            served.withLock { $0 += 1 }
            Thread {
                var bytes = [UInt8](repeating: 0, count: 65_536)
                _ = recv(client, &bytes, bytes.count, 0)
                let text = Array(answer.utf8)
                _ = send(client, text, text.count, Int32(MSG_NOSIGNAL))
                close(client)
            }.start()
        }
    }
}
