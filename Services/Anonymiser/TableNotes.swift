// What the anonymiser's tables hold and for how long. Nothing in them names a person.

import ServiceKit
import Storage

extension AnonymiserSchema {
    /// One for every table of anonymiser.db.
    static let notes: [TableNote] =
        [
            TableNote(
                "cohort_rows", holds: "who shares anonymously, by a keyed digest; attributes and opt-ins, sealed",
                kept: "until erasure; attributes until nothing is shared any more", erasure: .emptied),
            TableNote(
                "cohort_erased", holds: "whose facts are taken no more, or none from before an hour, by a keyed digest", kept: "for ever",
                erasure: .impersonal),
            TableNote(
                "cohort_open_hours", holds: "sums and squares of one person's hour; sealed", kept: "until ingest has said the whole hour",
                erasure: .deleted),
            TableNote(
                "cohort_chunks", holds: "values of closed hours and days, squares of both, and who has data, of 65,536 people each; sealed",
                kept: "for ever; sums until their day is over", erasure: .deleted),
            TableNote("cohort_state", holds: "how far hours are said and closed", kept: "for ever", erasure: .impersonal),
            .streams, .formerEpochs, .positions, .marks, .answers, .erasures, .life,
            SyntheticStore.note,
        ] + ReleaseStores.notes
}
