// A month of one person's heart rate, one entry a second, in both systems' words.

import Contracts
import Foundation

struct Month: Sendable {
    /// Seconds since 1970; the end does not belong to it.
    let start: Int
    let end: Int

    init(days: Int, end: Int) {
        (start, self.end) = (end - days * 86_400, end)
    }

    var count: Int { end - start }

    func rfc3339(_ second: Int) -> String { Timestamp(milliseconds: Int64(second) * 1000).rfc3339 }

    private func value(_ second: Int) -> Int { 60 + (7 * second) % 41 }

    func lines(perBody entries: Int) -> some Sequence<[UInt8]> {
        bodies(entries) { second in
            "{\"type\":\"heart-rate\",\"at\":\(second)000,\"value\":\(value(second))}\n"
        }
    }

    func lineProtocol(perBody entries: Int) -> some Sequence<[UInt8]> {
        bodies(entries) { second in "heart-rate,person=one value=\(value(second)) \(second)000\n" }
    }

    private func bodies(_ entries: Int, _ line: @escaping (Int) -> String) -> some Sequence<[UInt8]> {
        stride(from: start, to: end, by: entries).lazy.map { first in
            var body: [UInt8] = []
            for second in first..<min(first + entries, end) { body.append(contentsOf: line(second).utf8) }
            return body
        }
    }
}
