// Which addresses are public.

import Foundation
import Testing

@testable import Outbound

private func parse(_ text: String) -> NetworkAddress? {
    var four = in_addr()
    if inet_pton(AF_INET, text, &four) == 1 { return .v4(UInt32(bigEndian: four.s_addr)) }
    var six = in6_addr()
    guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
    return .v6(withUnsafeBytes(of: six) { $0.reduce(UInt128(0)) { $0 << 8 | UInt128($1) } })
}

@Suite("Address policy")
struct AddressPolicyTests {
    @Test(
        "Addresses of the public Internet are permitted",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "128.0.0.0", "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
            "2606:4700:4700::1111", "2a00:1450:4002::1", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        ])
    func permitted(text: String) throws {
        #expect(AddressPolicy.publicOnly.permits(try #require(parse(text))))
    }

    @Test(
        "Everything that is not is refused, in every dress, unless anywhere is allowed",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255",
            "169.254.0.0",
            "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255",
            "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
            "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:192.168.1.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::1",
            "2002:a9fe:a9fe::1", "100::1", "2001::1", "2001:db8::1", "3fff::1", "fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1",
            "ff02::1",
            "4000::1",
        ])
    func refused(text: String) throws {
        let address = try #require(parse(text))
        #expect(!AddressPolicy.publicOnly.permits(address))
        #expect(AddressPolicy.anywhere.permits(address))
    }

    @Test(
        "G8: private networks and this machine, where the operator lets strangers name them",
        arguments: [
            "10.0.0.0", "10.255.255.255", "127.0.0.1", "127.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255",
            "::1", "::ffff:127.0.0.1", "::ffff:192.168.1.1", "64:ff9b::10.0.0.1", "2002:7f00:1::1", "fc00::1", "fd00:ec2::255", "fdff::1",
        ])
    func ownNetworks(text: String) throws {
        let address = try #require(parse(text))
        #expect(AddressPolicy.publicAndPrivate.permits(address) && AddressPolicy.privateOnly.permits(address))
    }

    @Test(
        "G8: a setting for private networks opens no link, no metadata of a cloud, no multicast and no unspecified address",
        arguments: [
            "0.0.0.0", "0.1.2.3", "100.64.0.0", "100.100.100.200", "169.254.0.1", "169.254.169.254", "192.0.0.192", "192.0.2.1",
            "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::2", "::7f00:1", "::ffff:169.254.169.254",
            "64:ff9b::169.254.169.254", "2002:a9fe:a9fe::1", "fd00:ec2::254", "fd20:ce::254", "fe80::1", "febf::1", "fec0::1", "ff02::1",
            "4000::1",
        ])
    func neverByASetting(text: String) throws {
        let address = try #require(parse(text))
        #expect(!AddressPolicy.publicAndPrivate.permits(address) && !AddressPolicy.privateOnly.permits(address))
    }
}
