// What Shared/Contracts says, read from its source: the types on the wire with their comments, the streams and the requests.

import Foundation

/// One type of Contracts.
struct ContractType {
    struct Property {
        var name: String
        /// As written, without the question mark.
        var type: String
        var isOptional: Bool
        var comment: String
    }

    /// With the types around it: `ReplayStream.Fact`.
    var name: String
    var kind: String
    var conformances: String
    var comment: String
    var properties: [Property] = []
    /// Raw values of an enum of strings.
    var cases: [String] = []
    /// `method`, `type`, `owner`, `clients`, `mutates` as written.
    var constants: [String: String] = [:]

    var isRequest: Bool { constants["method"] != nil }
    var isFact: Bool { constants["type"]?.contains(".v") ?? false }
}

enum ContractsReader {
    static let sources = SourceTree.swift.filter { $0.isUnder("Shared/Contracts") }

    static let types: [ContractType] = sources.flatMap(read)

    static let requests = types.filter(\.isRequest)
    static let facts = types.filter(\.isFact)

    static let families = Conversations.families.map(\.call)

    static let metrics: [String] = sources.flatMap { source in
        source.calls(of: "\\bscalar").compactMap { $0.call.bare.dropFirst().first?.asLiteral }
            + source.calls(of: "\\bMetricDefinition").compactMap { $0.call["code"]?.asLiteral }
    }

    static func type(_ name: String, inside outer: String = "") -> ContractType? {
        types.first { $0.name == "\(outer).\(name)" } ?? types.first { $0.name == name }
    }

    private static func read(_ source: SwiftSource) -> [ContractType] {
        var finished: [ContractType] = []
        var open: [(type: ContractType, indentation: Int)] = []
        for (index, line) in source.code.enumerated() {
            let indentation = line.prefix { $0 == " " }.count
            if line.dropFirst(indentation).hasPrefix("}"), let last = open.last, indentation <= last.indentation {
                finished.append(open.removeLast().type)
            } else if let match = line.matches(of: "^ *package (struct|enum) (\\w+)(<[^>]*>)?(?:: ([\\w, &]+))? *\\{").first {
                let name = (open.map(\.type.name).last.map { $0 + "." } ?? "") + match[2]
                let type = ContractType(name: name, kind: match[1], conformances: match[4], comment: comment(above: index, in: source))
                if line.contains("}") { finished.append(type) } else { open.append((type, indentation)) }
            } else if let last = open.last, indentation == last.indentation + 4 {
                readMember(source, index, into: &open[open.count - 1].type)
            }
        }
        return finished
    }

    private static func readMember(_ source: SwiftSource, _ index: Int, into type: inout ContractType) {
        let (code, line) = (source.code[index], source.lines[index])
        if let match = code.matches(of: "^ *package (?:var|let) (\\w+): ([^={]+?)(\\?)? *$").first {
            type.properties.append(
                .init(name: match[1], type: match[2], isOptional: match[3] == "?", comment: comment(above: index, in: source)))
        } else if let match = code.matches(of: "^ *package var (\\w+) = (\\d+) *$").first {
            type.properties.append(.init(name: match[1], type: "=\(match[2])", isOptional: false, comment: ""))
        } else if let match = line.matches(of: "^ *package static let (\\w+)(?:: [^=]+)? = (.+)$").first {
            type.constants[match[1]] = match[2].trimmingCharacters(in: .whitespaces)
        } else if let match = line.matches(of: "^ *case `?(\\w+)`?(?: = \"([^\"]+)\")? *$").first {
            type.cases.append(match[2].isEmpty ? match[1] : match[2])
        }
    }

    /// The `///` lines directly above, as one line.
    static func comment(above index: Int, in source: SwiftSource) -> String {
        var words: [String] = []
        var index = index - 1
        while index >= 0, let match = source.lines[index].matches(of: "^ *///? ?(.*)$").first, source.lines[index].contains("///") {
            words.insert(match[1], at: 0)
            index -= 1
        }
        return words.joined(separator: " ").trimmingCharacters(in: .whitespaces)
    }
}
