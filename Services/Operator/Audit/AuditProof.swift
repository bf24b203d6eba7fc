// The rule of the audit chain (docs/sos-rules.md §6), written from the page: it shares no code with the service that it checks.

import Foundation
import Sealing

/// `hash = SHA-256(previous ‖ length of entry as 8 bytes big-endian ‖ entry)`; the first row's `previous` is 32 zero bytes.
struct AuditProof {
    private(set) var rows: Int64 = 0
    private(set) var firstBroken: Int64?
    private(set) var head = [UInt8](repeating: 0, count: 32)

    /// Rows come by their sequence.
    mutating func check(sequence: Int64, entry: String, previous: [UInt8], hash: [UInt8]) {
        rows += 1
        let length = withUnsafeBytes(of: UInt64(entry.utf8.count).bigEndian, Array.init)
        let fits =
            sequence == rows && previous == head && hash == Digest.sha256(previous + length + Array(entry.utf8))
            && AuditProof.sequence(in: entry) == sequence
        if !fits, firstBroken == nil { firstBroken = sequence }
        head = hash
    }

    private static func sequence(in entry: String) -> Int64? {
        struct Entry: Decodable {
            var sequence: Int64
        }
        return (try? JSONDecoder().decode(Entry.self, from: Data(entry.utf8)))?.sequence
    }
}
