// The header frame to and from bytes: a writer in the one documented order, a scanner for exactly that form, and JSONDecoder
// for every other JSON that says the same.

import Foundation

extension StreamHeader {
    /// No header is longer: more bytes are not read at all.
    package static let longestFrame = 4096

    /// The header's frame: keys in the documented order, no spaces.
    /// Characters that its strings must not hold (quotes, backslashes, anything but printable ASCII) become `?`.
    package var frame: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(192 + stream.utf8.count + type.utf8.count)
        func key(_ text: StaticString) {
            text.withUTF8Buffer { bytes.append(contentsOf: $0) }
        }
        func number(_ value: some BinaryInteger) {
            bytes.append(contentsOf: String(value).utf8)
        }
        func text(_ value: String) {
            bytes.append(quote)
            if value.utf8.allSatisfy(isPlain) {
                bytes.append(contentsOf: value.utf8)
            } else {
                bytes += value.utf8.map { isPlain($0) ? $0 : UInt8(ascii: "?") }
            }
            bytes.append(quote)
        }
        key("{\"v\":")
        number(v)
        key(",\"stream\":")
        text(stream)
        key(",\"epoch\":")
        text(epoch)
        key(",\"sequence\":")
        number(sequence)
        key(",\"head\":")
        number(head)
        key(",\"type\":")
        text(type)
        key(",\"subject\":")
        text(subject)
        key(",\"at\":")
        number(at.milliseconds)
        key(",\"trace\":")
        text(trace)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Reads a frame of this version; nil for what is no header, has another version or a negative place.
    package init?(frame: UnsafeRawBufferPointer) {
        guard frame.count <= StreamHeader.longestFrame else { return nil }
        if let scanned = StreamHeader(scanning: frame) {
            self = scanned
        } else if let decoded = StreamHeader(decoding: frame) {
            self = decoded
        } else {
            return nil
        }
        guard v == StreamHeader.version, sequence >= 0, head >= 0 else { return nil }
    }

    /// As `init(frame:)`, for bytes in an array.
    package init?(frame: [UInt8]) {
        let read = frame.withUnsafeBytes { StreamHeader(frame: $0) }
        guard let read else { return nil }
        self = read
    }

    /// The form that `frame` writes and nothing else; nil sends the caller to the slow road.
    package init?(scanning frame: UnsafeRawBufferPointer) {
        var scanner = HeaderScanner(bytes: frame)
        guard scanner.skip("{\"v\":"), let v = scanner.number(),
            scanner.skip(",\"stream\":"), let stream = scanner.text(),
            scanner.skip(",\"epoch\":"), let epoch = scanner.text(),
            scanner.skip(",\"sequence\":"), let sequence = scanner.number(),
            scanner.skip(",\"head\":"), let head = scanner.number(),
            scanner.skip(",\"type\":"), let type = scanner.text(),
            scanner.skip(",\"subject\":"), let subject = scanner.text(),
            scanner.skip(",\"at\":"), let at = scanner.number(),
            scanner.skip(",\"trace\":"), let trace = scanner.text(),
            scanner.skip("}"), scanner.isAtEnd, let version = Int(exactly: v)
        else { return nil }
        self.init(
            stream: stream, epoch: epoch, sequence: sequence, head: head, type: type, subject: subject,
            at: Timestamp(milliseconds: at), trace: trace)
        self.v = version
    }

    /// Any JSON with these keys.
    package init?(decoding frame: UnsafeRawBufferPointer) {
        guard let decoded = try? JSONDecoder().decode(StreamHeader.self, from: Data(frame)) else { return nil }
        self = decoded
    }
}

private let quote = UInt8(ascii: "\"")

/// Whether a byte can stand in a header's string as itself.
private func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7f && byte != quote && byte != UInt8(ascii: "\\")
}

/// Walks over the bytes once; every step stays inside them.
private struct HeaderScanner {
    let bytes: UnsafeRawBufferPointer
    private var index = 0

    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { index == bytes.count }

    mutating func skip(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard bytes.count - index >= length else { return false }
        for offset in 0..<length where bytes[index + offset] != text.utf8Start[offset] { return false }
        index += length
        return true
    }

    /// A string without escapes.
    mutating func text() -> String? {
        guard index < bytes.count, bytes[index] == quote else { return nil }
        let start = index + 1
        var end = start
        while end < bytes.count, isPlain(bytes[end]) { end += 1 }
        guard end < bytes.count, bytes[end] == quote else { return nil }
        index = end + 1
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    /// An integer as JSON writes it: no plus sign, no leading zero, no fraction. Overflow is no number.
    mutating func number() -> Int64? {
        var position = index
        let isNegative = position < bytes.count && bytes[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let start = position
        var value: Int64 = 0
        while position < bytes.count, bytes[position] &- 48 <= 9 {
            let (shifted, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (added, overflowedAgain) = shifted.subtractingReportingOverflow(Int64(bytes[position] - 48))
            guard !overflowed, !overflowedAgain else { return nil }
            value = added
            position += 1
        }
        let digits = position - start
        guard digits > 0, digits == 1 || bytes[start] != UInt8(ascii: "0"), isNegative || value != .min else { return nil }
        index = position
        return isNegative ? value : -value
    }
}
