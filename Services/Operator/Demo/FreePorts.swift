// Ports that nobody listens on just now.

import Foundation

enum FreePorts {
    /// As many different ones; another program could still take one before the suite does.
    static func find(_ count: Int) throws -> [Int] {
        var descriptors: [Int32] = []
        defer { descriptors.forEach { close($0) } }
        return try (0..<count).map { _ in
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            descriptors.append(descriptor)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
                }
            }
            guard result else { throw OperatorError(.failed, "no free port on loopback", mend: "see `ss -ltn`") }
            return Int(UInt16(bigEndian: address.sin_port))
        }
    }
}
