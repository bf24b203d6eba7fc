// Who publishes, consumes, asks and answers what: as Contracts declare it, and whether the services' code does it.

import Contracts

enum Conversations {
    /// The streams of one publisher, as `StreamFamily` declares them.
    struct Family {
        /// As code calls it: `emergencyCards`.
        var swiftName: String
        var name: String
        var owner: String
        /// Of the suite's peers.
        var consumers: [String]
        /// The comment above the declaration.
        var purpose: String
        var call: Call
        /// Types of its facts on the wire.
        var facts: [String] {
            AsyncAPI.messages(of: name).compactMap { ContractsReader.type($0)?.constants["type"]?.asLiteral }
        }
    }

    static let families: [Family] = ContractsReader.sources.flatMap { source in
        source.calls(of: "static let (\\w+) = StreamFamily").map { swiftName, call in
            let line = source.lines.firstIndex { $0.contains("static let \(swiftName) = StreamFamily(") } ?? 0
            return Family(
                swiftName: swiftName, name: call["name"]?.asLiteral ?? "", owner: PeerNames.wire(call["owner"] ?? ""),
                consumers: PeerNames.all(call.consumers), purpose: ContractsReader.comment(above: line, in: source), call: call)
        }
    }

    /// The peers that run the executable of a service's folder: itself and whoever stands in for it.
    static func peers(of folder: String) -> [String] {
        guard let product = GeneratedTables.executables.first(where: { $0.folder == folder })?.product else { return [] }
        return Peer.suite.filter { $0.name == product || $0.deputyOf?.name == product }.map(\.name)
    }

    /// The folder of the executable that a peer runs.
    static func folder(of peer: String) -> String? {
        GeneratedTables.executables.map(\.folder).first { peers(of: $0).contains(peer) }
    }

    // MARK: What the code does

    /// The code of each service, and of each file of ServiceKit.
    private static let code: [String: String] = Dictionary(grouping: SourceTree.production) { file in
        file.isUnder("Services") ? file.path.split(separator: "/").prefix(2).joined(separator: "/") : file.path
    }.mapValues { $0.flatMap(\.code).joined(separator: "\n") }

    /// Every name that stands there: to look for one in the text takes far longer.
    private static let words: [String: Set<Substring>] = code.mapValues { text in
        Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") })
    }

    /// The files of ServiceKit, each with the types that it offers.
    private static let kit = SourceTree.production.filter { $0.isUnder("Shared/ServiceKit") }.map { file in
        let types = file.declarations.filter { $0.isPackage && $0.indentation == 0 && !["func", "typealias"].contains($0.kind) }
        return (path: file.path, types: types.map(\.name))
    }

    static func does(_ pattern: String, in place: String) -> Bool {
        !(code[place] ?? "").matches(of: pattern).isEmpty
    }

    private static func names(_ name: String, in place: String) -> Bool {
        words[place]?.contains(name[...]) ?? false
    }

    /// Whether the service's code is so, or a part of ServiceKit's that the service uses.
    private static func isSo(in folder: String, _ condition: (_ place: String) -> Bool) -> Bool {
        condition(folder) || kit.contains { part in condition(part.path) && part.types.contains { names($0, in: folder) } }
    }

    static func following(_ family: Family) -> String {
        "(?:family:|consumer\\(of:)\\s*\\.\(family.swiftName)\\b"
    }

    static func isFollowed(_ family: Family, in folder: String) -> Bool {
        // Those of one executable in two places are told apart while it runs.
        if peers(of: folder).contains(family.owner) { return names(family.swiftName, in: folder) }
        let pattern = following(family)
        return isSo(in: folder) { names(family.swiftName, in: $0) && does(pattern, in: $0) }
    }

    static func isAsked(_ request: ContractType, in folder: String) -> Bool {
        isSo(in: folder) { names(request.name, in: $0) }
    }

    static func isAnswered(_ request: ContractType, in folder: String) -> Bool {
        names(request.name, in: folder) && does("\\.on\\(\\s*\(request.name)\\.self", in: folder)
    }
}

extension Call {
    /// Whom a `StreamFamily` names as its consumers, as written.
    var consumers: String? { self["consumers"] }
}
