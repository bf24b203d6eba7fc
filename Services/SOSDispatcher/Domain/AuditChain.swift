// The audit log: every row carries the hash of the one before, so that no bit of the past can change unseen.

import Contracts
import Foundation

/// What one row says. Holds no values, places or names.
struct AuditEntry: Codable, Hashable, Sendable {
    var sequence: Int64
    var at: Timestamp
    /// `person`, `dispatcher`, `operator` or `integrator`.
    var actor: String
    /// Kebab-case past participle.
    var action: String
    /// An emergency id, or `subscriber:` and a keyed hash.
    var object: String
    var detail: String

    /// The row's text: keys sorted, so that the same entry is always the same text.
    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

struct AuditRow: Hashable, Sendable {
    var sequence: Int64
    var entry: String
    var previous: [UInt8]
    var hash: [UInt8]
    /// The entry's object once more, for look-ups.
    var object: String
}

/// The rule of `docs/sos-rules.md` §6. The hash function comes from outside: it is SHA-256.
struct AuditChain: Sendable {
    static let beginning = [UInt8](repeating: 0, count: 32)

    let sha256: @Sendable ([UInt8]) -> [UInt8]

    func hash(previous: [UInt8], entry: String) -> [UInt8] {
        let bytes = Array(entry.utf8)
        let length = withUnsafeBytes(of: UInt64(bytes.count).bigEndian, Array.init)
        return sha256(previous + length + bytes)
    }

    /// The row that follows another one.
    func row(after last: AuditRow?, _ entry: AuditEntry) throws -> AuditRow {
        let previous = last?.hash ?? AuditChain.beginning
        let text = try entry.text()
        return AuditRow(
            sequence: entry.sequence, entry: text, previous: previous, hash: hash(previous: previous, entry: text),
            object: entry.object)
    }

    /// Checks rows as they come, in order.
    struct Verifier: Sendable {
        let chain: AuditChain
        private(set) var rows: Int64 = 0
        private(set) var firstBroken: Int64?
        private(set) var head = AuditChain.beginning

        init(_ chain: AuditChain) {
            self.chain = chain
        }

        mutating func check(_ row: AuditRow) {
            rows += 1
            defer { head = row.hash }
            guard firstBroken == nil, !isSound(row) else { return }
            // Its place, not what it says of itself: its number may be what was changed.
            firstBroken = rows
        }

        /// The next row is there, but cannot be read as one.
        mutating func unreadable() {
            rows += 1
            firstBroken = firstBroken ?? rows
        }

        private func isSound(_ row: AuditRow) -> Bool {
            let entry = try? JSONDecoder().decode(AuditEntry.self, from: Data(row.entry.utf8))
            return row.sequence == rows && row.previous == head
                && row.hash == chain.hash(previous: row.previous, entry: row.entry)
                && entry?.sequence == row.sequence && entry?.object == row.object
        }
    }
}

extension AuditChain.Verifier {
    /// The last hash in hex.
    var headText: String {
        head.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
