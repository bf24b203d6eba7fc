// The question that a container asks itself: whether its service is ready, wherever that listens.

import Contracts
import Foundation
import HTTPKit
import Logging
import TestKit
import Testing

@testable import ServiceKit

@Suite("The question for health", .timeLimit(.minutes(2)))
struct HealthProbeTests {
    private static let places = ["127.0.0.1", "localhost", "0.0.0.0"]
    private static let hasIPv6 = (FileManager.default.contents(atPath: "/proc/net/if_inet6") ?? Data()).count > 0

    private func ask(host: String, missing: [String] = []) async throws -> Bool {
        let server = HTTPServer(
            .init(title: "Test", version: "1.0.0", summary: "For tests", prefix: "test"), routes: [], host: host, port: 0,
            health: Health(missing: { missing }, metrics: { "" }), authenticate: { _, _ in .anyone }, logger: Running.quiet)
        let running = Task { try await server.run() }
        defer { running.cancel() }
        let port = await server.boundPort
        return await offPool { HealthProbe.isReady(host: host, port: port) }
    }

    @Test("a service that listens at a name or a number is found ready", arguments: places)
    func ready(host: String) async throws {
        #expect(try await ask(host: host))
    }

    @Test("a service that listens at an IPv6 address is found ready", .enabled(if: hasIPv6, "needs IPv6"), arguments: ["::1", "::"])
    func readyOverIPv6(host: String) async throws {
        #expect(try await ask(host: host))
    }

    @Test("one that is not ready, is not there, or has no address is not")
    func notReady() async throws {
        #expect(try await !ask(host: "localhost", missing: ["keys"]))
        #expect(await !offPool { HealthProbe.isReady(host: "127.0.0.1", port: 1) })
        #expect(await !offPool { HealthProbe.isReady(host: "no such name", port: 8100) })
    }
}
