// What is checked in as documentation is what the code says. With HOUSE_WRITES_DOCS the tests write it (`make docs`).

import Foundation
import ServiceKit
import Testing

@Suite("Generated tables", .serialized)
struct GeneratedTablesTests {
    private static let writes = ProcessInfo.processInfo.environment["HOUSE_WRITES_DOCS"] != nil

    private func compare(_ path: String, with wanted: String) throws {
        let found = SourceTree.text(path)
        guard found != wanted else { return }
        if Self.writes {
            try SourceTree.write(wanted, to: path)
        } else {
            let (old, new) = (found?.components(separatedBy: "\n") ?? [], wanted.components(separatedBy: "\n"))
            let line = zip(old, new).prefix { $0 == $1 }.count
            Issue.record(
                "\(path):\(line + 1) is not what the code says (`make docs`): \(new.indices.contains(line) ? new[line] : "the end")")
        }
    }

    @Test("the tables of README and docs are what the code says")
    func tables() throws {
        for path in GeneratedTables.documents {
            guard let text = SourceTree.text(path), text.contains("<!-- generated:") else { continue }
            try compare(path, with: GeneratedTables.renewed(text, at: path))
        }
    }

    @Test("UI-14: the codes in docs/problems.md stayed empty, since the name of their table has a hyphen: every table is written")
    func noneEmpty() {
        for path in GeneratedTables.documents {
            for match in (SourceTree.text(path) ?? "").matches(of: "^<!-- generated: .+ -->\\n") {
                let filled = GeneratedTables.renewed(match[0] + "<!-- end -->", at: path)
                #expect(filled.count > match[0].count + "<!-- end -->".count, "\(path): \(match[0])")
            }
        }
    }

    @Test("docs/asyncapi.yaml is what Contracts says")
    func asyncAPI() throws {
        try compare("docs/asyncapi.yaml", with: AsyncAPI.document())
    }

    @Test("the AsyncAPI document holds every stream, request and metric, and no reference into nothing")
    func completeness() throws {
        let text = AsyncAPI.document()
        #expect(ContractsReader.families.count >= 3 && ContractsReader.requests.count >= 10 && ContractsReader.metrics.count >= 20)
        for family in ContractsReader.families {
            let name = try #require(family["name"]?.asLiteral)
            #expect(AsyncAPI.messages(of: name).count > 1, "no fact's comment names the stream `\(name)`")
        }
        let schemas = Set(text.matches(of: "^    ([\\w.]+):").map { $0[1] })
        for reference in text.matches(of: "#/components/(?:schemas|messages)/([\\w.]+)") {
            #expect(schemas.contains(reference[1]), "\(reference[0]) leads nowhere")
        }
    }

    @Test("a trace that the bus takes is one that the AsyncAPI document allows, in envelopes as in headers")
    func longestTrace() throws {
        let text = AsyncAPI.document()
        let longest = try #require(Int(AsyncAPI.longestWord))
        let bounds = Set(text.matches(of: "trace: \\{ type: string, maxLength: (\\d+)").map { $0[1] })
        #expect(bounds == ["\(longest)"])
        #expect(text.contains("opaque, at most \(longest) characters"))
    }

    @Test("every service's README is generated where it says what the service publishes, consumes, asks, answers, reads and stores")
    func sections() {
        for (product, folder) in GeneratedTables.executables {
            let readme = SourceTree.text("\(folder)/README.md") ?? ""
            let own = product == "trackme" ? ["commands"] : ["settings \(folder)", "tables \(folder)"]
            for kind in ["conversation \(folder)"] + own {
                #expect(readme.contains("<!-- generated: \(kind) -->\n"), "\(folder)/README.md lacks <!-- generated: \(kind) -->")
            }
        }
        #expect(Set(ServiceFacts.all.map(\.folder)) == Set(GeneratedTables.executables.map(\.folder)).subtracting(["Services/Operator"]))
    }

    @Test("a variable that a document names is a setting, or read by a part of the suite")
    func variables() {
        let settings = (ServiceFacts.sharedSettings + ServiceFacts.all.flatMap(\.settings)).map { SettingsReader.variable(for: $0.key) }
        let files =
            SourceTree.files(under: "deploy") + SourceTree.files(under: "Tests/Interop", ending: ".py") + ["docker-compose.yml"]
        let texts = SourceTree.swift.map { $0.lines.joined(separator: "\n") } + files.compactMap(SourceTree.text)
        let others = texts.flatMap { $0.matches(of: "TRACKME_[A-Z0-9_]*[A-Z0-9]").map { $0[0] } }
        let known = Set(settings + others)
        for path in GeneratedTables.documents {
            for match in (SourceTree.text(path) ?? "").matches(of: "TRACKME_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_*…])") {
                #expect(known.contains(match[0]), "\(path) names \(match[0]), which nothing reads")
            }
        }
    }

    @Test("every problem that a route or an entry's refusal names is declared, with its status, so that docs/problems.md has it")
    func declarations() {
        let declared = Dictionary(grouping: GeneratedTables.declaredProblems, by: \.name).mapValues { Set($0.map(\.status)) }
        for file in SourceTree.production {
            for (_, call) in file.calls(of: "\\.problem") {
                guard let status = call.bare.first, Int(status) != nil else { continue }
                for name in call.bare.dropFirst().compactMap(\.asLiteral) {
                    #expect(declared[name]?.contains(status) == true, "\(file.path) answers \(status) \(name), which nothing declares")
                }
            }
        }
        for (name, folder) in GeneratedTables.entryProblems {
            #expect(declared[name] != nil, "\(folder) names \(name), which nothing declares")
        }
    }

    @Test("ORG-19, UI-14: every problem that a service declares stands at one of its routes, so that its OpenAPI document has it")
    func stated() {
        for folder in ServiceFacts.all.map(\.folder) {
            let text = SourceTree.production.filter { $0.path.hasPrefix("\(folder)/") }.map { $0.lines.joined(separator: "\n") }.joined()
            for match in text.matches(of: "static (?:let|func) (\\w+)[^=\"]*=?\\s*Problem\\(\\s*\"([a-z-]+)\"") {
                let isStated = text.contains("Problem.\(match[1]).name") || text.components(separatedBy: "\"\(match[2])\"").count > 2
                #expect(isStated, "\(folder) declares \(match[2]), which none of its routes names")
            }
        }
    }

    @Test("a problem has one status, a kebab-case name and a title")
    func problems() {
        for (name, found) in Dictionary(grouping: GeneratedTables.declaredProblems, by: \.name) {
            #expect(Set(found.map(\.status)).count == 1, "\(name) has several statuses")
            #expect(!name.matches(of: "^[a-z]+(-[a-z]+)*$").isEmpty, "\(name)")
            #expect(found.allSatisfy { !$0.title.isEmpty || $0.folder == "Shared/HTTPKit" }, "\(name) has no title")
        }
    }

    @Test("UI-04: what people read of a problem has an Italian title")
    func italianTitles() {
        for file in SourceTree.production {
            for (_, call) in file.calls(of: "\\bProblem") where call["status"].map({ Int($0) != nil }) == true {
                #expect(call["italianTitle"]?.asLiteral?.isEmpty == false, "\(file.path): \(call.bare.first ?? "")")
            }
        }
    }

    @Test("UI-04, UI-14: every code of a wrong field is kebab-case, declared once, and has a text in both languages")
    func fieldFaults() {
        let declared = GeneratedTables.declaredFieldFaults
        #expect(declared.count > 100)
        for (code, found) in Dictionary(grouping: declared, by: \.code) {
            #expect(!code.matches(of: "^[a-z0-9]+(-[a-z0-9]+)*$").isEmpty, "\(code)")
            #expect(Set(found.map(\.folder)).count == found.count, "\(code) is declared twice in one place")
            #expect(found.count == 1 || found.allSatisfy { $0.folder.hasPrefix("Services/") }, "\(code) is everybody's already")
            for row in found { #expect(!row.english.isEmpty && !row.italian.isEmpty, "\(code)") }
        }
    }
}
