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

    @Test("the check bites: MessageManager and StringUtils are refused, Basement and Commonwealth are not")
    func bites() {
        #expect(Self.saysNothing("MessageManager") && Self.saysNothing("StringUtils") && Self.saysNothing("HTTPHelper"))
        #expect(!Self.saysNothing("Basement") && !Self.saysNothing("CommonwealthScores") && !Self.saysNothing("StreamHeader"))
    }
}
