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
                let rows = try Row.fetchCursor(db, sql: "SELECT sequence, entry, previous, hash FROM audit ORDER BY sequence")
                while let row = try rows.next() {
                    let (previous, hash): (Data, Data) = (row["previous"], row["hash"])
                    proof.check(sequence: row["sequence"], entry: row["entry"], previous: Array(previous), hash: Array(hash))
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
}
