// Whole numbers and texts in as few bytes as they need, and back with every length bounded.

/// Numbers are little-endian groups of seven bits (LEB128), signed ones zigzag before that.
struct ByteFieldWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// - Precondition: not negative.
    mutating func number(_ number: Int) {
        precondition(number >= 0, "a count is not negative")
        groups(UInt64(number))
    }

    mutating func signed(_ number: Int) {
        groups(UInt64(bitPattern: Int64(number << 1 ^ number >> 63)))
    }

    mutating func text(_ text: String) {
        number(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func groups(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// Reads what `ByteFieldWriter` writes. What it makes is bounded by what it was given.
struct ByteFieldReader {
    /// Why bytes are not what they should be. Holds no content.
    enum Fault: Error, Hashable, Sendable {
        /// There should be more.
        case cutShort
        /// A number beyond its bounds, or a list longer than what is left.
        case outside
        case notText
        /// Something stands behind the end.
        case unread
        /// Another version or kind than is known.
        case unknown
    }

    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var left: Int { bytes.count - place }

    mutating func byte() throws(Fault) -> UInt8 {
        guard place < bytes.count else { throw .cutShort }
        defer { place += 1 }
        return bytes[place]
    }

    mutating func number(in bounds: ClosedRange<Int>) throws(Fault) -> Int {
        guard let number = Int(exactly: try groups()), bounds.contains(number) else { throw .outside }
        return number
    }

    mutating func signed() throws(Fault) -> Int {
        let groups = try groups()
        return Int(truncatingIfNeeded: Int64(bitPattern: groups >> 1) ^ -Int64(bitPattern: groups & 1))
    }

    /// How many elements follow, each of at least a byte.
    mutating func count() throws(Fault) -> Int {
        try number(in: 0...left)
    }

    mutating func text() throws(Fault) -> String {
        let length = try count()
        guard length <= left else { throw .cutShort }
        defer { place += length }
        guard let text = String(validating: bytes[place..<place + length], as: UTF8.self) else { throw .notText }
        return text
    }

    func end() throws(Fault) {
        guard left == 0 else { throw .unread }
    }

    private mutating func groups() throws(Fault) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) {
            let next = try byte()
            // The tenth group has one bit.
            guard shift < 63 || next <= 1 else { throw .outside }
            number |= UInt64(next & 0x7F) << UInt64(shift)
            if next < 0x80 { return number }
        }
        throw .outside
    }
}
