// Ports for suites of a moment: none that a connection of another program may be given before the suite listens there.

import Foundation
import Testing

@testable import Operator

@Suite("Free ports")
struct FreePortsTests {
    @Test("a service of a story did not become ready: a connection of another one had been given its port")
    func outsideThoseOfConnections() throws {
        let text = try String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
        let first = try #require(text.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) })
        let found = try (0..<50).flatMap { _ in try FreePorts.find(6) }
        #expect(Set(found).count == 300, "no two calls get the same")
        #expect(found.allSatisfy { $0 < first && $0 > 1024 })
    }
}
