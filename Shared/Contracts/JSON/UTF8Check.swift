// Whether bytes are UTF-8 (RFC 3629), eight at a time while they are ASCII.

/// The offset of the first byte that is not part of well-formed UTF-8, `nil` where all are. Overlong forms, surrogates and
/// code points beyond U+10FFFF are not well-formed.
package func firstInvalidUTF8(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> Int? {
    var at = range.lowerBound
    let end = range.upperBound
    while at < end {
        while at + 8 <= end, bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 { at += 8 }
        guard at < end else { break }
        if bytes[at] < 0x80 {
            at += 1
            continue
        }
        guard let length = multibyteLength(bytes, at: at, end: end) else { return at }
        at += length
    }
    return nil
}

/// The offset of the first byte that is not ASCII, `nil` where all are.
func firstNonASCII(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> Int? {
    var at = range.lowerBound
    while at + 8 <= range.upperBound, bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 { at += 8 }
    return (at..<range.upperBound).first { bytes[$0] >= 0x80 }
}

/// Length of the well-formed sequence of two to four bytes at `at`: table 3-7 of the Unicode standard.
private func multibyteLength(_ bytes: UnsafeRawBufferPointer, at: Int, end: Int) -> Int? {
    let lead = bytes[at]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch lead {
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEC, 0xEE...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: length = 4
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return nil
    }
    guard at + length <= end, second.contains(bytes[at + 1]) else { return nil }
    for index in 2..<max(length, 2) where !(0x80...0xBF).contains(bytes[at + index]) { return nil }
    return length
}
