// What the notifier's tables hold and for how long. What concerns a person is sealed under that person's key, the rest under its own.

import ServiceKit
import Storage

extension Migrations {
    /// One for every table of notifier.db.
    static let notes: [TableNote] = [
        TableNote(
            "messages", holds: "sender, person, keyed digest; template, values and addresses sealed",
            kept: "content until every channel is settled; the rest `notify.keep_hours`", erasure: .deletedWithAccount),
        TableNote(
            "deliveries", holds: "state, attempts and provider of each channel; keyed look-up of the address", kept: "with the message",
            erasure: .deletedWithAccount),
        TableNote(
            "inbox", holds: "template, language and values, sealed; when it was read", kept: "`notify.inbox_hours`",
            erasure: .deletedWithAccount),
        TableNote(
            "push_endpoints", "channel_choices", holds: "where push messages go, and which channels are switched off; sealed",
            kept: "until removed; an endpoint until the session that added it is ended by an order, or has lapsed before a new password",
            erasure: .deletedWithAccount),
        .streams, .formerEpochs, .positions, .marks, .answers, .tokens, .erasures, .life,
    ]
}
