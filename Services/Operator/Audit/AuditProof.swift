// The rule of the audit chain (docs/sos-rules.md §6), written from the page: it shares no code with the service that it checks.

import Foundation
import Sealing

/// `hash = SHA-256(previous ‖ length of entry as 8 bytes big-endian ‖ entry)`; the first row's `previous` is 32 zero bytes.
struct AuditProof {
    /// A head that was kept elsewhere (docs/sos-rules.md §6).
    struct Anchor: Decodable {
        var number: Int64
        var rows: Int64
        var head: String
    }

    let anchors: [Anchor]
    private var heads: [Int64: String] = [:]

    init(anchors: [String] = []) {
        self.anchors = anchors.compactMap { try? JSONDecoder().decode(Anchor.self, from: Data($0.utf8)) }
        for anchor in self.anchors { heads[anchor.rows] = "" }
        if heads[0] != nil { heads[0] = Hex.encode(head) }
    }

    /// Anchors that the rows so far do not agree with.
    var disagreements: [String] {
        anchors.filter { $0.rows > rows || heads[$0.rows] != $0.head }.map {
            $0.rows > rows
                ? "anchor \($0.number) knows \($0.rows) rows, there are \(rows): the end was cut off"
                : "anchor \($0.number) knows another head of row \($0.rows): what was before was written anew"
        }
    }

    private(set) var rows: Int64 = 0
    private(set) var firstBroken: Int64?
    private(set) var head = [UInt8](repeating: 0, count: 32)

    /// Rows come by their sequence.
    mutating func check(sequence: Int64, entry: String, previous: [UInt8], hash: [UInt8], object: String) {
        rows += 1
        let length = withUnsafeBytes(of: UInt64(entry.utf8.count).bigEndian, Array.init)
        let fits =
            sequence == rows && previous == head && hash == Digest.sha256(previous + length + Array(entry.utf8))
            && AuditProof.carries(sequence, object, entry)
        // Its place, not the number that it gives itself: that may be what was changed.
        if !fits, firstBroken == nil { firstBroken = rows }
        head = hash
        if heads[rows] != nil { heads[rows] = Hex.encode(hash) }
    }

    /// The next row is there, but cannot be read as one.
    mutating func unreadable() {
        rows += 1
        firstBroken = firstBroken ?? rows
    }

    private static func carries(_ sequence: Int64, _ object: String, _ entry: String) -> Bool {
        struct Entry: Decodable {
            var sequence: Int64
            var object: String
        }
        guard let read = try? JSONDecoder().decode(Entry.self, from: Data(entry.utf8)) else { return false }
        return read.sequence == sequence && read.object == object
    }
}
