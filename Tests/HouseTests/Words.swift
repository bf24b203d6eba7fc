// How the code's spellings are said in tables: peers by their names on the wire, durations with their unit.

import Foundation

enum PeerNames {
    private static let source = SourceTree.swift.first { $0.path == "Shared/Contracts/Requests/Peer.swift" }

    /// Swift name to wire name: `sosDispatcher` to `sos-dispatcher`.
    private static let names: [String: String] = Dictionary(
        uniqueKeysWithValues: (source?.lines.joined(separator: "\n").matches(of: "static let (\\w+) = Peer\\(\"([^\"]+)\"\\)") ?? []).map {
            ($0[1], $0[2])
        })

    /// Wire name to the port where it answers.
    static let ports: [String: String] = Dictionary(
        uniqueKeysWithValues: (source?.lines.joined(separator: "\n").matches(of: "case \\.(\\w+): (\\d+)") ?? []).map {
            (wire($0[1]), $0[2])
        })

    /// From `.ingest` or `Peer.ingest`.
    static func wire(_ text: String) -> String {
        let name = String(text.split(separator: ".").last ?? "")
        return names[name] ?? name
    }

    /// Who may ask: the peers that the type names, else the consumers of the publisher, or the operator where the comment says so.
    static func clients(of request: ContractType) -> String {
        if let named = request.constants["clients"] { return list(named) }
        return request.comment.contains("`trackme ") ? "trackme" : "the publisher's consumers"
    }

    /// Who answers: the owner, the peers that the type names, or every publisher.
    static func answerers(of request: ContractType) -> String {
        (request.constants["owner"] ?? request.constants["answerers"]).map { list($0) } ?? "every publisher"
    }

    /// From `[.ingest, .trackme]`.
    static func all(_ text: String?) -> [String] {
        (text ?? "").matches(of: "\\.(\\w+)").map { wire($0[1]) }
    }

    static func list(_ text: String?) -> String {
        let peers = all(text)
        return peers.isEmpty ? "nobody yet" : peers.joined(separator: ", ")
    }
}

enum Words {
    /// From `.milliseconds(50)`.
    static func duration(_ text: String?) -> String {
        guard let match = (text ?? "").matches(of: "\\.(milliseconds|seconds)\\(([\\d.]+)\\)").first else { return text ?? "" }
        return "\(match[2]) \(match[1] == "seconds" ? "s" : "ms")"
    }
}
