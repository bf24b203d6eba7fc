// The answer to an upload: how many entries were new, which were known, which were refused and why.

import Contracts

/// The answer to an upload. Every entry is counted once: as accepted, as a duplicate, or as rejected.
struct UploadAnswer: Sendable {
    struct Rejected: Hashable, Sendable {
        var index: Int
        var fault: EntryFault
    }

    var accepted = 0
    /// Entries that were stored already, word for word; by place in the upload, from 0.
    var duplicates: [Int] = []
    var rejected: [Rejected] = []
    /// Of a stream, whose lists may be cut at `UploadLimits.namedInAnswer`.
    var totals: (duplicates: Int, rejected: Int)?
    /// Whether the upload told a `sentAt` that is left out of account.
    var ignoresSentAt = false
    /// What the device is asked for while its person is alerted (SOS-11).
    var supervision: AskedRate?

    /// Adds what happened to one piece of a stream.
    mutating func add(_ piece: UploadAnswer) {
        let room = UploadLimits.namedInAnswer
        let before = totals ?? (0, 0)
        totals = (before.duplicates + piece.duplicates.count, before.rejected + piece.rejected.count)
        accepted += piece.accepted
        supervision = piece.supervision
        ignoresSentAt = ignoresSentAt || piece.ignoresSentAt
        duplicates.append(contentsOf: piece.duplicates.prefix(room - duplicates.count))
        rejected.append(contentsOf: piece.rejected.prefix(room - rejected.count))
    }

    /// As JSON, written by hand because every upload ends with it.
    var json: [UInt8] {
        var json = JSONBytes(capacity: 64 + duplicates.count * 6 + rejected.count * 160)
        json.literal("{\"accepted\":")
        json.integer(Int64(accepted))
        json.literal(",\"duplicates\":[")
        for (place, index) in duplicates.enumerated() {
            if place > 0 { json.byte(",") }
            json.integer(Int64(index))
        }
        json.literal("],\"rejected\":[")
        for (place, entry) in rejected.enumerated() {
            if place > 0 { json.byte(",") }
            json.literal("{\"index\":")
            json.integer(Int64(entry.index))
            json.literal(",\"type\":")
            json.string(Problem.prefix + entry.fault.name)
            json.literal(",\"detail\":")
            json.string(entry.fault.detail)
            json.byte("}")
        }
        json.byte("]")
        if let totals {
            json.literal(",\"duplicateCount\":")
            json.integer(Int64(totals.duplicates))
            json.literal(",\"rejectedCount\":")
            json.integer(Int64(totals.rejected))
        }
        if ignoresSentAt { json.literal(",\"ignored\":[\"sentAt\"]") }
        if let supervision, let rate = supervision.measurementsPerSecond {
            json.literal(",\"supervision\":{\"state\":")
            json.string(supervision.state.rawValue)
            json.literal(",\"measurementsPerSecond\":")
            json.number(rate)
            json.byte("}")
        }
        json.byte("}")
        return json.bytes
    }
}
