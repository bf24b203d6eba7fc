// The top level of a JSON object as ranges of its bytes, so that an envelope can be read without decoding its body.

/// Finds where each member's value begins and ends. Checks the outer object's shape only: who decodes a value checks the value.
/// Names with escapes, names that come twice and more than 16 members are refused.
struct JSONMembers {
    private let bytes: [UInt8]
    private let ranges: [(name: Range<Int>, value: Range<Int>)]

    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard let ranges = bytes.withUnsafeBufferPointer(Self.ranges) else { return nil }
        self.ranges = ranges
    }

    private static func ranges(_ bytes: UnsafeBufferPointer<UInt8>) -> [(name: Range<Int>, value: Range<Int>)]? {
        var ranges: [(name: Range<Int>, value: Range<Int>)] = []
        var scanner = MemberScanner(bytes: bytes)
        guard scanner.take(UInt8(ascii: "{")) else { return nil }
        if !scanner.take(UInt8(ascii: "}")) {
            repeat {
                guard ranges.count < 16, let name = scanner.plainString(), scanner.take(UInt8(ascii: ":")), let value = scanner.value(),
                    !ranges.contains(where: { bytes[$0.name].elementsEqual(bytes[name]) })
                else { return nil }
                ranges.append((name, value))
            } while scanner.take(UInt8(ascii: ","))
            guard scanner.take(UInt8(ascii: "}")) else { return nil }
        }
        return scanner.isAtEnd ? ranges : nil
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

private struct MemberScanner {
    let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return index == bytes.count
        }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    /// The inside of a string without escapes.
    mutating func plainString() -> Range<Int>? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = index
        while index < bytes.count, isWordByte(bytes[index]) { index += 1 }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
        index += 1
        return start..<index - 1
    }

    /// Any value: brackets are counted, strings passed over.
    mutating func value() -> Range<Int>? {
        skipSpace()
        let start = index
        var depth = 0
        while index < bytes.count {
            // Digits, commas and colons of what lies within the value: most of a page.
            if depth > 0, bytes[index] > UInt8(ascii: "\""), bytes[index] < UInt8(ascii: "[") {
                index += 1
                continue
            }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                guard skipString() else { return nil }
                if depth == 0 { return start..<index }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return scalar(from: start) }
                depth -= 1
                if depth == 0 {
                    index += 1
                    return start..<index
                }
            case UInt8(ascii: ","), 0x20, 0x09, 0x0a, 0x0d:
                if depth == 0 { return scalar(from: start) }
            default: break
            }
            index += 1
        }
        return nil
    }

    private func scalar(from start: Int) -> Range<Int>? {
        index > start ? start..<index : nil
    }

    private mutating func skipString() -> Bool {
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard index < bytes.count else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while index < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[index]) { index += 1 }
    }
}
