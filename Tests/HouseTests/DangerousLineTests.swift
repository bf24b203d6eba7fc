// Lines that stop a process, promise what the compiler cannot check, or make a test a matter of luck.

import Testing

@Suite("Dangerous lines")
struct DangerousLineTests {
    private struct Rule: Sendable {
        var pattern: String
        /// Folders in which the line is free.
        var freeIn: [String] = []
        /// Whether a `//` reason beside or above it is enough.
        var reasonSuffices = true
    }

    private static let rules = [
        Rule(pattern: "\\bfatalError\\("), Rule(pattern: "\\btry!", freeIn: ["Tests"]), Rule(pattern: "\\bas! ", freeIn: ["Tests"]),
        Rule(pattern: "@unchecked Sendable"), Rule(pattern: "nonisolated\\(unsafe\\)"), Rule(pattern: "@preconcurrency import"),
        Rule(
            pattern: "(^|[^.\\w])print\\(", freeIn: ["Services/Operator", "Benchmarks", "Tests", "Shared/ServiceKit/ServiceCommand.swift"]),
        Rule(pattern: "\\b(Thread\\.sleep|usleep|nanosleep)\\(|(^|[^.\\w])sleep\\([0-9]"),
        Rule(pattern: "\\.disabled\\(|\\bwithKnownIssue\\b|\\bXCTSkip\\b"),
        Rule(pattern: "\\bimport XCTest\\b", reasonSuffices: false),
    ]

    private static func findings(in file: SwiftSource, of rule: Rule) -> [Int] {
        guard !rule.freeIn.contains(where: { file.isUnder($0) || file.path == $0 }) else { return [] }
        return file.code.indices.filter { index in
            !file.code[index].matches(of: rule.pattern).isEmpty && !(rule.reasonSuffices && file.hasReason(at: index))
        }
    }

    @Test("what may stop a process or deceive the compiler has its reason beside it")
    func reasons() {
        for file in SourceTree.swift {
            for rule in Self.rules {
                for index in Self.findings(in: file, of: rule) {
                    Issue.record("\(file.path):\(index + 1) \(file.lines[index].drop { $0 == " " }.prefix(80))")
                }
            }
        }
    }

    @Test("X1: JSON from outside is read through CheckedJSON; who calls a decoder itself reads what this suite has written, and says so")
    func checkedJSON() {
        let rule = Rule(pattern: "\\bJSONDecoder\\(\\)", freeIn: ["Tests", "Benchmarks", "Shared/TestKit"])
        let own = (ImportTable.storeSuffixes + ["Vault"]).map { "\($0).swift" }
        var calling: Set<String> = []
        for file in SourceTree.swift where !own.contains(where: { file.path.hasSuffix($0) }) {
            for index in Self.findings(in: file, of: rule) {
                calling.insert(file.path)
                if Exceptions.decodersOfJSON[file.path] == nil {
                    Issue.record("\(file.path):\(index + 1) calls JSONDecoder: use CheckedJSON, or say in Exceptions whose text it reads")
                }
            }
        }
        for path in Exceptions.decodersOfJSON.keys where !calling.contains(path) { Issue.record("\(path) calls no JSONDecoder any more") }
    }

    @Test("a worker's loop is WorkLoop: who loops until the task is cancelled otherwise says why")
    func loops() {
        let rule = Rule(pattern: "\\bwhile !Task\\.isCancelled\\b", reasonSuffices: false)
        var looping: Set<String> = []
        for file in SourceTree.production {
            for index in Self.findings(in: file, of: rule) {
                looping.insert(file.path)
                if Exceptions.loops[file.path] == nil {
                    Issue.record("\(file.path):\(index + 1) loops by itself: use WorkLoop, or say in Exceptions why not")
                }
            }
        }
        for path in Exceptions.loops.keys where !looping.contains(path) { Issue.record("\(path) loops no more by itself") }
    }

    @Test("a test waits for what it expects, never for a fixed time")
    func sleeps() {
        let rule = Rule(pattern: "Task\\.sleep\\(|clock\\.sleep\\(")
        for file in SourceTree.swift where file.isUnder("Tests") {
            for index in Self.findings(in: file, of: rule) {
                Issue.record("\(file.path):\(index + 1) sleeps: use eventually, or say why beside it")
            }
        }
    }

    @Test("domain code has no clock, no chance, no waiting and no log")
    func pureDomain() {
        let impure =
            "\\b(async|await|Task|Date\\(\\)|ContinuousClock|SuspendingClock|DispatchTime|random\\(|randomElement|shuffled|Logger|UUID\\(\\)|FileManager|URLSession)\\b"
        for file in SourceTree.production where file.path.contains("/Domain/") {
            for (index, line) in file.code.enumerated() where !line.matches(of: impure).isEmpty {
                Issue.record("\(file.path):\(index + 1) \(line.drop { $0 == " " }.prefix(80))")
            }
        }
    }

    @Test("the check bites: a bare try! is found, one with a reason, one in a string and one in a comment are not")
    func bites() {
        let rule = Self.rules[1]
        func count(_ text: String) -> Int { Self.findings(in: SwiftSource(path: "Shared/Bus/Planted.swift", text: text), of: rule).count }
        #expect(count("let a = try! b()") == 1)
        #expect(count("let a = try! b()  // the literal is valid") == 0)
        #expect(count("// the literal is valid\nlet a = try! b()") == 0)
        #expect(count("let a = \"try! b()\"") == 0)
        #expect(count("/* try! */ let a = #\"\\(try! b())\"#") == 0)
    }
}
