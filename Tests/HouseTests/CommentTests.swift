// Room signs and promises: what a file says before its first declaration, and what a neighbour may rely on.

import Testing

@Suite("Comments")
struct CommentTests {
    @Test("NFR-16: every file opens with one line that says what belongs there")
    func roomSigns() {
        for file in SourceTree.swift {
            let first = file.lines.first ?? ""
            let isSign = first.hasPrefix("// ") && first.split(separator: " ").count >= 4
            #expect(isSign, "\(file.path) opens with: \(first.prefix(60))")
        }
    }

    @Test("nothing is public or open but what a foreign protocol asks of a foreign type: there is no outside")
    func access() {
        let pattern =
            "(?:^|[ (])(?:public|open) +(?:final|class|struct|enum|protocol|actor|func|var|let|init|static|typealias|extension|subscript)\\b"
        for file in SourceTree.swift {
            for (index, line) in file.code.enumerated() where !line.matches(of: pattern).isEmpty {
                // A witness in an `extension X: @retroactive P` must be as visible as P.
                let isWitness = index > 0 && file.code[..<index].last { $0.hasPrefix("extension ") }?.contains("@retroactive") == true
                #expect(isWitness, "\(file.path):\(index + 1) \(line.drop { $0 == " " }.prefix(60))")
            }
        }
    }

    @Test("NFR-16: a package type or function at the top of a file says what it promises")
    func promises() {
        for file in SourceTree.production {
            for declaration in file.declarations
            where declaration.isPackage && declaration.indentation == 0 && declaration.kind != "typealias" {
                #expect(file.isDocumented(declaration), "\(file.path):\(declaration.line) \(declaration.name) has no /// comment")
            }
        }
    }

    @Test("no work is left behind in a comment")
    func leftovers() {
        for file in SourceTree.swift where !file.isUnder("Tests/HouseTests") {
            for (index, line) in file.lines.enumerated() where !line.matches(of: "\\b(TODO|FIXME|XXX|HACK)\\b").isEmpty {
                Issue.record("\(file.path):\(index + 1) \(line.drop { $0 == " " }.prefix(80))")
            }
        }
    }
}
