// What a table holds, for how long, and what an erasure does to it: declared beside the schema, printed in the READMEs.

/// A service declares one for every table of its stores; HouseTests compare them with the schema that the migrations make.
package struct TableNote: Sendable {
    /// What becomes of rows about a person who is erased.
    package enum Erasure: String, Sendable {
        /// Also where the collected data alone are erased and the account stays.
        case deleted
        case deletedWithAccount = "deleted with the account"
        /// The row keeps its place and tells nothing about the person any more.
        case emptied = "emptied, the row stays"
        /// It is sealed or a keyed digest, and goes by itself within the time under `kept`.
        case expires = "expires"
        case impersonal = "about nobody"
    }

    /// Tables that are described together.
    package let names: [String]
    package let holds: String
    /// Settings are named by their keys, in backticks.
    package let kept: String
    package let erasure: Erasure

    package init(_ names: String..., holds: String, kept: String, erasure: Erasure) {
        (self.names, self.holds, self.kept, self.erasure) = (names, holds, kept, erasure)
    }
}

// MARK: Tables that this module makes

extension TableNote {
    /// Of `StreamLog.create` and `Confirmations.create`.
    package static let streams = TableNote(
        "stream_log", "stream_heads", "stream_epoch", "stream_confirmations", "stream_forgotten_consumers",
        holds: "the log of the published streams, how far each is, and how far each consumer has confirmed it",
        kept: "a fact until every consumer of the suite has confirmed it, at least `bus.log_hours`", erasure: .emptied)

    /// Of `StreamLog.createFormerEpochs`.
    package static let formerEpochs = TableNote(
        "stream_former_epochs", holds: "how far the log agrees with the epochs before a restore", kept: "for ever", erasure: .impersonal)

    /// Of `ConsumerPositions.create`.
    package static let positions = TableNote(
        "consumer_positions", holds: "how far each consumed stream has been applied", kept: "for ever", erasure: .impersonal)

    /// Of `SnapshotMarks.create`.
    package static let marks = TableNote(
        "snapshot_marks", holds: "which facts a snapshot has brought so far, by their ids", kept: "until the snapshot is whole",
        erasure: .expires)

    /// Of `AnswerTable.create`.
    package static let answers = TableNote(
        "bus_answers", holds: "first answers to requests over the bus, for repetitions; sealed", kept: "24 hours", erasure: .expires)

    /// Of `JobTable.create`.
    package static let jobs = TableNote(
        "jobs", holds: "what is still to be done: messages for the notifier, requests to other services; sealed where it is personal",
        kept: "until it is done; 30 days once it is given up", erasure: .deletedWithAccount)

    /// Of `IdempotencyKeys.create`.
    package static let idempotencyKeys = TableNote(
        "idempotency_keys", holds: "first answers to HTTP requests with an `Idempotency-Key`; keyed digests, sealed answers",
        kept: "24 hours", erasure: .expires)

    /// Of `StoreLife.create`.
    package static let life = TableNote(
        "store_life", holds: "the mark by which a store notices that it was restored from a copy", kept: "for ever", erasure: .impersonal)

    /// Of a service's second file, `<service>-keys.db`.
    package static let keys = [
        TableNote(
            "wrapped_keys", holds: "one key for each person, wrapped by the service's key-encryption key",
            kept: "until erasure; that it was destroyed, for ever", erasure: .emptied),
        TableNote(
            "key_checks", holds: "known values under the service's secrets, so that a wrong secret stops the start", kept: "for ever",
            erasure: .impersonal),
    ]
}
