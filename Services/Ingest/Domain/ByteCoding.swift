// Small integers in few bytes: the alphabet of chunks, roll-ups and log rows.

/// Why stored bytes cannot be read: they are not what this service wrote.
struct CorruptBytes: Error, Hashable, Sendable {}

/// Appends to a byte array: little-endian base-128 (LEB128) integers, zigzag for signed ones.
struct ByteWriter {
    var bytes: [UInt8] = []

    @inline(__always)
    mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    @inline(__always)
    mutating func signed(_ value: Int64) {
        varint(UInt64(bitPattern: value << 1 ^ value >> 63))
    }

    mutating func raw(_ value: Double) {
        withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

/// Takes what `ByteWriter` wrote, from bytes that anybody may have changed: every step is checked.
struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var at = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var left: Int { bytes.count - at }

    @inline(__always)
    mutating func byte() throws(CorruptBytes) -> UInt8 {
        guard at < bytes.count else { throw CorruptBytes() }
        defer { at += 1 }
        return bytes[at]
    }

    @inline(__always)
    mutating func varint() throws(CorruptBytes) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            guard shift < 63 || next <= 1 else { throw CorruptBytes() }
            value |= UInt64(next & 0x7F) << shift
            if next < 0x80 { return value }
            shift += 7
        }
    }

    @inline(__always)
    mutating func signed() throws(CorruptBytes) -> Int64 {
        let value = try varint()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// The sum of the next `count` signed numbers, which may overflow. Mostly each is one byte, and eight are added at once.
    mutating func sum(of count: Int) throws(CorruptBytes) -> Int64 {
        var (sum, rest): (Int64, Int) = (0, count)
        while rest > 0 {
            if rest >= 8, left >= 8, bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 {
                let zigzag = bytes.loadUnaligned(fromByteOffset: at, as: SIMD8<UInt8>.self)
                let numbers = SIMD8<Int8>(truncatingIfNeeded: (zigzag &>> 1) ^ (0 &- (zigzag & 1)))
                sum = sum &+ Int64(SIMD8<Int16>(truncatingIfNeeded: numbers).wrappedSum())
                (at, rest) = (at + 8, rest - 8)
            } else {
                sum = sum &+ (try signed())
                rest -= 1
            }
        }
        return sum
    }

    /// How many zeros come next, at most `limit`; they are taken.
    @inline(__always)
    mutating func zeros(atMost limit: Int) -> Int {
        let start = at
        let end = min(limit, left) + start
        while at + 8 <= end, bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) == 0 { at += 8 }
        while at < end, bytes[at] == 0 { at += 1 }
        return at - start
    }

    mutating func raw() throws(CorruptBytes) -> Double {
        guard left >= 8 else { throw CorruptBytes() }
        defer { at += 8 }
        return Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
    }

    /// A number of things of which each takes at least `bytes` bytes of what is left: bounds what a reader allocates.
    mutating func count(ofAtLeast bytes: Int = 1) throws(CorruptBytes) -> Int {
        let count = try varint()
        guard count <= UInt64(left / max(bytes, 1)) else { throw CorruptBytes() }
        return Int(count)
    }

    mutating func take(_ count: Int) throws(CorruptBytes) -> UnsafeRawBufferPointer {
        guard count >= 0, left >= count else { throw CorruptBytes() }
        defer { at += count }
        return UnsafeRawBufferPointer(rebasing: bytes[at..<at + count])
    }

    func finish() throws(CorruptBytes) {
        guard left == 0 else { throw CorruptBytes() }
    }
}
