// The top level of a JSON object as ranges of its bytes, so that an envelope can be read without decoding its body.

import Contracts

/// Finds where each member's value begins and ends. Checks the outer object's shape only: who decodes a value checks the value.
/// Names with escapes, names that come twice and more than 16 members are refused.
struct JSONMembers {
    private let bytes: [UInt8]
    private let ranges: [(name: Range<Int>, value: Range<Int>)]

    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard let ranges = bytes.withUnsafeBytes({ try? Self.ranges($0) }) else { return nil }
        self.ranges = ranges
    }

    private static func ranges(_ bytes: UnsafeRawBufferPointer) throws -> [(name: Range<Int>, value: Range<Int>)]? {
        var ranges: [(name: Range<Int>, value: Range<Int>)] = []
        var cursor = JSONCursor(bytes, range: 0..<bytes.count)
        try cursor.take(UInt8(ascii: "{"))
        if cursor.peek() == UInt8(ascii: "}") {
            cursor.at += 1
        } else {
            repeat {
                let name = try cursor.text()
                try cursor.take(UInt8(ascii: ":"))
                guard ranges.count < 16, !name.escaped, let value = cursor.outline(),
                    !ranges.contains(where: { bytes[$0.name].elementsEqual(bytes[name.range]) })
                else { return nil }
                ranges.append((name.range, value))
            } while try cursor.continues(until: UInt8(ascii: "}"))
        }
        try cursor.finish()
        return ranges
    }

    func value(_ name: StaticString) -> [UInt8]? {
        range(name).map { Array(bytes[$0]) }
    }

    /// A string of printable ASCII without escapes and of at most `BusLimits.wordBytes`.
    func word(_ name: StaticString) -> String? {
        guard let range = range(name), range.count >= 2, range.count <= BusLimits.wordBytes + 2,
            bytes[range.lowerBound] == UInt8(ascii: "\""), bytes[range.upperBound - 1] == UInt8(ascii: "\"")
        else { return nil }
        let inner = bytes[range.lowerBound + 1..<range.upperBound - 1]
        guard inner.allSatisfy(isWordByte) else { return nil }
        return String(decoding: inner, as: UTF8.self)
    }

    func integer(_ name: StaticString) -> Int64? {
        range(name).flatMap { Int64(String(decoding: bytes[$0], as: UTF8.self)) }
    }

    private func range(_ name: StaticString) -> Range<Int>? {
        name.withUTF8Buffer { wanted in ranges.first { bytes[$0.name].elementsEqual(wanted) }?.value }
    }
}

/// What an envelope's words are made of: they are written without escaping.
func isWordByte(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}

extension JSONCursor {
    /// The place of any value, whose brackets are counted and whose strings are skipped: most of a page lies in between.
    fileprivate mutating func outline() -> Range<Int>? {
        skipWhitespace()
        let start = at
        var depth = 0
        while at < end {
            // Digits, commas and colons of what lies within the value.
            if depth > 0, bytes[at] > UInt8(ascii: "\""), bytes[at] < UInt8(ascii: "[") {
                at += 1
                continue
            }
            switch bytes[at] {
            case UInt8(ascii: "\""):
                guard skipString() else { return nil }
                if depth == 0 { return start..<at }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < Self.maximumDepth else { return nil }
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return scalar(from: start) }
                depth -= 1
                if depth == 0 {
                    at += 1
                    return start..<at
                }
            case UInt8(ascii: ","), 0x20, 0x09, 0x0a, 0x0d:
                if depth == 0 { return scalar(from: start) }
            default: break
            }
            at += 1
        }
        return nil
    }

    private func scalar(from start: Int) -> Range<Int>? {
        at > start ? start..<at : nil
    }

    private mutating func skipString() -> Bool {
        at += 1
        while at < end, bytes[at] != UInt8(ascii: "\"") {
            at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard at < end else { return false }
        at += 1
        return true
    }
}
