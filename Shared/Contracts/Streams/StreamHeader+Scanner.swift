// The header frame to and from bytes: a writer in the one documented order, a scanner for exactly that form, and the decoder
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
        let read = frame.withMemoryRebound(to: UInt8.self) { bytes in
            HandWrittenCursor.whole(bytes) { cursor -> StreamHeader? in
                guard cursor.take("{\"v\":"), let v = cursor.integer(), let version = Int(exactly: v),
                    cursor.take(",\"stream\":"), let stream = cursor.word(),
                    cursor.take(",\"epoch\":"), let epoch = cursor.word(),
                    cursor.take(",\"sequence\":"), let sequence = cursor.integer(),
                    cursor.take(",\"head\":"), let head = cursor.integer(),
                    cursor.take(",\"type\":"), let type = cursor.word(),
                    cursor.take(",\"subject\":"), let subject = cursor.word(),
                    cursor.take(",\"at\":"), let at = cursor.time(),
                    cursor.take(",\"trace\":"), let trace = cursor.word(), cursor.take("}")
                else { return nil }
                var header = StreamHeader(
                    stream: stream, epoch: epoch, sequence: sequence, head: head, type: type, subject: subject, at: at, trace: trace)
                header.v = version
                return header
            }
        }
        guard let read else { return nil }
        self = read
    }

    /// Any JSON with these keys.
    package init?(decoding frame: UnsafeRawBufferPointer) {
        guard let decoded = try? CheckedJSON.decode(StreamHeader.self, from: Data(frame), of: .suite) else { return nil }
        self = decoded
    }
}

private let quote = UInt8(ascii: "\"")

/// Whether a byte can stand in a header's string as itself.
private func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7f && byte != quote && byte != UInt8(ascii: "\\")
}
