// What a process says of itself to whoever started it, over real sockets.

import Foundation
import Synchronization
import TestKit
import Testing

@testable import ServiceKit

@Suite("Heartbeat", .timeLimit(.minutes(2)))
struct HeartbeatTests {
    /// As systemd listens: datagrams at a path, or at a name in no file system.
    private final class Listener: Sendable {
        let descriptor: Int32
        private let kept = Mutex<[String]>([])
        var heard: [String] { kept.withLock { $0 } }

        init(_ name: String) {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = name.utf8.map { $0 == UInt8(ascii: "@") ? 0 : $0 }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            #expect(bound == 0)
            Thread.detachNewThread { [weak self, descriptor] in
                var buffer = [UInt8](repeating: 0, count: 100)
                while true {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    guard count > 0, let self else { return }
                    self.kept.withLock { $0.append(String(decoding: buffer[..<count], as: UTF8.self)) }
                }
            }
        }

        deinit {
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }
    }

    private func environment(_ name: String, bound: Duration? = .milliseconds(50)) -> [String: String] {
        var environment = ["NOTIFY_SOCKET": name]
        environment["WATCHDOG_USEC"] = bound.map { String(Int64($0 / .microseconds(1))) }
        return environment
    }

    @Test("SOS-41: beats come again and again, at a path as at a name in no file system", arguments: [false, true])
    func beats(isAbstract: Bool) async throws {
        try await withTemporaryFolder { folder in
            let name = isAbstract ? "@trackme-\(UInt32.random(in: 0 ... .max))" : folder.appendingPathComponent("beats").path
            let listener = Listener(name)
            let heartbeat = try #require(Heartbeat(environment(name)))
            heartbeat.say(.ready)
            heartbeat.begin()

            try await eventually("ten beats") { listener.heard.count { $0 == "WATCHDOG=1" } >= 10 }
            #expect(listener.heard.first == "READY=1")
        }
    }

    @Test("SOS-41: a process whose tasks stand still is silent, until they run again")
    func standstill() async throws {
        try await withTemporaryFolder { folder in
            let name = folder.appendingPathComponent("beats").path
            let listener = Listener(name)
            let waiting = Mutex<(@Sendable () -> Void)?>(nil)
            let heartbeat = try #require(
                Heartbeat(environment(name), taskBound: .milliseconds(100)) { answered in waiting.withLock { $0 = answered } })
            heartbeat.begin()
            // What opens and recovers may keep every thread: only once that is done do tasks count.
            try await eventually("beats that no task has answered") { listener.heard.count >= 20 }
            heartbeat.started()
            try await eventually("silence") {
                let before = listener.heard.count
                // Ten beats' time: that nothing comes can only be seen by waiting.
                try await Task.sleep(for: .milliseconds(100))
                return listener.heard.count == before
            }
            let silent = listener.heard.count

            waiting.withLock { $0 }?()

            try await eventually("beats again") { listener.heard.count > silent }
        }
    }

    @Test("nobody who listens, a bound for another process, and a socket of another kind: nothing is sent, nothing fails")
    func nobody() async throws {
        #expect(Heartbeat([:]) == nil)
        #expect(Heartbeat(["NOTIFY_SOCKET": "vsock:2:1234"]) == nil)
        try #require(Heartbeat(environment("/nowhere/at/all"))).say(.ready)
        try #require(Heartbeat(environment("/" + String(repeating: "long", count: 50)))).say(.ready)
        try await withTemporaryFolder { folder in
            let name = folder.appendingPathComponent("beats").path
            let listener = Listener(name)
            let others = environment(name).merging(["WATCHDOG_PID": "1"]) { $1 }
            let heartbeat = try #require(Heartbeat(others))
            heartbeat.begin()
            try #require(Heartbeat(environment(name, bound: nil))).begin()
            heartbeat.say(.stopping)
            try await eventually("what is said all the same") { listener.heard.contains("STOPPING=1") }
            #expect(listener.heard == ["STOPPING=1"])
        }
    }
}
