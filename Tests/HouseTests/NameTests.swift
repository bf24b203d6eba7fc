// Names that say nothing, and names that clash.

import Testing

@Suite("Names")
struct NameTests {
    private static let empty = [
        "Manager", "Util", "Utils", "Utilities", "Utility", "Common", "Helper", "Helpers", "Core", "Base", "Impl", "Misc",
    ]

    private static func saysNothing(_ name: String) -> Bool {
        let words = name.matches(of: "[A-Z][a-z0-9]+|[A-Z]+(?![a-z])").map { $0[0] }
        return words.contains { empty.contains($0) }
    }

    @Test("no file, folder or type is a Manager, a Helper or of another name that says nothing")
    func names() {
        for file in SourceTree.swift {
            for part in file.path.split(separator: "/") {
                #expect(!Self.saysNothing(String(part.replacing(".swift", with: ""))), "\(file.path)")
            }
            for type in file.declarations where type.kind != "func" && Self.saysNothing(type.name) {
                Issue.record("\(file.path):\(type.line) \(type.name): what is it really?")
            }
        }
    }

    @Test("no type has its module's name, which could then not be qualified")
    func modules() {
        let modules = Set(SourceTree.folders(in: "Shared") + SourceTree.folders(in: "Services"))
        for file in SourceTree.production {
            for type in file.declarations where type.kind != "func" && type.indentation == 0 && modules.contains(type.name) {
                Issue.record("\(file.path):\(type.line) \(type.name) is named like a module")
            }
        }
    }

    @Test("names are spelt as in Britain")
    func spelling() {
        let american = "(?i)(anonymiz|authoriz(?!e:)|normaliz|serializ|synchroniz|optimiz|minimiz|neighbor|behavior|color(?!s?:)|center)"
        for file in SourceTree.production {
            for declaration in file.declarations where !declaration.name.matches(of: american).isEmpty {
                Issue.record("\(file.path):\(declaration.line) \(declaration.name)")
            }
        }
    }

    /// Words that a name was once made of, and the field's term that a search looks for.
    private static let replaced = [
        "asker": "client", "bell": "wake-up", "breath": "pause", "bury": "dead-letter", "courier": "delivery worker", "custody": "store",
        "duty": "job", "ear": "probe", "errand": "job", "hearer": "consumer", "hears": "consumes, receives", "lane": "queue, path",
        "ledger": "store", "mood": "fault", "neighbour": "dependency, participant", "passenger": "pending upload", "patience": "timeout",
        "rhythm": "interval", "ring": "wake-up", "tiding": "event", "wish": "request",
    ]

    /// Folders whose names keep to the terms.
    private static let kept = ["Shared", "Services"]

    /// The words of a name that were replaced, in the singular.
    private static func replacedWords(in name: String) -> [String] {
        name.matches(of: "[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])").map { $0[0].lowercased() }.compactMap { word in
            var forms = [word]
            if word.hasSuffix("ies") { forms.append(String(word.dropLast(3)) + "y") }
            if word.hasSuffix("es") { forms.append(String(word.dropLast(2))) }
            if word.hasSuffix("s") { forms.append(String(word.dropLast())) }
            return forms.first { replaced[$0] != nil }
        }
    }

    private struct Found {
        var place: String
        var line: Int
        var words: [String]
    }

    /// Every declaration of such a name, as `path name`.
    private static let declaredWithReplaced: [Found] = {
        let declaration = "\\b(?:struct|class|enum|protocol|actor|func|typealias|let|var|case) +`?([A-Za-z_]\\w*)"
        return SourceTree.swift.filter { file in kept.contains { file.isUnder($0) } }.flatMap { file in
            file.code.enumerated().flatMap { index, line in
                line.matches(of: declaration).compactMap { match -> Found? in
                    let words = replacedWords(in: match[1])
                    return words.isEmpty ? nil : Found(place: "\(file.path) \(match[1])", line: index + 1, words: words)
                }
            }
        }
    }()

    @Test("names in Shared and in all services are made of the field's terms")
    func terms() {
        for found in Self.declaredWithReplaced where Exceptions.replacedWords[found.place] == nil {
            let terms = found.words.map { "\($0): \(Self.replaced[$0] ?? "")" }.joined(separator: "; ")
            Issue.record("\(found.place), line \(found.line): \(terms)")
        }
        let needed = Set(Self.declaredWithReplaced.map(\.place))
        for exception in Exceptions.replacedWords.keys where !needed.contains(exception) {
            Issue.record("\(exception) is no longer needed as an exception")
        }
    }

    @Test("the check of terms bites: drillPatience and askers are refused, lastHeard and warning are not")
    func termsBite() {
        #expect(Self.replacedWords(in: "drillPatience") == ["patience"] && Self.replacedWords(in: "askers") == ["asker"])
        #expect(Self.replacedWords(in: "SubscriptionWishes") == ["wish"] && Self.replacedWords(in: "duties") == ["duty"])
        #expect(Self.replacedWords(in: "lastHeard").isEmpty && Self.replacedWords(in: "warning").isEmpty)
        #expect(Self.replacedWords(in: "yearBuilt").isEmpty && Self.replacedWords(in: "earth").isEmpty)
    }

    @Test("the check bites: MessageManager and StringUtils are refused, Basement and Commonwealth are not")
    func bites() {
        #expect(Self.saysNothing("MessageManager") && Self.saysNothing("StringUtils") && Self.saysNothing("HTTPHelper"))
        #expect(!Self.saysNothing("Basement") && !Self.saysNothing("CommonwealthScores") && !Self.saysNothing("StreamHeader"))
    }
}
