// From where a request comes, also behind the edge.

import Foundation

extension Exchange {
    /// The caller's address for counting how often it comes; never logged. The edge writes it as the last of `X-Forwarded-For`,
    /// which is believed of neighbours alone: anybody else could write there what they like.
    package var remoteAddress: String {
        guard RemoteAddress.isNeighbour(peerAddress), let forwarded = header("X-Forwarded-For")?.split(separator: ",").last else {
            return peerAddress
        }
        return String(forwarded.filter { $0 != " " }.prefix(64))
    }
}

enum RemoteAddress {
    /// Loopback, or a private network (RFC 1918, RFC 4193), where the edge is.
    static func isNeighbour(_ address: String) -> Bool {
        var four = in_addr()
        if inet_pton(AF_INET, address.hasPrefix("::ffff:") ? String(address.dropFirst(7)) : address, &four) == 1 {
            return withUnsafeBytes(of: four) { bytes in
                switch (bytes[0], bytes[1]) {
                case (127, _), (10, _), (192, 168), (172, 16...31): true
                default: false
                }
            }
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, address, &six) == 1 else { return false }
        return withUnsafeBytes(of: six) { $0[0] & 0xFE == 0xFC || ($0.dropLast().allSatisfy { $0 == 0 } && $0[15] == 1) }
    }
}
