// One flipped bit anywhere in the rows of the audit log, as they lie in the file: both verifiers name the row.

import Contracts
import Foundation
import GRDB
import Logging
import Storage
import TestKit
import Testing

@testable import Operator
@testable import SOSDispatcher

@Suite("Audit log, bit by bit")
struct AuditFlipTests {
    /// `TRACKME_AUDIT_FLIPS` of them.
    private static let flips = FaultSizes.environment["TRACKME_AUDIT_FLIPS"].flatMap { UInt64($0) } ?? 1000
    private static let rows = 40

    /// A store of the dispatcher with its audit log filled, closed again.
    private func write(_ file: URL) async throws {
        let store = try Store.open(
            file, applicationID: SOSDispatcher.Migrations.applicationID, migrations: SOSDispatcher.Migrations.all, logger: Running.quiet)
        let notes = (0..<Self.rows).map { number in
            AuditNote(
                at: Timestamp(milliseconds: 1_800_000_000_000 + Int64(number)), actor: number.isMultiple(of: 3) ? "person" : "dispatcher",
                action: "dispatch-attempted", object: "\(EmergencyID(bits: UInt128(number / 5)))", detail: "alert 0, attempt \(number)")
        }
        try await store.write { try AuditStore.append(notes, $0) }
        try await store.emptyLog()
        await store.close()
    }

    /// Where each row's record lies in the file, from its length to its last column.
    private func places(_ file: URL, _ bytes: Data) throws -> [Range<Int>] {
        let rows = try DatabaseQueue(path: file.path).read { try Row.fetchAll($0, sql: "SELECT * FROM audit ORDER BY sequence") }
        return try rows.map { row in
            let (entry, object): (String, String) = (row["entry"], row["object"])
            let found = try #require(bytes.range(of: Data(entry.utf8)))
            // Before the columns: the record's length (2 bytes), its number (1), and the header of types (1 + 1 + 2 + 1 + 1 + 1).
            return found.lowerBound - 10..<found.upperBound + 64 + object.utf8.count
        }
    }

    /// What the operator's tool and the service make of these bytes, each in a file of its own.
    private func named(_ bytes: Data, in folder: URL) async throws -> (Int64?, Int64?) {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (one, other) = (folder.appendingPathComponent("one.db"), folder.appendingPathComponent("other.db"))
        for copy in [one, other] { try bytes.write(to: copy) }
        let queue = try DatabaseQueue(path: other.path)
        let heard = try await queue.unsafeRead { try AuditStore.verify($0, headsAt: []).verifier }.firstBroken
        try queue.close()
        return (try AuditFile.verify(one).firstBroken, heard)
    }

    @Test("SOS-29: of 1,000 flipped bits in the file each names the row that it is in, to the service and to trackme audit verify")
    func flips() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("sos-dispatcher.db")
            try await write(file)
            let sound = try Data(contentsOf: file)
            #expect(try AuditFile.verify(file).firstBroken == nil)
            let places = try places(file, sound)
            var missed: [String] = []
            for seed in 0..<Self.flips {
                var dice = SeededGenerator(seed: seed)
                let row = Int.random(in: 0..<places.count, using: &dice)
                let offset = places[row].randomElement(using: &dice) ?? 0
                let bit = UInt8.random(in: 0..<8, using: &dice)
                // The type of the key's column: of types 0 and 8 alike SQLite reads nothing, since the key is the row's number. Nothing that
                // the row says has changed.
                if offset == places[row].lowerBound + 4, bit == 3 { continue }
                var bytes = sound
                bytes[offset] ^= 1 << bit
                let (said, heard) = try await named(bytes, in: folder.appendingPathComponent("\(seed)"))
                if said != Int64(row + 1) || heard != Int64(row + 1) {
                    missed.append(
                        "seed \(seed): bit \(bit) of byte \(offset - places[row].lowerBound) of row \(row + 1): \(said ?? 0), \(heard ?? 0)"
                    )
                }
            }
            print("· audit: \(Self.flips) flipped bits, \(Self.flips - UInt64(missed.count)) named with their row")
            #expect(missed.isEmpty, "\(missed.prefix(5).joined(separator: "; "))")
        }
    }
}
