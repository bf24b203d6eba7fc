// Tables of the documentation that are made from the code. A document holds them between `<!-- generated: KIND ARGUMENT -->` and
// `<!-- end -->`; `make docs` writes them anew, HouseTests compare.

import Foundation

enum GeneratedTables {
    /// The documents in which generated tables may stand.
    static var documents: [String] {
        ["README.md", "CONTRIBUTING.md"].filter(SourceTree.exists)
            + SourceTree.files(under: "docs", ending: ".md")
            + ["Services", "Shared", "Benchmarks", "deploy"].flatMap { SourceTree.files(under: $0, ending: ".md") }
    }

    /// The document at `path` as it should be.
    static func renewed(_ text: String, at path: String) -> String {
        let root = path.split(separator: "/").dropFirst().map { _ in "../" }.joined()
        var result = text
        for match in text.matches(of: "<!-- generated: (\\w+)(?: ([^ ]+))? -->\\n[\\s\\S]*?<!-- end -->") {
            let head = "<!-- generated: \(match[1])\(match[2].isEmpty ? "" : " " + match[2]) -->\n"
            result = result.replacingOccurrences(of: match[0], with: head + table(match[1], match[2], root: root) + "<!-- end -->")
        }
        return result
    }

    /// - Parameter root: the way from the document to the root of the tree.
    private static func table(_ kind: String, _ argument: String, root: String) -> String {
        switch kind {
        case "services": services(root: root)
        case "settings": settings(of: argument)
        case "problems": problems()
        case "streams": streams()
        case "requests": requests()
        case "metrics": metrics()
        default: "No table is called \(kind).\n"
        }
    }

    private static func table(_ head: [String], _ rows: [[String]]) -> String {
        let lines = [head, head.map { _ in "---" }] + rows
        return lines.map { "| " + $0.map { $0.replacingOccurrences(of: "|", with: "\\|") }.joined(separator: " | ") + " |\n" }.joined()
    }

    // MARK: Services

    /// Executables of Package.swift with their folders, in its order.
    static let executables: [(product: String, folder: String)] = (SourceTree.text("Package.swift") ?? "")
        .matches(of: "\\.executable\\(name: \"([^\"]+)\", targets: \\[\"(\\w+)\"\\]\\)").map { ($0[1], "Services/\($0[2])") }

    private static func services(root: String) -> String {
        table(
            ["executable", "what it does", "more"],
            executables.map { product, folder in
                [
                    "`\(product)`", firstSentence(of: SourceTree.text("\(folder)/README.md") ?? ""),
                    "[\(folder)](\(root)\(folder)/README.md)",
                ]
            })
    }

    /// The first paragraph below the title.
    private static func firstSentence(of readme: String) -> String {
        let paragraphs = readme.components(separatedBy: "\n\n").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        let first = paragraphs.first { !$0.isEmpty && !$0.hasPrefix("#") && !$0.hasPrefix("<!--") } ?? ""
        return first.replacingOccurrences(of: "\n", with: " ")
    }

    // MARK: Settings

    struct DeclaredSetting {
        var key: String
        var fallback: String
        var allowed: String
        var meaning: String
    }

    /// Read from `.integer("sos.retry_s", default: 10, in: 1...60, "…")` and its neighbours.
    static func declaredSettings(in folder: String) -> [DeclaredSetting] {
        SourceTree.swift.filter { $0.isUnder(folder) }.flatMap { $0.calls(of: "\\.(\\w+)") }.compactMap { kind, call in
            guard kind != "refuse", let key = call.bare.first?.asLiteral, !key.matches(of: "^[a-z]+\\.[a-z0-9_]+$").isEmpty,
                let meaning = call.bare.last?.asLiteral, call.bare.count > 1
            else { return nil }
            let range = call["in"].map { $0.replacingOccurrences(of: "...", with: " to ").replacingOccurrences(of: "_", with: "") }
            let fallback = call["default"].map(written) ?? ""
            guard kind == "choice" else {
                let allowed = [unit(of: kind), range].compactMap { $0 }.joined(separator: ", ")
                return DeclaredSetting(key: key, fallback: fallback, allowed: allowed, meaning: meaning)
            }
            let choices = choices(beside: fallback, in: folder)
            return DeclaredSetting(
                key: key, fallback: choices.first { $0.name == fallback }?.written ?? fallback,
                allowed: choices.map(\.written).joined(separator: ", "), meaning: meaning)
        }
    }

    /// The cases of the enumeration in `folder`, or in Contracts, that a setting with this default chooses from, and as an operator writes
    /// them.
    private static func choices(beside fallback: String, in folder: String) -> [(name: String, written: String)] {
        cases(beside: fallback, in: folder) ?? cases(beside: fallback, in: "Shared/Contracts") ?? [("choice", "choice")]
    }

    private static func cases(beside fallback: String, in folder: String) -> [(name: String, written: String)]? {
        let pattern = "enum \\w+: String,[^{]*CaseIterable[^{]*\\{([^{}]*)"
        let enumerations = SourceTree.production.filter { $0.isUnder(folder) }.flatMap { file in
            file.lines.joined(separator: "\n").matches(of: pattern).map { body in
                body[1].matches(of: "^ *case ([^\\n]+)").flatMap { $0[1].components(separatedBy: ",") }.map { one in
                    let words = one.components(separatedBy: " = ").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `\"")) }
                    return (name: words[0], written: words[words.count - 1])
                }
            }
        }
        // Of several the smallest: another may hold the same words besides its own.
        return enumerations.filter { $0.contains { $0.name == fallback } }.min { $0.count < $1.count }
    }

    /// A default as an operator would write it: `"var/\(peer)"` is `var/<peer>`; what the service hands in is its own.
    private static func written(_ fallback: String) -> String {
        if fallback.hasPrefix("\"") {
            let text = String(fallback.dropFirst().dropLast())
            return text.matches(of: "\\\\\\((\\w+)\\)").reduce(text) { $0.replacingOccurrences(of: $1[0], with: "<\($1[1])>") }
        }
        if fallback.hasPrefix(".") { return String(fallback.dropFirst()) }
        let isName = !fallback.matches(of: "^[a-z]\\w*$").isEmpty && !["true", "false", "nil"].contains(fallback)
        return isName ? "the service's own" : fallback.replacingOccurrences(of: "_", with: "")
    }

    private static func unit(of kind: String) -> String {
        switch kind {
        case "integer": "whole number"
        case "decimal": "number"
        case "flag": "true or false"
        case "address": "http(s) address"
        case "optionalPath": "path"
        default: kind
        }
    }

    private static func settings(of folder: String) -> String {
        table(
            ["setting", "default", "allowed", "meaning"],
            declaredSettings(in: folder).map { setting in
                [
                    "`\(variable(setting.key))`", setting.fallback.isEmpty ? "none" : "`\(setting.fallback)`", setting.allowed,
                    setting.meaning,
                ]
            })
    }

    /// `sos.retry_s` is read from `TRACKME_SOS_RETRY_S`.
    static func variable(_ key: String) -> String {
        "TRACKME_" + key.uppercased().replacingOccurrences(of: ".", with: "_")
    }

    // MARK: Problems

    /// Names, statuses and titles of every problem that some code can say.
    static let declaredProblems: [(name: String, status: String, title: String, folder: String)] = SourceTree.production.flatMap { file in
        file.calls(of: "\\bProblem").compactMap { _, call in
            guard let name = call.bare.first?.asLiteral, let status = call["status"] else { return nil }
            let folder = file.path.split(separator: "/").prefix(2).joined(separator: "/")
            return (name, status, call["title"]?.asLiteral ?? "", folder)
        }
    }

    /// Names that refuse one entry of an upload rather than the whole: the literals of a `name` whose comment mentions the urn.
    static let entryProblems: [(name: String, folder: String)] = SourceTree.production.flatMap { file in
        file.lines.indices.flatMap { index -> [(String, String)] in
            guard file.lines[index].contains("var name: String {"), index > 0, file.lines[index - 1].contains("`urn:trackme:problem:`")
            else { return [] }
            let indentation = file.lines[index].prefix { $0 == " " }
            let body = file.lines[index...].dropFirst().prefix { $0 != indentation + "}" }
            let folder = file.path.split(separator: "/").prefix(2).joined(separator: "/")
            return body.joined(separator: "\n").matches(of: "\"([a-z-]+)\"").map { ($0[1], folder) }
        }
    }

    private static func problems() -> String {
        var rows: [String: [String]] = [:]
        for (name, folder) in entryProblems { rows[name] = ["`\(name)`", "in a list", "", folder] }
        for problem in declaredProblems {
            var row = rows[problem.name] ?? ["`\(problem.name)`", "", "", ""]
            if !row[1].contains(problem.status) { row[1] = row[1].isEmpty ? problem.status : "\(problem.status), \(row[1])" }
            if row[2].isEmpty { row[2] = problem.title }
            if !row[3].contains(problem.folder) { row[3] = row[3].isEmpty ? problem.folder : "\(row[3]), \(problem.folder)" }
            rows[problem.name] = row
        }
        return table(["`urn:trackme:problem:` …", "status", "title", "said by"], rows.keys.sorted().compactMap { rows[$0] })
    }

    // MARK: The bus

    private static func streams() -> String {
        table(
            ["family", "said by", "heard by", "streams", "heartbeat", "snapshot", "TCP port", "facts"],
            ContractsReader.families.map { family in
                let name = family["name"]?.asLiteral ?? ""
                let streams = family["streams"]?.contains("partitions") == true ? "`\(name).00` … `\(name).15`" : "`\(name)`"
                return [
                    "`\(name)`", PeerNames.wire(family["owner"] ?? ""), PeerNames.list(family["hearers"]), streams,
                    Words.duration(family["heartbeat"]), family["keepsState"] == "true" ? "yes" : "no", family["tcpPort"] ?? "",
                    AsyncAPI.messages(of: name).dropLast().joined(separator: ", "),
                ]
            })
    }

    private static func requests() -> String {
        table(
            ["method", "answered by", "asked by", "changes something", "for"],
            ContractsReader.requests.map { request in
                [
                    "`\(request.constants["method"]?.asLiteral ?? "")`",
                    request.constants["owner"].map(PeerNames.wire) ?? "every publisher",
                    PeerNames.askers(of: request),
                    request.constants["mutates"] == "true" ? "yes" : "no", request.comment,
                ]
            })
    }

    private static func metrics() -> String {
        let rows = ContractsReader.sources.flatMap { $0.calls(of: "\\bscalar") }.compactMap { _, call -> [String]? in
            let bare = call.bare
            guard bare.count >= 7, let code = bare[1].asLiteral else { return nil }
            let range = bare[3].replacingOccurrences(of: "...", with: " to ").replacingOccurrences(of: "_", with: "")
            return ["`\(code)`", bare[2].asLiteral ?? "", range, call["loinc"]?.asLiteral ?? "", bare[5].asLiteral ?? ""]
        }
        let others = ContractsReader.sources.flatMap { $0.calls(of: "\\bMetricDefinition") }.compactMap { _, call -> [String]? in
            guard let code = call["code"]?.asLiteral else { return nil }
            let range = call["possible"]?.replacingOccurrences(of: "...", with: " to ") ?? ""
            return [
                "`\(code)`", call["unit"]?.asLiteral ?? "", call["shape"] == ".position" ? "on Earth" : range, "",
                call["english"]?.asLiteral ?? "",
            ]
        }
        return table(["type", "unit", "accepted", "LOINC", "what it is"], rows + others)
    }
}
