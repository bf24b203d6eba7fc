// Writing XML piece by piece: every name is ours, every text is escaped.

/// A document under construction; the caller takes what is written whenever it likes, so that a long one needs no memory.
package struct XMLWriter: Sendable {
    private var bytes: [UInt8] = []
    private var open: [StaticString] = []

    /// Begins with the declaration: XML 1.0 in UTF-8.
    package init() {
        bytes.append(contentsOf: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".utf8)
    }

    /// What was written since the last call.
    package mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    /// How much `take` would give.
    package var waiting: Int { bytes.count }

    /// The element stays open until its `close`. Attributes keep their order.
    package mutating func open(_ name: StaticString, _ attributes: [(name: StaticString, value: String)] = []) {
        start(name, attributes)
        append(">")
        open.append(name)
    }

    /// Ends the innermost open element; nothing where all are ended.
    package mutating func close() {
        guard let name = open.popLast() else { return }
        append("</")
        append(name)
        append(">\n")
    }

    /// An element that holds a text and nothing else.
    package mutating func leaf(_ name: StaticString, _ text: String) {
        start(name, [])
        append(">")
        escape(text)
        append("</")
        append(name)
        append(">")
    }

    /// Ends all open elements.
    package mutating func finish() {
        while !open.isEmpty { close() }
    }

    private mutating func start(_ name: StaticString, _ attributes: [(name: StaticString, value: String)]) {
        append("<")
        append(name)
        for attribute in attributes {
            append(" ")
            append(attribute.name)
            append("=\"")
            escape(attribute.value)
            append("\"")
        }
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Characters that XML 1.0 does not know, references included, become U+FFFD.
    private mutating func escape(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": append("&amp;")
            case "<": append("&lt;")
            case ">": append("&gt;")
            case "\"": append("&quot;")
            case "\t", "\n", "\r": bytes.append(contentsOf: "&#\(scalar.value);".utf8)
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: append("\u{FFFD}")
            default: bytes.append(contentsOf: String(scalar).utf8)
            }
        }
    }
}
