// Reads the arguments of calls out of a file, so that a table in the documentation can be made from what the code says.

import Foundation

/// One call: `name(label: text, …)`.
struct Call {
    var arguments: [(label: String, text: String)]

    subscript(label: String) -> String? {
        arguments.first { $0.label == label }?.text
    }

    /// Arguments without a label, in order.
    var bare: [String] { arguments.filter { $0.label.isEmpty }.map(\.text) }
}

extension String {
    /// The content of a plain string literal; nil where it is something else.
    var asLiteral: String? {
        guard count >= 2, hasPrefix("\""), hasSuffix("\""), !contains("\\(") else { return nil }
        return dropFirst().dropLast().replacingOccurrences(of: "\\\"", with: "\"")
    }
}

extension SwiftSource {
    /// Every call whose text before the parenthesis matches `pattern`; group 1 of the pattern, if any, comes as `name`.
    func calls(of pattern: String) -> [(name: String, call: Call)] {
        let blanked = code.joined(separator: "\n")
        let (raw, structure) = (Array(lines.joined(separator: "\n").utf8), Array(blanked.utf8))
        return blanked.occurrences(of: "(?:\(pattern))\\(").map { end, name in
            (name, Call(arguments: Self.arguments(raw, structure, from: end)))
        }
    }

    private static func arguments(_ raw: [UInt8], _ structure: [UInt8], from open: Int) -> [(label: String, text: String)] {
        var (depth, start, index) = (1, open, open)
        var pieces: [Range<Int>] = []
        while index < structure.count, depth > 0 {
            switch structure[index] {
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: ",") where depth == 1:
                pieces.append(start..<index)
                start = index + 1
            default: break
            }
            index += 1
        }
        pieces.append(start..<max(start, index - 1))
        return pieces.map { range in
            let text = String(decoding: raw[range], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard let label = text.matches(of: "^([a-zA-Z]\\w*):\\s").first else { return ("", text) }
            return (label[1], text.dropFirst(label[0].count).trimmingCharacters(in: .whitespacesAndNewlines))
        }.filter { !$0.1.isEmpty }
    }
}

extension String {
    /// For each match: the UTF-8 offset of its end, and group 1.
    fileprivate func occurrences(of pattern: String) -> [(end: Int, group: String)] {
        let whole = self as NSString
        return Patterns.compiled(pattern).matches(in: self, range: NSRange(location: 0, length: whole.length)).map { match in
            let end = String.Index(utf16Offset: match.range.location + match.range.length, in: self)
            let hasGroup = match.numberOfRanges > 1 && match.range(at: 1).location != NSNotFound
            return (utf8.distance(from: utf8.startIndex, to: end), hasGroup ? whole.substring(with: match.range(at: 1)) : "")
        }
    }
}
