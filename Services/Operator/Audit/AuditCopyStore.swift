// Opens a stopped service's copy of its store, only to read the audit table.

import Contracts
import Foundation
import GRDB
import Sealing

enum AuditFile {
    static func verify(_ file: URL) throws(OperatorError) -> VerifyAudit.Reply {
        guard FileManager.default.isReadableFile(atPath: file.path) else {
            throw OperatorError(.configuration, "\(file.path) cannot be read", mend: "name a copy of sos-dispatcher.db")
        }
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let proof = try DatabaseQueue(path: file.path, configuration: configuration).read { db in
                var proof = AuditProof()
                let rows = try Row.fetchCursor(db, sql: "SELECT sequence, entry, previous, hash, object FROM audit ORDER BY sequence")
                do {
                    while let row = try rows.next() { check(row, &proof) }
                } catch {
                    // A page that SQLite itself cannot read is somebody's change too: the row on it is named.
                    proof.unreadable()
                }
                return proof
            }
            return VerifyAudit.Reply(rows: proof.rows, firstBroken: proof.firstBroken, head: Hex.encode(proof.head))
        } catch {
            throw OperatorError(
                .failed, "\(file.path) is no copy of a SOS dispatcher's store, or it is damaged",
                mend: "copy sos-dispatcher.db of a stopped service, with its -wal file if there is one, into a folder that you may write to"
            )
        }
    }

    private static func check(_ row: Row, _ proof: inout AuditProof) {
        guard let sequence = Int64.fromDatabaseValue(row["sequence"]), let entry = String.fromDatabaseValue(row["entry"]),
            let previous = Data.fromDatabaseValue(row["previous"]), let hash = Data.fromDatabaseValue(row["hash"]),
            let object = String.fromDatabaseValue(row["object"])
        else { return proof.unreadable() }
        proof.check(sequence: sequence, entry: entry, previous: Array(previous), hash: Array(hash), object: object)
    }
}
