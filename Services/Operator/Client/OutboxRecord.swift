// The records of a queue's file, before they are sealed.

import Foundation

/// A partition holds one device's entries; its token is kept with it, so that what waits can be sent by the next run.
enum OutboxRecord: Hashable, Sendable {
    case queue(id: String)
    /// The partition's next entry gets this sequence.
    case partition(name: String, token: String, next: UInt64)
    case entries(partition: String, [[UInt8]])
    /// Entries with these sequences wait no more.
    case done(partition: String, ClosedRange<UInt64>)

    var encoded: [UInt8] {
        var writer = Writer()
        switch self {
        case .queue(let id):
            writer.bytes.append(1)
            writer.text(id)
        case .partition(let name, let token, let next):
            writer.bytes.append(2)
            writer.text(name)
            writer.text(token)
            writer.number(next)
        case .entries(let partition, let entries):
            writer.bytes.append(3)
            writer.text(partition)
            for entry in entries { writer.block(entry) }
        case .done(let partition, let places):
            writer.bytes.append(5)
            writer.text(partition)
            writer.number(places.lowerBound)
            writer.number(places.upperBound)
        }
        return writer.bytes
    }

    /// Nil for anything that `encoded` did not make, in this version or an earlier one.
    init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes[...])
        guard let kind = reader.bytes.popFirst() else { return nil }
        switch kind {
        case 1:
            guard let id = reader.text() else { return nil }
            self = .queue(id: id)
        case 2:
            guard let name = reader.text(), let token = reader.text(), let next = reader.number() else { return nil }
            self = .partition(name: name, token: token, next: next)
        case 3:
            guard let partition = reader.text() else { return nil }
            var entries: [[UInt8]] = []
            while !reader.bytes.isEmpty {
                guard let entry = reader.block() else { return nil }
                entries.append(entry)
            }
            self = .entries(partition: partition, entries)
        case 4:
            // Of files that are older than this version, which sent the oldest alone: all up to there.
            guard let partition = reader.text(), let last = reader.number(), last > 0 else { return nil }
            self = .done(partition: partition, 1...last)
        case 5:
            guard let partition = reader.text(), let first = reader.number(), let last = reader.number(), first <= last else { return nil }
            self = .done(partition: partition, first...last)
        default: return nil
        }
        guard reader.bytes.isEmpty else { return nil }
    }

    private struct Writer {
        var bytes: [UInt8] = []

        mutating func number(_ value: UInt64) {
            withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
        }

        mutating func block(_ content: [UInt8]) {
            withUnsafeBytes(of: UInt32(content.count).littleEndian) { bytes += $0 }
            bytes += content
        }

        mutating func text(_ text: String) { block(Array(text.utf8)) }
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func number() -> UInt64? {
            guard bytes.count >= 8 else { return nil }
            defer { bytes.removeFirst(8) }
            return bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func block() -> [UInt8]? {
            guard bytes.count >= 4 else { return nil }
            let length = Int(bytes.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            bytes.removeFirst(4)
            guard bytes.count >= length else { return nil }
            defer { bytes.removeFirst(length) }
            return Array(bytes.prefix(length))
        }

        mutating func text() -> String? {
            block().flatMap { String(validating: $0, as: UTF8.self) }
        }
    }
}
