// What ingest's tables hold and for how long. Values, places, names and tokens are in no table unsealed.

import ServiceKit
import Storage

extension IngestSchema {
    /// One for every table of ingest.db.
    static let notes = devices + data + others

    private static let others: [TableNote] = [
        TableNote("cohort_hours", holds: "up to which hour sums for group data are complete", kept: "for ever", erasure: .impersonal),
        TableNote(
            "alerted_people", holds: "whose devices are to measure more often, and how often", kept: "while the emergency lasts",
            erasure: .deletedWithAccount),
        .streams, .formerEpochs, .positions, .marks, .answers, .idempotencyKeys, .jobs, .grants, .tokens, .erasures, .life,
    ]

    private static let devices = [
        TableNote(
            "people", "devices",
            holds: "random ids, kind, what it measures and what is tracked, interval, charging, worn, battery, public key; the token as a "
                + "keyed digest; name and model sealed",
            kept: "until erasure", erasure: .deletedWithAccount),
        TableNote("pauses", holds: "when monitoring was paused", kept: "until erasure", erasure: .deletedWithAccount),
        TableNote(
            "pairings", holds: "offers of devices: keyed digests of secret, numbers and token; the description sealed",
            kept: "ten minutes after they end", erasure: .deletedWithAccount),
        TableNote(
            "known_accounts", holds: "who has an account, active or not, language, since when devices may read", kept: "as consent says",
            erasure: .deletedWithAccount),
        TableNote(
            "cohort_people", holds: "who shares anything anonymously, up to which hour it was summed up; which types since when, sealed",
            kept: "until the person shares nothing any more", erasure: .deletedWithAccount),
    ]

    private static let data = [
        TableNote(
            "chunks",
            holds: "entries in sealed columns; in the open: person, metric, first and last time, count, device; days that are over are "
                + "merged into one chunk a device",
            kept: "until erasure; of the dispatchers' synthetic subscribers an hour", erasure: .deleted),
        TableNote(
            "chunk_times", holds: "the index of chunks by person, metric and time", kept: "as its chunks", erasure: .deleted),
        TableNote(
            "chunk_times_filled", "chunk_ids", holds: "up to which chunk that index is filled; which chunk's id was the last to go",
            kept: "for ever", erasure: .impersonal),
        TableNote(
            "days", "roll_ups", holds: "which days have entries, and their minutes (min, max, sum, count), sealed", kept: "until erasure",
            erasure: .deleted),
        TableNote(
            "quarantine", holds: "refused entries as they came, at most 64 KiB an upload; sealed",
            kept: "the last 100 such uploads of a person", erasure: .deleted),
        TableNote(
            "activities", holds: "times, and the device that reported them; kind and name sealed",
            kept: "until the person deletes it, or erasure", erasure: .deleted),
        TableNote(
            "transfers",
            holds: "exports and imports: when they began and ended; what was asked, manifest and refusals sealed; their files lie sealed "
                + "in `transfers/`",
            kept: "`myd.export_kept_h` after their end; an imported file until it is read", erasure: .deleted),
    ]
}
