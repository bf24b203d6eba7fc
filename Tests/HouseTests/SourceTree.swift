// The checked-out tree, as the house's tests read it.

import Foundation
import Synchronization

/// The files that are ours, found from where this file lies.
enum SourceTree {
    static let root = (0..<3).reduce(URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()) { url, _ in url.deletingLastPathComponent()
    }

    /// Every Swift file of these top folders, by path below the root, in order.
    static let swift: [SwiftSource] = ["Benchmarks", "Services", "Shared", "Tests"].flatMap { files(under: $0, ending: ".swift") }.map {
        SwiftSource(path: $0, text: text($0) ?? "")
    }

    /// Swift that runs in production.
    static let production = swift.filter { $0.isUnder("Services") || $0.isUnder("Shared") && !$0.isUnder("Shared/TestKit") }

    /// Paths below the root, without hidden files and whatever Python leaves behind.
    static func files(under folder: String, ending: String = "") -> [String] {
        let base = root.appendingPathComponent(folder)
        let found = FileManager.default.enumerator(atPath: base.path)?.compactMap { $0 as? String } ?? []
        return found.filter { path in
            path.hasSuffix(ending) && !path.split(separator: "/").contains { $0.hasPrefix(".") || $0 == "__pycache__" }
                && !isFolder("\(folder)/\(path)")
        }.map { "\(folder)/\($0)" }.sorted()
    }

    /// Names of the folders directly below `folder`.
    static func folders(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path)) ?? []
        return names.filter { isFolder("\(folder)/\($0)") }.sorted()
    }

    /// Names of the folders of `Services`, each a process.
    static let services = folders(in: "Services")

    static func text(_ path: String) -> String? {
        try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
    }

    static func write(_ text: String, to path: String) throws {
        try text.write(to: root.appendingPathComponent(path), atomically: true, encoding: .utf8)
    }

    private static func isFolder(_ path: String) -> Bool {
        var folder: ObjCBool = false
        return FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path, isDirectory: &folder) && folder.boolValue
    }
}

extension String {
    /// All matches of a pattern, each with its groups; group 0 is the whole match.
    func matches(of pattern: String) -> [[String]] {
        let expression = Patterns.compiled(pattern)
        let whole = self as NSString
        return expression.matches(in: self, range: NSRange(location: 0, length: whole.length)).map { match in
            (0..<match.numberOfRanges).map { match.range(at: $0).location == NSNotFound ? "" : whole.substring(with: match.range(at: $0)) }
        }
    }
}

/// Patterns are used on every line of the tree: each is compiled once.
enum Patterns {
    private static let known = Mutex<[String: NSRegularExpression]>([:])

    static func compiled(_ pattern: String) -> NSRegularExpression {
        known.withLock { known in
            if let expression = known[pattern] { return expression }
            guard let expression = try? NSRegularExpression(pattern: pattern, options: [.anchorsMatchLines]) else {
                preconditionFailure("not a pattern: \(pattern)")
            }
            known[pattern] = expression
            return expression
        }
    }
}
