// Where connections may go, decided on the address itself and not on the name, so that no name can lead inside.

/// An IP address as a number.
package enum NetworkAddress: Hashable, Sendable {
    case v4(UInt32)
    case v6(UInt128)
}

/// Asked at each new connection, of the address that the name led to.
package enum AddressPolicy: Sendable {
    /// Only addresses of the public Internet: none of this host, of private networks, of a link, of documentation, of multicast.
    case publicOnly
    /// Every address; for desks and services on the same machine or network, whose addresses the operator himself wrote down.
    case anywhere
    /// As `publicOnly`, and this machine and private networks (RFC 1918, RFC 4193), where others may name addresses in them by the
    /// operator's word. Never a link, from which clouds hand out the machine's credentials, nor their addresses for that elsewhere.
    case publicAndPrivate
    /// This machine and private networks alone; for what is spoken without TLS.
    case privateOnly

    /// An IPv4 address inside an IPv6 one (mapped, NAT64, 6to4) is judged as what it is.
    package func permits(_ address: NetworkAddress) -> Bool {
        switch (self, address) {
        case (.anywhere, _): true
        case (.publicOnly, .v4(let bits)): Self.isPublic(bits)
        case (.publicOnly, .v6(let bits)): Self.isPublic(bits)
        case (.publicAndPrivate, .v4(let bits)): Self.isPublic(bits) || Self.isPrivate(bits)
        case (.publicAndPrivate, .v6(let bits)): Self.isPublic(bits) || Self.isPrivate(bits)
        case (.privateOnly, .v4(let bits)): Self.isPrivate(bits)
        case (.privateOnly, .v6(let bits)): Self.isPrivate(bits)
        }
    }

    private static func isPublic(_ address: UInt32) -> Bool {
        !refusedV4.contains { $0.holds(address) }
    }

    private static func isPublic(_ address: UInt128) -> Bool {
        // An IPv4 address in another dress is judged as what it is.
        if let inner = embeddedV4(address) { return isPublic(inner) }
        // Global unicast is 2000::/3; the rest is loopback, local, link-local, multicast or not given out.
        return globalUnicast.holds(address) && !refusedV6.contains { $0.holds(address) }
    }

    private static func isPrivate(_ address: UInt32) -> Bool {
        privateV4.contains { $0.holds(address) }
    }

    private static func isPrivate(_ address: UInt128) -> Bool {
        if let inner = embeddedV4(address) { return isPrivate(inner) }
        return privateV6.contains { $0.holds(address) } && !metadataV6.contains { $0.holds(address) }
    }

    private static func embeddedV4(_ address: UInt128) -> UInt32? {
        if mapped.holds(address) || translated.holds(address) { return UInt32(truncatingIfNeeded: address) }
        if sixToFour.holds(address) { return UInt32(truncatingIfNeeded: address >> 80) }
        return nil
    }
}

private struct Network<Bits: FixedWidthInteger & UnsignedInteger & Sendable>: Sendable {
    let base: Bits
    let length: Int

    func holds(_ address: Bits) -> Bool {
        length == 0 || (address ^ base) >> Bits(Bits.bitWidth - length) == 0
    }
}

private func v4(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ length: Int) -> Network<UInt32> {
    Network(base: a << 24 | b << 16 | c << 8 | d, length: length)
}

/// The leading 16-bit groups; the rest is zero.
private func v6(_ groups: UInt16..., length: Int) -> Network<UInt128> {
    let base = groups.enumerated().reduce(UInt128(0)) { $0 | UInt128($1.element) << UInt128(112 - 16 * $1.offset) }
    return Network(base: base, length: length)
}

/// IANA's special-purpose registry for IPv4, multicast and what is reserved.
private let refusedV4 = [
    v4(0, 0, 0, 0, 8), v4(10, 0, 0, 0, 8), v4(100, 64, 0, 0, 10), v4(127, 0, 0, 0, 8), v4(169, 254, 0, 0, 16), v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24), v4(192, 0, 2, 0, 24), v4(192, 88, 99, 0, 24), v4(192, 168, 0, 0, 16), v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24), v4(203, 0, 113, 0, 24), v4(224, 0, 0, 0, 4), v4(240, 0, 0, 0, 4),
]
/// RFC 1918, and this machine.
private let privateV4 = [v4(10, 0, 0, 0, 8), v4(172, 16, 0, 0, 12), v4(192, 168, 0, 0, 16), v4(127, 0, 0, 0, 8)]
/// RFC 4193, and this machine.
private let privateV6 = [v6(0xFC00, length: 7), v6(0, 0, 0, 0, 0, 0, 0, 1, length: 128)]
/// Where Amazon's and Google's machines are told of themselves; all others do it on a link.
private let metadataV6 = [v6(0xFD00, 0xEC2, 0, 0, 0, 0, 0, 0x254, length: 128), v6(0xFD20, 0xCE, 0, 0, 0, 0, 0, 0x254, length: 128)]
private let globalUnicast = v6(0x2000, length: 3)
private let mapped = v6(0, 0, 0, 0, 0, 0xFFFF, length: 96)
private let translated = v6(0x64, 0xFF9B, length: 96)
private let sixToFour = v6(0x2002, length: 16)
/// Inside 2000::/3: protocol assignments with Teredo and ORCHID, documentation.
private let refusedV6 = [v6(0x2001, 0, length: 23), v6(0x2001, 0xDB8, length: 32), v6(0x3FFF, length: 20)]
