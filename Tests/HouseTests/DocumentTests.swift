// Documents that can be checked are checked: paths, links, verbs of the Makefile, golden files.

import Foundation
import Testing

@Suite("Documents")
struct DocumentTests {
    @Test("every path and link that a document names exists")
    func paths() {
        for path in GeneratedTables.documents {
            let text = SourceTree.text(path) ?? ""
            for match in text.matches(of: "`((?:Services|Shared|Tests|Benchmarks|docs|deploy|\\.ci)/[A-Za-z0-9_./-]*[A-Za-z0-9_/-])`") {
                #expect(SourceTree.exists(match[1]), "\(path) names \(match[1])")
            }
            let folder = path.split(separator: "/").dropLast().map { $0 + "/" }.joined()
            for match in text.matches(of: "\\]\\(([^)#:]+)(?:#[^)]*)?\\)") {
                #expect(SourceTree.exists(folder + match[1]), "\(path) links to \(match[1])")
            }
        }
    }

    @Test("every verb that a document tells to type is one of the Makefile's")
    func verbs() {
        let verbs = Set((SourceTree.text("Makefile") ?? "").matches(of: "^([a-z-]+):.*##").map { $0[1] })
        for path in GeneratedTables.documents {
            for match in (SourceTree.text(path) ?? "").matches(of: "(?:`|^ *\\$? ?)make ([a-z-]+)") {
                #expect(verbs.contains(match[1]), "\(path) says make \(match[1])")
            }
        }
    }

    @Test("NFR-23: whoever watches is alarmed of a broken chain of rescue, and each rule asks for a figure that a service shows")
    func alarms() throws {
        let rules = try #require(SourceTree.text("deploy/alerts.yml"))
        let labels = SourceTree.production.flatMap { $0.lines }.flatMap { $0.matches(of: "label: \"([a-z_]+)\"").map { $0[1] } }
        for expression in rules.matches(of: "^ +expr: (.*)$").map({ $0[1] }) {
            let asked = expression.matches(of: "\\b((?:sos|payment|payments|jobs|ingest|bus|ano|trackme)_[a-z_]+)").map { $0[1] }
            #expect(expression.contains("up{job") || !asked.isEmpty, "\(expression) asks for nothing of ours")
            for figure in asked { #expect(labels.contains(figure), "\(figure) is no figure of the suite") }
        }
        for alarm in [
            "SOSDispatcherDown", "SOSCanaryMissed", "SOSCanaryLate", "SOSCanarySilent", "SOSConsumerLag", "SOSOutboxAge",
            "IngestClockWrong",
        ] {
            let rule = rules.matches(of: "- alert: \(alarm)\n(?: {8}.*\n)+").first?[0]
            #expect(rule?.contains("severity: critical") == true, "\(alarm) is not critical, or not there")
        }
    }

    @Test("every fuzz target names decoders that exist, has seeds, and every seed a target")
    func fuzzTargets() {
        let targets = SourceTree.swift.filter { $0.isUnder("Tests/Fuzz") && !$0.isUnder("Tests/Fuzz/Modules") }
        for target in targets {
            let decoders = target.lines.first { $0.hasPrefix("// decoders:") }
            #expect(decoders != nil, "\(target.path) has no line of decoders")
            for match in (decoders ?? "").matches(of: " ([A-Z][^ *]*\\.swift)") { #expect(SourceTree.exists(match[1]), "\(target.path)") }
            #expect(SourceTree.exists("Tests/Fuzz/seeds/\(target.name.dropLast(6))"), "\(target.path) has no seeds")
        }
        let names = Set(targets.map { String($0.name.dropLast(6)) })
        for folder in SourceTree.folders(in: "Tests/Fuzz/seeds") { #expect(names.contains(folder), "seeds of no target") }
    }

    @Test("ORG-19: the third parties' page of refusals explains every problem that the gateway can answer them, with its status")
    func thirdPartyRefusals() throws {
        let all = try #require(SourceTree.text("docs/problems.md")).matches(of: "^\\| `([a-z-]+)` \\| (\\d+) \\|(.*)$")
        var explained: [String: String] = [:]
        for row in try #require(SourceTree.text("docs/third-parties/errors.md")).matches(of: "^\\| ((?:`[a-z-]+`(?:, )?)+) \\| (\\d+) \\|")
        {
            for name in row[1].matches(of: "`([a-z-]+)`") { explained[name[1]] = row[2] }
        }
        for (name, status) in explained {
            #expect(all.contains { $0[1] == name && $0[2] == status }, "\(name) \(status) is no problem of the suite")
        }
        // Only payment handlers send what is refused as not signed.
        for row in all where row[3].contains("Services/ThirdPartyGateway") && row[1] != "signature-refused" {
            #expect(explained[row[1]] != nil, "\(row[1]) is not explained")
        }
    }

    @Test("the tour walks through ten files that exist")
    func tour() throws {
        let text = try #require(SourceTree.text("docs/tour.md"))
        let stops = text.matches(of: "^## \\d+\\.? `([^`]+)`").map { $0[1] }
        #expect(stops.count == 10)
        for stop in stops { #expect(SourceTree.exists(stop), "docs/tour.md stops at \(stop)") }
    }

    @Test("decisions are numbered without gaps and say context, decision, consequences and what was rejected")
    func decisions() {
        let files = SourceTree.files(under: "docs/decisions", ending: ".md")
        for (index, path) in files.enumerated() {
            let number = String(repeating: "0", count: 4 - String(index + 1).count) + String(index + 1)
            #expect(path.hasPrefix("docs/decisions/\(number)-"), "\(path) should be number \(number)")
            for heading in ["## Context", "## Decision", "## Consequences", "## Rejected"] {
                #expect(SourceTree.text(path)?.contains(heading) == true, "\(path) has no \(heading)")
            }
        }
    }

    @Test("a golden file is only ever added: a change of the wire is a new version")
    func goldenFiles() throws {
        // Lists of alarms are what the rules of today make of a recording, and change with them; nobody reads them off a wire.
        let lists = ":(exclude,glob)Tests/SOSDispatcherTests/Golden/recording-*"
        let folders = [":(glob)Tests/**/Golden/**", ":(glob)Tests/**/GoldenFiles/**", lists]
        guard let commits = try Self.git(["rev-list", "--count", "HEAD"]), Int(commits) ?? 0 > 0 else { return }
        let changed = try Self.git(["diff", "--no-renames", "--diff-filter=MD", "--name-only", "HEAD", "--"] + folders) ?? ""
        let earlier = try Self.git(["log", "--no-renames", "--diff-filter=MD", "--name-only", "--format=", "--"] + folders) ?? ""
        let named = Set((changed + "\n" + earlier).split(separator: "\n").map(String.init))
        for path in named { Issue.record("\(path) was changed or deleted") }
    }

    /// What git prints; nil where there is no git or no repository.
    private static func git(_ arguments: [String]) throws -> String? {
        guard SourceTree.exists(".git") else { return nil }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["git", "-c", "safe.directory=*", "-C", SourceTree.root.path] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { return nil }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
