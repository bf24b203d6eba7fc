// A list of entries or stretches as JSON: one page, or everything as lines.

import Contracts
import Foundation
import HTTPKit

struct EntryList: Sendable {
    /// Items that a stream reads from the store at once.
    private static let block = 5000

    let readings: Readings
    let period: ReadingPeriod
    let granularity: Granularity
    let reader: Reader

    /// `{"items":[…],"next":…}`.
    func page(after: Int64?, limit: Int) async throws -> [UInt8] {
        var json = JSONBytes(capacity: 64 + limit * 110)
        if let width = granularity.width {
            let (items, next) = try await readings.stretches(period, width: width, of: reader, after: after, limit: limit)
            json.page(items, next: next, damaged: reader.damaged) { $0.write(to: &$1) }
        } else {
            let (items, next) = try await readings.entries(period, of: reader, after: after, limit: limit)
            json.page(items, next: next, damaged: reader.damaged) { $0.write(to: &$1) }
        }
        return json.bytes
    }

    /// One item a line, to the end of the period. Entries that come meanwhile may or may not be among them.
    func stream(after: Int64?) -> HTTPAnswer {
        .stream(contentType: MediaType.ndjson) { writer in
            var place = after
            repeat {
                var json = JSONBytes(capacity: Self.block * 110)
                place = try await lines(after: place, to: &json)
                try await writer.write(json.bytes)
            } while place != nil
            // What is missing between the lines is named in one more.
            guard let damaged = DamagedItem.all(of: reader.damaged) else { return }
            let line = try JSONEncoder().encode(["damaged": damaged])
            try await writer.write(Array(line) + [UInt8(ascii: "\n")])
        }
    }

    private func lines(after: Int64?, to json: inout JSONBytes) async throws -> Int64? {
        if let width = granularity.width {
            let (items, next) = try await readings.stretches(period, width: width, of: reader, after: after, limit: Self.block)
            for item in items {
                item.write(to: &json)
                json.byte("\n")
            }
            return next
        }
        let (items, next) = try await readings.entries(period, of: reader, after: after, limit: Self.block)
        for item in items {
            item.write(to: &json)
            json.byte("\n")
        }
        return next
    }
}

extension JSONBytes {
    /// A page of a list; `next` is what to send as `after`.
    mutating func page<Item>(
        _ items: [Item], next: Int64?, damaged: DamagedPeriods? = nil, _ write: (Item, inout JSONBytes) -> Void
    ) {
        literal("{\"items\":[")
        for (place, item) in items.enumerated() {
            if place > 0 { byte(",") }
            write(item, &self)
        }
        literal("],\"next\":")
        if let next { string(String(next)) } else { literal("null") }
        if let damaged { self.damaged(damaged) }
        byte("}")
    }
}
