// What may be registered as an endpoint: by its spelling, and where it is an address instead of a name, by the address.

import Contracts
import Foundation
import Outbound

/// The first of two looks; the second is at each connection, on the address that the name leads to then.
struct EndpointGuard: Sendable {
    /// By the operator's word: this machine and private networks too.
    let allowsPrivate: Bool

    /// - Throws: `invalid-endpoint`, with what is wrong.
    func check(_ url: String) throws(Problem) -> WebhookAddress {
        do throws(WebhookAddress.Fault) {
            let address = try WebhookAddress(url, allowsPrivate: allowsPrivate)
            let (policy, number): (AddressPolicy, NetworkAddress?) = (allowsPrivate ? .anywhere : .publicOnly, Self.number(address.host))
            guard number.map(policy.permits) ?? true else { throw .privateName }
            // What people measure of their health goes over the Internet encrypted, whatever the operator allows at home.
            guard !address.isPlain || number.map(AddressPolicy.privateOnly.permits) ?? address.isPrivateName else { throw .plainToPublic }
            return address
        } catch {
            throw Problem.invalidEndpoint.saying(
                "The endpoint \(error.fieldFault.english).", italian: "L'indirizzo \(error.fieldFault.italian).",
                errors: [.init(pointer: "/url", error.fieldFault)])
        }
    }

    /// nil for a name.
    private static func number(_ host: String) -> NetworkAddress? {
        var four = in_addr()
        // The lenient reading that resolvers have too: 127.1 and 0x7f000001 are this machine.
        if inet_aton(host, &four) != 0 { return .v4(UInt32(bigEndian: four.s_addr)) }
        var six = in6_addr()
        guard inet_pton(AF_INET6, host, &six) == 1 else { return nil }
        return .v6(withUnsafeBytes(of: &six) { $0.reduce(UInt128(0)) { $0 << 8 | UInt128($1) } })
    }
}
