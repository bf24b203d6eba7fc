// One Swift file, and the same with comments and strings blanked out, so that a rule about code does not read prose.

import Testing

/// A file's text by lines. `code` has the same lines, in which comments, strings and regular expressions are spaces.
struct SwiftSource: Sendable, CustomTestStringConvertible {
    let path: String
    let lines: [String]
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        code = Blanker.blanked(text).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    var testDescription: String { path }
    var name: String { String(path.split(separator: "/").last ?? "") }

    func isUnder(_ folder: String) -> Bool {
        path.hasPrefix(folder + "/")
    }

    /// Modules that the file imports, with the line of each, counted from 1.
    var imports: [(module: String, line: Int)] {
        code.enumerated().flatMap { index, line in
            line.matches(
                of:
                    "^\\s*(?:@\\w+(?:\\([^)]*\\))?\\s+)*(?:(?:package|internal|private|fileprivate|public)\\s+)?import\\s+(?:(?:struct|class|enum|func|protocol|typealias|var|let)\\s+)?(\\w+)"
            )
            .map { ($0[1], index + 1) }
        }
    }

    /// Whether a `//` comment stands on this line or on the one above it: there the author says why.
    func hasReason(at index: Int) -> Bool {
        let beside = lines[index].contains("//") && !code[index].contains("//")
        let above = index > 0 && lines[index - 1].drop(while: { $0 == " " }).hasPrefix("//")
        return beside || above
    }
}

/// Replaces every byte of comments, strings and regular expression literals by a space, keeping line ends.
private struct Blanker {
    private let text: [UInt8]
    private var output: [UInt8]
    private var index = 0

    static func blanked(_ text: String) -> String {
        var blanker = Blanker(text)
        blanker.run()
        return String(decoding: blanker.output, as: UTF8.self)
    }

    private init(_ text: String) {
        self.text = Array(text.utf8)
        output = self.text
    }

    private mutating func run() {
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "/") where starts("//"):
                while index < text.count, text[index] != UInt8(ascii: "\n") { blank() }
            case UInt8(ascii: "/") where starts("/*"): blockComment()
            case UInt8(ascii: "/") where isExpression(): expression()
            case UInt8(ascii: "\""): string()
            case UInt8(ascii: "#") where isRaw(): string()
            default: index += 1
            }
        }
    }

    private func starts(_ word: String) -> Bool {
        var at = index
        for byte in word.utf8 {
            guard at < text.count, text[at] == byte else { return false }
            at += 1
        }
        return true
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where index < text.count {
            if text[index] != UInt8(ascii: "\n") { output[index] = UInt8(ascii: " ") }
            index += 1
        }
    }

    private mutating func blockComment() {
        var depth = 0
        repeat {
            if starts("/*") {
                depth += 1
                blank(2)
            } else if starts("*/") {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && index < text.count
    }

    /// Whether the `#` here opens a raw string.
    private func isRaw() -> Bool {
        text[index...].first { $0 != UInt8(ascii: "#") } == UInt8(ascii: "\"")
    }

    private mutating func string() {
        var hashes = 0
        while index < text.count, text[index] == UInt8(ascii: "#") {
            hashes += 1
            blank()
        }
        let quotes = starts("\"\"\"") ? "\"\"\"" : "\""
        let end = quotes + String(repeating: "#", count: hashes)
        let escape = "\\" + String(repeating: "#", count: hashes)
        blank(quotes.utf8.count)
        while index < text.count, !starts(end) {
            if starts(escape + "(") {
                blank(escape.utf8.count + 1)
                interpolation()
            } else if starts(escape) {
                blank(escape.utf8.count + 1)
            } else {
                blank()
            }
        }
        blank(end.utf8.count)
    }

    /// What is interpolated is blanked too: rules about it are not worth a parser.
    private mutating func interpolation() {
        var depth = 1
        while index < text.count, depth > 0 {
            if text[index] == UInt8(ascii: "\"") {
                string()
            } else {
                depth += text[index] == UInt8(ascii: "(") ? 1 : text[index] == UInt8(ascii: ")") ? -1 : 0
                blank()
            }
        }
    }

    /// Whether the `/` here begins a regular expression rather than dividing: it follows an opening sign and no space follows it.
    private func isExpression() -> Bool {
        guard index + 1 < text.count, text[index + 1] != UInt8(ascii: " "), text[index + 1] != UInt8(ascii: "\n") else { return false }
        guard let before = text[..<index].last(where: { $0 != UInt8(ascii: " ") }) else { return true }
        return "(,=:[{&|;#".utf8.contains(before)
    }

    private mutating func expression() {
        blank()
        while index < text.count, text[index] != UInt8(ascii: "/"), text[index] != UInt8(ascii: "\n") {
            blank(text[index] == UInt8(ascii: "\\") ? 2 : 1)
        }
        blank()
    }
}
