// Which addresses may be registered for webhooks, as far as their spelling tells.

import Foundation

/// An address that passed. What its name resolves to is checked at each connection.
struct WebhookAddress: Hashable, Sendable {
    static let longest = 2000
    /// Names that mean this machine or a private network everywhere.
    private static let privateSuffixes = ["localhost", "local", "internal", "lan", "intranet", "home.arpa", "localdomain", "onion"]

    let text: String
    /// Without the brackets of an IPv6 address.
    let host: String
    /// http: everybody on the way can read along.
    let isPlain: Bool
    /// Whether the name by itself means this machine or a private network.
    let isPrivateName: Bool

    enum Fault: Error, Hashable, CaseIterable {
        case form, scheme, plainToPublic, credentials, fragment, port, privateName
    }

    /// - Parameter allowsPrivate: by the operator's word, for tests and suites of one house: http and private names too.
    init(_ text: String, allowsPrivate: Bool) throws(Fault) {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let parts = URLComponents(string: text),
            let scheme = parts.scheme?.lowercased(), var host = parts.host?.lowercased(), !host.isEmpty
        else { throw .form }
        guard scheme == "https" || scheme == "http" && allowsPrivate else { throw .scheme }
        guard parts.user == nil, parts.password == nil else { throw .credentials }
        guard parts.fragment == nil else { throw .fragment }
        guard Self.hasPossiblePort(text) else { throw .port }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        while host.hasSuffix(".") { host.removeLast() }
        guard !host.isEmpty else { throw .form }
        isPrivateName =
            Self.privateSuffixes.contains { host == $0 || host.hasSuffix("." + $0) } || !(host.contains(".") || host.contains(":"))
        if !allowsPrivate, isPrivateName { throw .privateName }
        (self.text, self.host, isPlain) = (text, host, scheme == "http")
    }

    /// Of an address without credentials and fragment. One that is too long for a number is told apart from none.
    private static func hasPossiblePort(_ text: String) -> Bool {
        let authority = text.drop(while: { $0 != "/" }).dropFirst(2).prefix(while: { $0 != "/" && $0 != "?" })
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") else { return true }
        let port = authority[colon...].dropFirst()
        return port.isEmpty || UInt16(port).map { $0 > 0 } ?? false
    }
}
