// No bit of the past changes unseen.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Audit chain")
struct AuditChainTests {
    /// A stand-in for SHA-256 that these tests need no library for: any change of the input changes it.
    static let chain = AuditChain { bytes in
        var state: [UInt64] = [1, 2, 3, 4]
        for (index, byte) in bytes.enumerated() {
            state[index % 4] = (state[index % 4] ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index)
            state[(index + 1) % 4] ^= state[index % 4] >> 31
        }
        return state.flatMap { value in (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) } }
    }

    private func rows(_ count: Int) throws -> [AuditRow] {
        var rows: [AuditRow] = []
        for index in 0..<count {
            let entry = AuditEntry(
                sequence: Int64(index + 1), at: Timestamp(milliseconds: Int64(index)), actor: "dispatcher", action: "alerted",
                object: "emg_x", detail: "number \(index)")
            rows.append(try Self.chain.row(after: rows.last, entry))
        }
        return rows
    }

    private func verified(_ rows: [AuditRow]) -> AuditChain.Verifier {
        var verifier = AuditChain.Verifier(Self.chain)
        for row in rows { verifier.check(row) }
        return verifier
    }

    @Test("A chain as it was written is sound")
    func sound() throws {
        let rows = try rows(50)
        let verifier = verified(rows)
        #expect(verifier.firstBroken == nil)
        #expect(verifier.rows == 50)
        #expect(verifier.head == rows.last?.hash)
        #expect(verified([]).firstBroken == nil)
    }

    @Test("SOS-29: any flipped bit names its row", arguments: 1...10)
    func flippedBit(sequence: Int64) throws {
        let sound = try rows(10)
        let index = Int(sequence - 1)
        for bit in 0..<8 {
            var changed = sound
            changed[index].hash[bit * 4] ^= 1 << UInt8(bit)
            #expect(verified(changed).firstBroken == sequence)
            changed = sound
            changed[index].previous[bit] ^= 1 << UInt8(bit)
            #expect(verified(changed).firstBroken == sequence)
            changed = sound
            changed[index].object += "x"
            #expect(verified(changed).firstBroken == sequence)
            changed = sound
            var text = Array(changed[index].entry.utf8)
            text[text.count / 2 + bit] ^= 1
            changed[index].entry = String(decoding: text, as: UTF8.self)
            #expect(verified(changed).firstBroken == sequence)
        }
    }

    @Test("A row that is missing, doubled or out of place is named")
    func missing() throws {
        var rows = try rows(10)
        rows.remove(at: 4)
        #expect(verified(rows).firstBroken == 5)
        rows = try self.rows(10)
        rows.swapAt(2, 3)
        #expect(verified(rows).firstBroken == 3)
    }

    @Test("An entry that is hashed anew without its successors breaks the row after it")
    func rewritten() throws {
        var rows = try rows(10)
        let entry = AuditEntry(
            sequence: 3, at: Timestamp(milliseconds: 2), actor: "dispatcher", action: "muted", object: "emg_x", detail: "number 2")
        rows[2] = try Self.chain.row(after: rows[1], entry)
        #expect(verified(rows).firstBroken == 4)
    }
}
