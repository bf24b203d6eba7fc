// One service's part in the conversation on the bus, and the picture of all.

import ServiceKit

extension GeneratedTables {
    // MARK: One service

    /// What the service in `folder` publishes, consumes, answers and asks.
    static func conversation(of folder: String) -> String {
        let peers = Conversations.peers(of: folder)
        var rows: [[String]] = []
        for family in Conversations.families where peers.contains(family.owner) {
            rows.append(["publishes", stream(family), list(family.consumers), family.purpose])
        }
        for family in Conversations.families
        where !peers.allSatisfy({ !family.consumers.contains($0) }) && Conversations.isFollowed(family, in: folder) {
            rows.append(["consumes", stream(family), family.owner, family.purpose])
        }
        for request in ContractsReader.requests where answers(request, peers) {
            rows.append(["answers", method(request), PeerNames.clients(of: request), firstSentence(request.comment)])
        }
        for request in ContractsReader.requests where asks(request, peers: peers, folder: folder) {
            rows.append(["asks", method(request), PeerNames.answerers(of: request), firstSentence(request.comment)])
        }
        return table(["", "what", "with whom", "for"], rows)
    }

    /// Every publisher answers what is asked of streams.
    private static func answers(_ request: ContractType, _ peers: [String]) -> Bool {
        if let named = request.constants["owner"] ?? request.constants["answerers"] {
            return !PeerNames.all(named).filter(peers.contains).isEmpty
        }
        return Conversations.families.contains { peers.contains($0.owner) }
    }

    private static func asks(_ request: ContractType, peers: [String], folder: String) -> Bool {
        let clients = PeerNames.all(request.constants["clients"])
        return peers.contains(where: clients.contains) && Conversations.isAsked(request, in: folder)
    }

    private static func stream(_ family: Conversations.Family) -> String {
        "`\(family.name)`: " + family.facts.map { "`\($0)`" }.joined(separator: ", ")
    }

    private static func method(_ request: ContractType) -> String { "`\(request.constants["method"]?.asLiteral ?? "")`" }

    private static func list(_ peers: [String]) -> String { peers.isEmpty ? "nobody yet" : peers.joined(separator: ", ") }

    /// Up to the first full stop that ends one.
    private static func firstSentence(_ text: String) -> String {
        text.matches(of: "^.*?[.](?= |$)").first?[0] ?? text
    }

    // MARK: All of them

    /// Mermaid: solid lines are streams, dotted ones requests, thick ones lead out of the suite.
    static func diagram() -> String {
        let services = executables.map(\.product).filter { $0 != Self.tool }
        let nodes = services.map { product in
            let deputies = Conversations.peers(of: executables.first { $0.product == product }?.folder ?? "").filter { $0 != product }
            return "    \(product)[\"\(([product] + deputies).joined(separator: "<br/>"))\"]\n"
        }
        return "```mermaid\nflowchart LR\n    edge{{\"edge (Caddy, TLS)\"}}\n" + nodes.joined()
            + "    \(tool)([\"\(tool), the operator's tool\"])\n    outside((\"outside\"))\n"
            + (edgeLines() + streamLines() + requestLines() + outsideLines()).map { "    \($0)\n" }.joined() + "```\n"
    }

    private static let tool = "trackme"

    /// Mermaid takes `edge` and the names of services as they are; who stands in for another is shown as that one.
    private static func node(_ peer: String) -> String {
        Conversations.folder(of: peer).flatMap { folder in executables.first { $0.folder == folder }?.product } ?? peer
    }

    private static func edgeLines() -> [String] {
        let file = SourceTree.text("deploy/Caddyfile") ?? ""
        let text = file.matches(of: "\\n\\((\\w+)\\) \\{\\n([\\s\\S]*?)\\n\\}").reduce(file) { text, snippet in
            text.replacing("import \(snippet[1])", with: snippet[2])
        }
        return text.matches(of: "path /([\\w-]+)/\\*\\n[\\s\\S]*?reverse_proxy \\{\\$\\w+:127\\.0\\.0\\.1:(\\d+)\\}").compactMap { match in
            let service = ServiceFacts.all.first { $0.places.contains { $0.httpPort == Int(match[2]) } }
            return service.map { "edge -->|HTTP /\(match[1])| \($0.product)" }
        }
    }

    private static func streamLines() -> [String] {
        var labels: [(from: String, to: String, names: [String])] = []
        for family in Conversations.families {
            let followers = family.consumers.filter { peer in
                Conversations.folder(of: peer).map { Conversations.isFollowed(family, in: $0) } ?? false
            }
            for to in unique(followers.map(node)) {
                let from = node(family.owner)
                let name = String(family.name.drop { $0 != "." }.dropFirst())
                if let index = labels.firstIndex(where: { $0.from == from && $0.to == to }) {
                    labels[index].names.append(name)
                } else {
                    labels.append((from, to, [name]))
                }
            }
        }
        return labels.map { "\($0.from) -->|\($0.names.joined(separator: ", "))| \($0.to)" }
    }

    private static func requestLines() -> [String] {
        var labels: [(from: String, to: String, methods: [String])] = []
        for request in ContractsReader.requests {
            guard let owner = request.constants["owner"].map(PeerNames.wire), let method = request.constants["method"]?.asLiteral else {
                continue
            }
            let clients = PeerNames.all(request.constants["clients"]).filter { peer in
                Conversations.folder(of: peer).map { Conversations.isAsked(request, in: $0) } ?? false
            }
            for from in unique(clients.map(node)) {
                if let index = labels.firstIndex(where: { $0.from == from && $0.to == owner }) {
                    labels[index].methods.append(method)
                } else {
                    labels.append((from, owner, [method]))
                }
            }
        }
        return labels.map { line in
            let label = line.methods.count > 4 ? "\(line.methods.count) requests" : line.methods.joined(separator: ", ")
            return "\(line.from) -.->|\(label)| \(line.to)"
        }
    }

    /// Services that may call addresses outside the suite.
    private static func outsideLines() -> [String] {
        let package = SourceTree.text("Package.swift") ?? ""
        return executables.filter { $0.product != tool }.compactMap { product, folder in
            let target = folder.dropFirst("Services/".count)
            let entry = package.matches(of: "service\\(\\s*\"\(target)\",\\s*\\[([^\\]]*)\\]").first?[1] ?? ""
            return entry.contains("\"Outbound\"") ? "\(product) ==> outside" : nil
        }
    }

    private static func unique(_ names: [String]) -> [String] {
        names.enumerated().filter { names.firstIndex(of: $0.element) == $0.offset }.map(\.element)
    }

    // MARK: Modules

    /// The modules by floor, each with the outside libraries that it may import.
    static func floors() -> String {
        var rows: [[String]] = [[], [], []]
        for (module, imports) in ImportTable.shared.sorted(by: { $0.key < $1.key }) {
            let outside = imports.filter { ImportTable.shared[$0] == nil }.sorted()
            let below = imports.filter { ImportTable.shared[$0] != nil }
            let floor = module == "Contracts" ? 0 : below.isSubset(of: ["Contracts"]) ? 1 : 2
            rows[floor].append(outside.isEmpty ? module : "\(module) (\(outside.joined(separator: ", ")))")
        }
        let services = SourceTree.services.joined(separator: ", ")
        return table(
            ["floor", "modules, and the outside libraries behind them"],
            [["services, which never import each other", services]]
                + rows.enumerated().reversed().map { ["\($0.offset)", $0.element.joined(separator: ", ")] })
    }
}
