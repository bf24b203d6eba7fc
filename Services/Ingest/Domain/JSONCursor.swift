// A strict JSON reader (RFC 8259) over bytes: no tree, no strings, no allocation; the scanner of uploads stands on it.

/// Why bytes are not JSON, and where: `offset` counts bytes from the start of what was scanned.
struct JSONFault: Error, Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        case unexpectedEnd, unexpectedByte, badLiteral, badNumber, badEscape, controlCharacter, badUTF8, tooDeep, trailingBytes
    }

    var kind: Kind
    var offset: Int
}

/// The place of a string between its quotes. Without escapes the bytes are the text itself.
struct JSONText {
    var range: Range<Int>
    var escaped: Bool
}

/// Walks through one JSON text. UTF-8 is checked beforehand (`firstInvalidUTF8`), so strings are only looked at for their end,
/// their escapes and control characters. Every read is bounds-checked by hand: the bytes may come from anybody.
struct JSONCursor {
    let bytes: UnsafeRawBufferPointer
    let end: Int
    var at: Int
    /// Arrays and objects inside one another; more is refused rather than recursed into.
    let maximumDepth: Int

    init(_ bytes: UnsafeRawBufferPointer, range: Range<Int>, maximumDepth: Int = 32) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
        (at, end) = (range.lowerBound, range.upperBound)
    }

    func fault(_ kind: JSONFault.Kind) -> JSONFault {
        JSONFault(kind: at >= end && kind == .unexpectedByte ? .unexpectedEnd : kind, offset: at)
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while at < end {
            let byte = bytes[at]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            at += 1
        }
    }

    /// The next byte that is no white space, not taken; 0 at the end (0 itself is legal nowhere).
    @inline(__always)
    mutating func peek() -> UInt8 {
        skipWhitespace()
        return at < end ? bytes[at] : 0
    }

    @inline(__always)
    mutating func take(_ byte: UInt8) throws(JSONFault) {
        guard peek() == byte else { throw fault(.unexpectedByte) }
        at += 1
    }

    /// Nothing but white space may be left.
    mutating func finish() throws(JSONFault) {
        skipWhitespace()
        guard at == end else { throw fault(.trailingBytes) }
    }

    // MARK: Strings

    @inline(__always)
    mutating func text() throws(JSONFault) -> JSONText {
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

    private mutating func escapedText(from start: Int) throws(JSONFault) -> JSONText {
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
    func decoded(_ text: JSONText) -> [UInt8] {
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

    // MARK: Everything that is of no interest

    mutating func literal(_ word: StaticString) throws(JSONFault) {
        let count = word.utf8CodeUnitCount
        guard at + count <= end else { throw JSONFault(kind: .unexpectedEnd, offset: end) }
        for index in 0..<count where bytes[at + index] != word.utf8Start[index] { throw fault(.badLiteral) }
        at += count
    }

    /// Takes one value of any kind, checking that it is JSON. `depth` is how many arrays and objects are open around it.
    mutating func skipValue(depth: Int) throws(JSONFault) {
        switch peek() {
        case UInt8(ascii: "\""): _ = try text()
        case UInt8(ascii: "{"): try skipObject(depth: depth + 1)
        case UInt8(ascii: "["): try skipArray(depth: depth + 1)
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try number()
        default: throw fault(.unexpectedByte)
        }
    }

    private mutating func skipObject(depth: Int) throws(JSONFault) {
        guard depth <= maximumDepth else { throw fault(.tooDeep) }
        at += 1
        if peek() == UInt8(ascii: "}") {
            at += 1
            return
        }
        while true {
            _ = try text()
            try take(UInt8(ascii: ":"))
            try skipValue(depth: depth)
            if try !continues(until: UInt8(ascii: "}")) { return }
        }
    }

    private mutating func skipArray(depth: Int) throws(JSONFault) {
        guard depth <= maximumDepth else { throw fault(.tooDeep) }
        at += 1
        if peek() == UInt8(ascii: "]") {
            at += 1
            return
        }
        while true {
            try skipValue(depth: depth)
            if try !continues(until: UInt8(ascii: "]")) { return }
        }
    }

    /// After a member: takes the comma and says true, or takes the closing bracket and says false.
    @inline(__always)
    mutating func continues(until close: UInt8) throws(JSONFault) -> Bool {
        let byte = peek()
        guard byte == UInt8(ascii: ",") || byte == close, at < end else { throw fault(.unexpectedByte) }
        at += 1
        return byte != close
    }
}
