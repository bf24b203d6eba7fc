// Numbers in as few bytes as they need, as columns are kept.

/// Groups of seven bits, the lowest first; signed ones in zigzag.
struct CompactWriter {
    private(set) var bytes: [UInt8] = []

    mutating func number(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// - Precondition: not negative.
    mutating func count(_ value: Int) {
        number(UInt64(value))
    }

    mutating func signed(_ value: Int) {
        number(UInt64(bitPattern: Int64(value << 1 ^ value >> 63)))
    }

    /// Bytes behind their length.
    mutating func content(_ content: [UInt8]) {
        count(content.count)
        bytes.append(contentsOf: content)
    }

    /// At most 255 bytes; longer ones are cut.
    mutating func text(_ text: String) {
        let content = Array(text.utf8.prefix(255))
        count(content.count)
        bytes.append(contentsOf: content)
    }
}

/// Reads what `CompactWriter` writes, and nothing else; never reads beyond the end.
struct CompactReader {
    /// Bytes that nobody wrote so. Holds no content.
    struct Damaged: Error {}

    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { place == bytes.count }

    mutating func number() throws(Damaged) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while true {
            guard place < bytes.count, shift < 64 else { throw Damaged() }
            let byte = bytes[place]
            place += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    /// - Parameter most: what is more is damage.
    mutating func count(upTo most: Int) throws(Damaged) -> Int {
        let value = try number()
        guard value <= UInt64(most) else { throw Damaged() }
        return Int(value)
    }

    mutating func signed() throws(Damaged) -> Int {
        let value = try number()
        return Int(Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1))
    }

    /// Bytes behind their length.
    mutating func content() throws(Damaged) -> ArraySlice<UInt8> {
        try content(upTo: bytes.count)
    }

    mutating func text() throws(Damaged) -> String {
        String(decoding: try content(upTo: 255), as: UTF8.self)
    }

    private mutating func content(upTo most: Int) throws(Damaged) -> ArraySlice<UInt8> {
        let length = try count(upTo: most)
        guard bytes.count - place >= length else { throw Damaged() }
        defer { place += length }
        return bytes[place..<place + length]
    }
}
