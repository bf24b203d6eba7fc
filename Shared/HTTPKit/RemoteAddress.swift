// From where a request comes, also behind the edge.

import Foundation

extension Exchange {
    /// The caller's address for counting how often it comes; never logged. See `RemoteAddress.of`.
    package var remoteAddress: String { RemoteAddress.of(head, from: peerAddress, edge: server.edge) }
}

/// What the edge shows with each request that it hands on. Only what it says of addresses counts: whoever reaches a service's own port beside
/// it, from the same machine or another container, could write any.
package struct EdgeSecret: Sendable {
    /// The edge replaces what a caller wrote there.
    static let header = "trackme-edge"
    private static let shortest = 32
    private let bytes: [UInt8]

    /// Nil for what could be guessed.
    package init?(_ text: String) {
        guard text.utf8.count >= Self.shortest else { return nil }
        bytes = Array(text.utf8)
    }

    /// Takes as long wherever the two differ.
    fileprivate func isShown(by head: RequestHead) -> Bool {
        guard let shown = head.edgeSecret, shown.utf8.count == bytes.count else { return false }
        return zip(shown.utf8, bytes).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

enum RemoteAddress {
    /// The edge writes the address as the last of `X-Forwarded-For`, which is believed where the edge's secret is shown beside it. Of an IPv6
    /// address it is the network (/64), since whoever has one address there has them all.
    static func of(_ head: RequestHead, from peer: String, edge: EdgeSecret?) -> String {
        guard let forwarded = head.forwardedFor, let edge, edge.isShown(by: head), let last = forwarded.split(separator: ",").last else {
            return network(peer)
        }
        return network(String(last.filter { $0 != " " }.prefix(64)))
    }

    /// Loopback, or a private network (RFC 1918, RFC 4193), where the edge is: its connections are many people's.
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

    /// The first 64 bits of an IPv6 address as hexadecimal digits; every other text as it is.
    static func network(_ address: String) -> String {
        guard address.utf8.contains(UInt8(ascii: ":")), !address.hasPrefix("::ffff:") else { return address }
        var six = in6_addr()
        guard inet_pton(AF_INET6, address, &six) == 1 else { return address }
        return withUnsafeBytes(of: six) { bytes in
            bytes.prefix(8).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined() + "/64"
        }
    }
}
