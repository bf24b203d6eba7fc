// The one reader of JSON (RFC 8259): over bytes, strict, in time linear in their number, without recursion. No tree, no strings, no
// allocation. Uploads, the bus and the check of every outside body are read with it.

/// Why bytes are not JSON that is read here, and where: `offset` counts bytes from the start of what was scanned.
@usableFromInline
package struct JSONFault: Error, Hashable, Sendable {
    @usableFromInline
    package enum Kind: UInt8, Sendable {
        case unexpectedEnd, unexpectedByte, badLiteral, badNumber, badEscape, controlCharacter, badUTF8, tooDeep, trailingBytes
        /// Of `CheckedJSON` alone: legal JSON that costs its reader more than it is worth.
        case repeatedName, longName, unsafeText
    }

    @usableFromInline package var kind: Kind
    @usableFromInline package var offset: Int

    @inlinable
    package init(kind: Kind, offset: Int) {
        (self.kind, self.offset) = (kind, offset)
    }

    /// Says what is wrong at which byte, counted from 0.
    package var detail: String {
        let what =
            switch kind {
            case .unexpectedEnd: "the text ends too early"
            case .unexpectedByte: "something else was expected here"
            case .badLiteral: "only true, false and null are words of JSON"
            case .badNumber: "this is no JSON number"
            case .badEscape: "this is no escape of a JSON string"
            case .controlCharacter: "a control character stands in a string unescaped"
            case .badUTF8: "these bytes are not UTF-8"
            case .tooDeep: "nested deeper than \(JSONCursor.maximumDepth) levels"
            case .trailingBytes: "something follows the end of the JSON text"
            case .repeatedName: "an object has this name twice"
            case .longName: "a name is longer than \(CheckedJSON.longestName) bytes"
            case .unsafeText: "more than \(StreamSafeText.mostNonStarters) combining marks follow one another"
            }
        return "At byte \(offset): \(what)."
    }
}

/// The place of a string between its quotes. Without escapes the bytes are the text itself.
@usableFromInline
package struct JSONText {
    @usableFromInline package var range: Range<Int>
    @usableFromInline package var escaped: Bool

    @inlinable
    package init(range: Range<Int>, escaped: Bool) {
        (self.range, self.escaped) = (range, escaped)
    }
}

/// Walks through one JSON text. UTF-8 is checked beforehand (`firstInvalidUTF8`), so strings are only looked at for their end,
/// their escapes and control characters. Every read is bounds-checked by hand: the bytes may come from anybody.
@usableFromInline
package struct JSONCursor {
    /// Arrays and objects inside one another; more is refused.
    package static let maximumDepth = 32

    @usableFromInline package let bytes: UnsafeRawBufferPointer
    @usableFromInline package let end: Int
    @usableFromInline package var at: Int

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer, range: Range<Int>) {
        self.bytes = bytes
        (at, end) = (range.lowerBound, range.upperBound)
    }

    @usableFromInline
    package func fault(_ kind: JSONFault.Kind) -> JSONFault {
        JSONFault(kind: at >= end && kind == .unexpectedByte ? .unexpectedEnd : kind, offset: at)
    }

    @inlinable
    @inline(__always)
    package mutating func skipWhitespace() {
        while at < end {
            let byte = bytes[at]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            at += 1
        }
    }

    /// The next byte that is no white space, not taken; 0 at the end (0 itself is legal nowhere).
    @inlinable
    @inline(__always)
    package mutating func peek() -> UInt8 {
        skipWhitespace()
        return at < end ? bytes[at] : 0
    }

    @inlinable
    @inline(__always)
    package mutating func take(_ byte: UInt8) throws(JSONFault) {
        guard peek() == byte else { throw fault(.unexpectedByte) }
        at += 1
    }

    /// Nothing but white space may be left.
    package mutating func finish() throws(JSONFault) {
        skipWhitespace()
        guard at == end else { throw fault(.trailingBytes) }
    }

    // MARK: Strings

    @inlinable
    @inline(__always)
    package mutating func text() throws(JSONFault) -> JSONText {
        try take(UInt8(ascii: "\""))
        let start = at
        while at < end {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\"") {
                at += 1
                return JSONText(range: start..<at - 1, escaped: false)
            }
            if byte == UInt8(ascii: "\\") { return try escapedText(from: start) }
            guard byte >= 0x20 else { throw fault(.controlCharacter) }
            at += 1
        }
        throw fault(.unexpectedEnd)
    }

    @usableFromInline
    mutating func escapedText(from start: Int) throws(JSONFault) -> JSONText {
        while at < end {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\"") {
                at += 1
                return JSONText(range: start..<at - 1, escaped: true)
            }
            if byte == UInt8(ascii: "\\") {
                _ = try escape()
                continue
            }
            guard byte >= 0x20 else { throw fault(.controlCharacter) }
            at += 1
        }
        throw fault(.unexpectedEnd)
    }

    /// Takes one escape, surrogate pairs included; a lone surrogate is refused.
    private mutating func escape() throws(JSONFault) -> Unicode.Scalar {
        guard at + 1 < end else { throw JSONFault(kind: .unexpectedEnd, offset: end) }
        let kind = bytes[at + 1]
        guard kind == UInt8(ascii: "u") else {
            guard let scalar = Self.shortEscape(kind) else { throw fault(.badEscape) }
            at += 2
            return scalar
        }
        let first = try hexadecimal(after: at + 2)
        if let scalar = Unicode.Scalar(first) {
            at += 6
            return scalar
        }
        guard first < 0xDC00, at + 7 < end, bytes[at + 6] == UInt8(ascii: "\\"), bytes[at + 7] == UInt8(ascii: "u") else {
            throw fault(.badEscape)
        }
        let second = try hexadecimal(after: at + 8)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw fault(.badEscape) }
        at += 12
        return scalar
    }

    private static func shortEscape(_ kind: UInt8) -> Unicode.Scalar? {
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): Unicode.Scalar(kind)
        case UInt8(ascii: "b"): "\u{8}"
        case UInt8(ascii: "f"): "\u{C}"
        case UInt8(ascii: "n"): "\n"
        case UInt8(ascii: "r"): "\r"
        case UInt8(ascii: "t"): "\t"
        default: nil
        }
    }

    private func hexadecimal(after start: Int) throws(JSONFault) -> UInt32 {
        guard start + 4 <= end else { throw JSONFault(kind: .unexpectedEnd, offset: end) }
        var value: UInt32 = 0
        for index in start..<start + 4 {
            let byte = bytes[index]
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw JSONFault(kind: .badEscape, offset: index)
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    /// The text's own bytes, escapes resolved: for the rare key or value that has some.
    package func decoded(_ text: JSONText) -> [UInt8] {
        guard text.escaped else { return Array(bytes[text.range]) }
        var result: [UInt8] = []
        var inner = JSONCursor(bytes, range: text.range)
        while inner.at < inner.end {
            if bytes[inner.at] == UInt8(ascii: "\\"), let scalar = try? inner.escape() {
                result.append(contentsOf: String(scalar).utf8)
            } else {
                result.append(bytes[inner.at])
                inner.at += 1
            }
        }
        return result
    }

    /// The text as a string, escapes resolved.
    package func string(_ text: JSONText) -> String {
        text.escaped ? String(decoding: decoded(text), as: UTF8.self) : String(decoding: bytes[text.range], as: UTF8.self)
    }

    // MARK: Whole values

    package mutating func literal(_ word: StaticString) throws(JSONFault) {
        let count = word.utf8CodeUnitCount
        guard at + count <= end else { throw JSONFault(kind: .unexpectedEnd, offset: end) }
        for index in 0..<count where bytes[at + index] != word.utf8Start[index] { throw fault(.badLiteral) }
        at += count
    }

    /// Takes one value of any kind, checking that it is JSON. `depth` is how many arrays and objects are open around it.
    package mutating func skipValue(depth: Int) throws(JSONFault) {
        var nothing = IgnoredTexts()
        try passValue(depth: depth, &nothing)
    }

    /// As `skipValue`, showing `inspector` every text. Loops where others recurse: what is open is one bit each.
    mutating func passValue(depth: Int, _ inspector: inout some JSONTextInspector) throws(JSONFault) {
        var open = depth
        // The lowest bit is the innermost: 1 for an object.
        var kinds: UInt64 = 0
        while true {
            let first = peek()
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = first == UInt8(ascii: "{")
                guard open < Self.maximumDepth else { throw fault(.tooDeep) }
                at += 1
                guard peek() != (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    at += 1
                    break
                }
                open += 1
                kinds = kinds << 1 | (isObject ? 1 : 0)
                if isObject {
                    inspector.begin(level: open)
                    try name(level: open, &inspector)
                }
                continue
            case UInt8(ascii: "\""): try inspector.value(try text(), self)
            case UInt8(ascii: "t"): try literal("true")
            case UInt8(ascii: "f"): try literal("false")
            case UInt8(ascii: "n"): try literal("null")
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try number()
            default: throw fault(.unexpectedByte)
            }
            // A value has ended, and whatever ends with it.
            while open > depth, try !continues(until: kinds & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                open -= 1
                kinds >>= 1
            }
            guard open > depth else { return }
            if kinds & 1 == 1 { try name(level: open, &inspector) }
        }
    }

    @inline(__always)
    private mutating func name(level: Int, _ inspector: inout some JSONTextInspector) throws(JSONFault) {
        let name = try text()
        try inspector.name(name, level: level, self)
        try take(UInt8(ascii: ":"))
    }

    /// After a member: takes the comma and says true, or takes the closing bracket and says false.
    @inlinable
    @inline(__always)
    package mutating func continues(until close: UInt8) throws(JSONFault) -> Bool {
        let byte = peek()
        guard byte == UInt8(ascii: ",") || byte == close, at < end else { throw fault(.unexpectedByte) }
        at += 1
        return byte != close
    }
}

/// Is shown the texts of a value that a cursor skips.
protocol JSONTextInspector {
    /// An object begins, the `level`th of what is open, from 1.
    mutating func begin(level: Int)
    mutating func name(_ name: JSONText, level: Int, _ cursor: JSONCursor) throws(JSONFault)
    mutating func value(_ value: JSONText, _ cursor: JSONCursor) throws(JSONFault)
}

private struct IgnoredTexts: JSONTextInspector {
    func begin(level: Int) {}
    func name(_: JSONText, level: Int, _: JSONCursor) {}
    func value(_: JSONText, _: JSONCursor) {}
}
