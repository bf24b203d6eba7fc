// NDJSON cut into pieces, and names of refusals that programs can rely on.

import Contracts
import Testing

@testable import Ingest

@Suite struct LineCutterTests {
    private static func pieces(_ bytes: [UInt8], step: Int) -> [[UInt8]] {
        var cutter = LineCutter()
        var pieces: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            let part = Array(bytes[start..<min(bytes.count, start + step)])
            var at = 0
            while at < part.count {
                at = part.withUnsafeBytes { cutter.add($0, from: at) }
                if cutter.isFull { pieces.append(cutter.take()) }
            }
        }
        if !cutter.isEmpty { pieces.append(cutter.take()) }
        return pieces
    }

    @Test(
        "However bytes arrive, pieces end with lines, hold at most 10,000 of them and 1 MiB, and lose nothing",
        arguments: [1, 7, 1000, 65_536])
    func pieces(_ step: Int) {
        let lines = (0..<25_000).map { "{\"n\":\($0)}" + String(repeating: " ", count: $0 % 3 == 0 ? 200 : 0) }
        let bytes = Array((lines.joined(separator: "\n")).utf8)
        let pieces = Self.pieces(bytes, step: step)
        #expect(Array(pieces.joined()) == bytes)
        #expect(pieces.dropLast().allSatisfy { $0.last == 0x0A })
        #expect(pieces.allSatisfy { $0.count { $0 == 0x0A } <= UploadLimits.entries && $0.count <= UploadLimits.pieceBytes })
        #expect(pieces.count >= 3)
    }

    @Test("Of a line without end only so much is kept that it is seen to be too long", arguments: [1000, 65_536])
    func endless(_ step: Int) {
        let bytes = Array("{}\n".utf8) + [UInt8](repeating: 0x20, count: 3_000_000) + Array("\n{}\n".utf8)
        let pieces = Self.pieces(bytes, step: step)
        #expect(pieces.count == 1 && pieces[0].count == UploadLimits.entryBytes + 1 + 7)
    }

    @Test("Every refusal of an entry has its problem, and no two problems share a name")
    func names() {
        let faults = [
            EntryFault.notAnObject, .malformedJSON(JSONFault(kind: .badNumber, offset: 0)), .tooLong, .missing(.at), .twice(.at),
            .wrongKind(.at),
            .unreadableTime, .timeNotPositive, .timeInFuture, .unknownMetric(named: nil), .wrongUnit(.heartRate), .valueOfPosition,
            .impossibleValue(.heartRate), .offEarth, .conflict,
        ]
        for fault in faults { #expect(Problem.ofEntry(named: fault.name) != nil, "\(fault.name)") }
    }
}
