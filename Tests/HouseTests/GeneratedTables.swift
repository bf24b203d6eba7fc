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
        for match in text.matches(of: "^<!-- generated: ([\\w-]+)(?: ([^ ]+))? -->\\n[\\s\\S]*?<!-- end -->") {
            let head = "<!-- generated: \(match[1])\(match[2].isEmpty ? "" : " " + match[2]) -->\n"
            result = result.replacingOccurrences(of: match[0], with: head + table(match[1], match[2], root: root) + "<!-- end -->")
        }
        return result
    }

    /// - Parameter root: the way from the document to the root of the tree.
    private static func table(_ kind: String, _ argument: String, root: String) -> String {
        switch kind {
        case "services": services(root: root)
        case "conversation": conversation(of: argument)
        case "settings": settings(of: argument)
        case "tables": tables(of: argument)
        case "commands": commands()
        case "manual": manual()
        case "ports": ports()
        case "diagram": diagram()
        case "floors": floors()
        case "problems": problems()
        case "field-faults": fieldFaults()
        case "streams": streams()
        case "requests": requests()
        case "metrics": metrics()
        default: "No table is called \(kind).\n"
        }
    }

    static func table(_ head: [String], _ rows: [[String]]) -> String {
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
        return table(["`urn:trackme:problem:` …", "status", "title", "answered by"], rows.keys.sorted().compactMap { rows[$0] })
    }

    /// The rows of the closed list behind `errors[].code`.
    static let declaredFieldFaults: [(code: String, english: String, italian: String, folder: String)] = SourceTree.production.flatMap {
        file in
        file.calls(of: "\\bFieldFault").compactMap { _, call in
            guard let code = call.bare.first?.asLiteral, let english = call["english"], let italian = call["italian"] else { return nil }
            let folder = file.path.split(separator: "/").prefix(2).joined(separator: "/")
            return (code, shown(english), shown(italian), folder)
        }
    }

    /// A text as it stands in the code, on one line and with `…` for what is put into it.
    private static func shown(_ text: String) -> String {
        guard text.hasPrefix("\"") else { return "…" }
        let lines = text.replacingOccurrences(of: "\\\n", with: "\n").components(separatedBy: "\n")
            .map { $0.trimmingCharacters(in: .whitespaces) }
        let line = lines.filter { $0 != "\"\"\"" }.joined(separator: " ")
        let whole = line.replacingOccurrences(of: "\\\\\\([^()]*\\)", with: "…", options: .regularExpression)
        return whole.replacingOccurrences(of: "\\\"", with: "'").trimmingCharacters(in: CharacterSet(charactersIn: "\""))
    }

    private static func fieldFaults() -> String {
        table(
            ["`code`", "English", "Italian", "answered by"],
            declaredFieldFaults.sorted { ($0.code, $0.folder) < ($1.code, $1.folder) }.map {
                ["`\($0.code)`", $0.english, $0.italian, $0.folder]
            })
    }

    // MARK: The bus

    private static func streams() -> String {
        table(
            ["family", "published by", "consumed by", "streams", "heartbeat", "snapshot", "TCP port", "facts"],
            Conversations.families.map { family in
                let (name, call) = (family.name, family.call)
                let streams = call["streams"]?.contains("partitions") == true ? "`\(name).00` … `\(name).15`" : "`\(name)`"
                return [
                    "`\(name)`", family.owner, family.consumers.joined(separator: ", "), streams, Words.duration(call["heartbeat"]),
                    call["keepsState"] == "true" ? "yes" : "no", call["tcpPort"] ?? "",
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
                    PeerNames.answerers(of: request),
                    PeerNames.clients(of: request),
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
