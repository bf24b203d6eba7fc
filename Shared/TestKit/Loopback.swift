// TCP sockets of this machine, for peers that speak below HTTP.

import Foundation

package enum Loopback {
    /// The port is taken, or nobody listens there.
    package struct Refused: Error {}

    /// - Parameter port: 0 stands for one that is free.
    package static func bound(_ port: Int = 0) throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // A port that is free must not be one that somebody else holds without listening.
        var isShared: Int32 = port == 0 ? 0 : 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
        var (own, length) = (address(port), socklen_t(MemoryLayout<sockaddr_in>.size))
        let isBound = withUnsafeMutablePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        return (try checked(descriptor, isBound), Int(in_port_t(bigEndian: own.sin_port)))
    }

    package static func listening(_ port: Int = 0, backlog: Int32 = 64) throws -> (descriptor: Int32, port: Int) {
        let (descriptor, port) = try bound(port)
        return (try checked(descriptor, listen(descriptor, backlog) == 0), port)
    }

    package static func connected(to port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var other = address(port)
        let isConnected = withUnsafePointer(to: &other) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        return try checked(descriptor, isConnected)
    }

    private static func checked(_ descriptor: Int32, _ isGood: Bool) throws -> Int32 {
        guard isGood else {
            close(descriptor)
            throw Refused()
        }
        return descriptor
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}
