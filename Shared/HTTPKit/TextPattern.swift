// The part of regular expressions that schemas need, matched in linear time: no backtracking, no Unicode tables.

/// A pattern such as `^req_[0-7][0-9a-z]{25}$`: `^`, then ASCII characters and classes of them, each with `?`, `*`, `+`, `{n}` or
/// `{n,m}` or none, then `$` or whatever follows. Each part takes as much as it can; where two neighbours share characters the
/// first one's count must be fixed.
struct TextPattern {
    private struct Part {
        /// One bit for each ASCII character.
        var set: UInt128
        var count: ClosedRange<Int>
    }

    private var parts: [Part] = []
    private var endsText = false

    /// Nil for a pattern of another kind.
    init?(_ pattern: String) {
        var rest = Substring(pattern).utf8
        guard rest.popFirst() == UInt8(ascii: "^") else { return nil }
        while let first = rest.popFirst() {
            if first == UInt8(ascii: "$"), rest.isEmpty {
                endsText = true
                return
            }
            guard let set = Self.set(first, &rest), let count = Self.count(&rest) else { return nil }
            parts.append(Part(set: set, count: count))
        }
    }

    func matches(_ text: String) -> Bool {
        var rest = Substring(text).utf8
        for part in parts {
            var taken = 0
            while taken < part.count.upperBound, let byte = rest.first, byte < 0x80, part.set >> byte & 1 == 1 {
                rest.removeFirst()
                taken += 1
            }
            if taken < part.count.lowerBound { return false }
        }
        return !endsText || rest.isEmpty
    }

    /// One character, or those between brackets.
    private static func set(_ first: UInt8, _ rest: inout Substring.UTF8View) -> UInt128? {
        guard first == UInt8(ascii: "[") else {
            return first < 0x80 && !"\\.()|*+?{}$^".utf8.contains(first) ? 1 << UInt128(first) : nil
        }
        var set: UInt128 = 0
        while let low = rest.popFirst(), low < 0x80, low != UInt8(ascii: "\\") {
            if low == UInt8(ascii: "]") { return set }
            var high = low
            if rest.first == UInt8(ascii: "-"), let end = rest.dropFirst().first, end != UInt8(ascii: "]") {
                guard end >= low, end < 0x80 else { return nil }
                high = end
                rest.removeFirst(2)
            }
            for byte in low...high { set |= 1 << UInt128(byte) }
        }
        return nil
    }

    private static func count(_ rest: inout Substring.UTF8View) -> ClosedRange<Int>? {
        switch rest.first {
        case UInt8(ascii: "?"):
            rest.removeFirst()
            return 0...1
        case UInt8(ascii: "*"):
            rest.removeFirst()
            return 0...Int.max
        case UInt8(ascii: "+"):
            rest.removeFirst()
            return 1...Int.max
        case UInt8(ascii: "{"):
            guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else { return nil }
            let bounds = rest[rest.index(after: rest.startIndex)..<end].split(separator: UInt8(ascii: ",")).compactMap {
                Int(Substring($0))
            }
            rest = rest[rest.index(after: end)...]
            guard let least = bounds.first, let most = bounds.last, bounds.count <= 2, least <= most else { return nil }
            return least...most
        default: return 1...1
        }
    }
}
