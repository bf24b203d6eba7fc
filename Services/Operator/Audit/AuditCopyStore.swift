// Opens a stopped service's copy of its store, only to read the audit table.

import Contracts
import Foundation
import GRDB
import Sealing

enum AuditFile {
    /// - Parameter anchors: lines of `sos.audit_anchor_file`. Their signatures are not proved here: whoever kept the file answers for it.
    static func verify(_ file: URL, anchors: [String] = []) throws(OperatorError) -> VerifyAudit.Reply {
        guard FileManager.default.isReadableFile(atPath: file.path) else {
            throw OperatorError(.configuration, "\(file.path) cannot be read", mend: "name a copy of sos-dispatcher.db")
        }
        var configuration = Configuration()
        configuration.readonly = true
        do {
            // Outside a transaction: on a damaged page its end fails, although all that could be read was read.
            let proof = try DatabaseQueue(path: file.path, configuration: configuration).unsafeRead { db in
                var proof = AuditProof(anchors: anchors)
                let rows = try Row.fetchCursor(db, sql: "SELECT sequence, entry, previous, hash, object FROM audit ORDER BY sequence")
                do {
                    while let row = try rows.next() { check(row, &proof) }
                } catch {
                    // A page that SQLite itself cannot read is somebody's change too: the row on it is named.
                    proof.unreadable()
                }
                return proof
            }
            return VerifyAudit.Reply(
                rows: proof.rows, firstBroken: proof.firstBroken, head: Hex.encode(proof.head), faults: proof.disagreements,
                checked: proof.anchors.count)
        } catch {
            throw OperatorError(
                .failed, "\(file.path) is no copy of a SOS dispatcher's store, or it is damaged",
                mend: "copy sos-dispatcher.db of a stopped service, with its -wal file if there is one, into a folder that you may write to"
            )
        }
    }

    private static func check(_ row: Row, _ proof: inout AuditProof) {
        let values: [DatabaseValue] = [row["sequence"], row["entry"], row["previous"], row["hash"], row["object"]]
        // By what each is stored as: text that was made a blob reads alike, and is still a changed file.
        guard case .int64(let sequence) = values[0].storage, case .string(let entry) = values[1].storage,
            case .blob(let previous) = values[2].storage, case .blob(let hash) = values[3].storage,
            case .string(let object) = values[4].storage
        else { return proof.unreadable() }
        proof.check(sequence: sequence, entry: entry, previous: Array(previous), hash: Array(hash), object: object)
    }
}
