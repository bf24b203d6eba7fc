// JSON written by hand where the bytes matter or the time does: numbers as short as they can be, nothing kept but the text.

/// JSON under construction.
package struct JSONBytes: Sendable {
    /// Those since the last `drain`.
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// As it stands: nothing is escaped.
    package mutating func literal(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// ASCII; another scalar stops the process.
    package mutating func byte(_ scalar: Unicode.Scalar) {
        bytes.append(UInt8(ascii: scalar))
    }

    /// Text that needs no escapes: codes, ids, times.
    package mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// UTF-8 that needs no escapes.
    package mutating func append(_ text: [UInt8]) {
        bytes.append(contentsOf: text)
    }

    /// Gives what was written and begins anew.
    package mutating func drain() -> [UInt8] {
        defer { self = JSONBytes(capacity: 1 << 12) }
        return bytes
    }

    /// Any text, quoted and escaped.
    package mutating func string(_ text: String) {
        byte("\"")
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                literal("\\u00")
                bytes.append(contentsOf: (byte < 16 ? "0" : "").utf8)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        byte("\"")
    }

    package mutating func integer(_ value: Int64) {
        fill(room: JSONPlace.longestNumber) { $0.integer(value) }
    }

    /// As `Timestamp.rfc3339`, without quotes.
    package mutating func time(_ at: Timestamp) {
        fill(room: JSONPlace.longestTime) { $0.time(at) }
    }

    /// The shortest decimal that reads back as the same Double; finite numbers only, as the rules let no others in.
    package mutating func number(_ value: Double) {
        fill(room: JSONPlace.longestNumber) { $0.number(value) }
    }

    /// What is not known of it is left out, not written as null.
    package mutating func position(_ position: Position) {
        fill(room: JSONPlace.longestPosition) { $0.position(position) }
    }

    /// Lets `write` add at most `room` bytes, with one look at what there is room for instead of one at each byte.
    @inline(__always)
    mutating func fill(room: Int, _ write: (inout JSONPlace) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { buffer in
            guard let start = buffer.baseAddress else { return }
            var place = JSONPlace(start)
            write(&place)
            bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: place.end - start))
        }
    }

    /// Elements separated by commas, a hundred at a time.
    /// - Parameter room: bytes of one of them at most.
    @inline(__always)
    mutating func list(_ count: Int, room: Int, _ write: (inout JSONPlace, Int) -> Void) {
        for first in stride(from: 0, to: count, by: 100) {
            let last = min(first + 100, count)
            fill(room: (last - first) * (room + 1)) { place in
                for index in first..<last {
                    if index > 0 { place.byte(",") }
                    write(&place, index)
                }
            }
        }
    }
}
