// A JSON text as a tree, for readers that look at little of it or judge it field by field.

/// What a text says; `CheckedJSON` has checked it.
package enum JSONTree: Hashable, Sendable {
    case null
    case flag(Bool)
    /// The nearest Double; infinite where the number is beyond Double's range.
    case number(Double)
    case text(String)
    case list([JSONTree])
    case fields([String: JSONTree])

    /// - Throws: for what is not JSON or exceeds the bounds of `CheckedJSON`.
    package init(_ bytes: [UInt8]) throws(JSONFault) {
        // `withUnsafeBytes` hands on no typed error.
        let read = bytes.withUnsafeBytes { bytes in Result { () throws(JSONFault) in try JSONTree(bytes) } }
        self = try read.get()
    }

    /// As of an array.
    package init(_ bytes: UnsafeRawBufferPointer) throws(JSONFault) {
        try CheckedJSON.check(bytes)
        var cursor = JSONCursor(bytes, range: 0..<bytes.count)
        self = try Self.value(&cursor)
    }

    /// Recurses as deep as the check has allowed.
    private static func value(_ cursor: inout JSONCursor) throws(JSONFault) -> JSONTree {
        switch cursor.peek() {
        case UInt8(ascii: "{"): return .fields(try fields(&cursor))
        case UInt8(ascii: "["): return .list(try list(&cursor))
        case UInt8(ascii: "\""): return .text(cursor.string(try cursor.text()))
        case UInt8(ascii: "t"):
            try cursor.literal("true")
            return .flag(true)
        case UInt8(ascii: "f"):
            try cursor.literal("false")
            return .flag(false)
        case UInt8(ascii: "n"):
            try cursor.literal("null")
            return .null
        default: return .number(try cursor.number().value)
        }
    }

    private static func fields(_ cursor: inout JSONCursor) throws(JSONFault) -> [String: JSONTree] {
        var fields: [String: JSONTree] = [:]
        try cursor.members { name, cursor throws(JSONFault) in fields[cursor.string(name)] = try value(&cursor) }
        return fields
    }

    private static func list(_ cursor: inout JSONCursor) throws(JSONFault) -> [JSONTree] {
        var items: [JSONTree] = []
        try cursor.elements { cursor throws(JSONFault) in items.append(try value(&cursor)) }
        return items
    }

    /// Null for whatever is not there.
    package subscript(name: String) -> JSONTree {
        if case .fields(let fields) = self { fields[name] ?? .null } else { .null }
    }

    /// Nil for anything but a text.
    package var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// Empty for anything but a list.
    package var items: [JSONTree] {
        if case .list(let items) = self { items } else { [] }
    }

    /// Nil for anything but a whole number that 64 bits hold.
    package var integer: Int64? {
        if case .number(let number) = self { Int64(exactly: number) } else { nil }
    }
}

extension JSONCursor {
    /// Walks through an object; `take` takes each member's value.
    package mutating func members(
        _ take: (_ name: JSONText, inout JSONCursor) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        try self.take(UInt8(ascii: "{"))
        guard peek() != UInt8(ascii: "}") else {
            at += 1
            return
        }
        repeat {
            let name = try text()
            try self.take(UInt8(ascii: ":"))
            skipWhitespace()
            try take(name, &self)
        } while try continues(until: UInt8(ascii: "}"))
    }

    /// Walks through an array; `take` takes each element.
    package mutating func elements(_ take: (inout JSONCursor) throws(JSONFault) -> Void) throws(JSONFault) {
        try self.take(UInt8(ascii: "["))
        guard peek() != UInt8(ascii: "]") else {
            at += 1
            return
        }
        repeat {
            skipWhitespace()
            try take(&self)
        } while try continues(until: UInt8(ascii: "]"))
    }
}
