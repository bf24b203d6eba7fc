// Ports that nobody listens on just now.

import Foundation
import Synchronization

enum FreePorts {
    /// Below those that the kernel gives to connections: one of these could be taken, before the suite listens there, by whatever program of
    /// this machine asks somebody something.
    private static let range = 12_000..<32_000
    /// Counts on from anywhere, so that no two calls of one process, and hardly those of two, get the same.
    private static let next = Atomic(Int.random(in: range))

    /// As many different ones; another program could still take one before the suite does.
    static func find(_ count: Int) throws -> [Int] {
        var found: [Int] = []
        for _ in range where found.count < count {
            let port = range.lowerBound + next.wrappingAdd(1, ordering: .relaxed).oldValue % range.count
            if isFree(port) { found.append(port) }
        }
        guard found.count == count else { throw OperatorError(.failed, "no free port on loopback", mend: "see `ss -ltn`") }
        return found
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
