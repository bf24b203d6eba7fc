// Who takes part in the conversation on the bus.

/// A process with a CURVE key pair of its own. Services' names are their product names; operators may allow further peers.
package struct Peer: Hashable, Codable, Sendable, CustomStringConvertible {
    /// Also the name of its key files and sockets: lower-case letters, digits and hyphens.
    package let name: String

    /// Checks nothing: whoever takes a name from outside does.
    package init(_ name: String) {
        self.name = name
    }

    package var description: String { name }

    package init(from decoder: any Decoder) throws {
        name = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }

    package static let ingest = Peer("ingest")
    package static let consent = Peer("consent")
    package static let sosDispatcher = Peer("sos-dispatcher")
    /// The second SOS dispatcher: the same executable in the second place, with a store of its own.
    package static let sosDeputy = Peer("sos-deputy")
    package static let notifier = Peer("notifier")
    /// The door of organisations.
    package static let thirdPartyGateway = Peer("thirdparty-gateway")
    /// What organisations may know of groups of people.
    package static let anonymiser = Peer("anonymiser")
    /// The operator's tool.
    package static let trackme = Peer("trackme")

    /// Where it answers requests when the suite talks over TCP; nil for a peer that answers none.
    package var tcpPort: Int? {
        switch self {
        case .ingest: 5710
        case .sosDispatcher: 5720
        case .sosDeputy: 5750
        case .consent: 5730
        case .notifier: 5740
        case .thirdPartyGateway: 5770
        case .anonymiser: 5780
        default: nil
        }
    }

    /// The peers that have a place in the suite, in the order of the README's table.
    package static let suite: [Peer] = [
        .ingest, .consent, .sosDispatcher, .sosDeputy, .notifier, .thirdPartyGateway, .anonymiser, .trackme,
    ]

    /// Whose questions this peer answers too when that one does not; nil for all but deputies.
    package var deputyOf: Peer? { self == .sosDeputy ? .sosDispatcher : nil }

    /// Who stands in for this peer; nil for those that nobody does.
    package var deputy: Peer? { Peer.suite.first { $0.deputyOf == self } }
}
