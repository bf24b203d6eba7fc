// What consent's tables hold and for how long. Whatever a person told is sealed under the person's key; look-ups are keyed digests.

import ServiceKit
import Storage

extension ConsentSchema {
    /// One for every table of consent.db.
    static let notes = people + logIns + sharing + own

    private static let own: [TableNote] = [
        TableNote(
            "erasures", "erasure_confirmations", holds: "orders to erase, certificates, and what each store has confirmed",
            kept: "for ever; without the person once it is complete", erasure: .emptied),
        TableNote(
            "announcements", holds: "what operators announced; of a breach, up to whom people have been written to", kept: "for ever",
            erasure: .impersonal),
        .streams, .formerEpochs, .positions, .marks, .answers, .idempotencyKeys, .jobs, .tokens, .erasures, .life,
    ]

    private static let people = [
        TableNote(
            "accounts", holds: "number, id, keyed look-ups of address, fiscal code and user name, sealed profile, state",
            kept: "until the account is erased; numbers are never given again", erasure: .deletedWithAccount),
        TableNote(
            "consent_records", holds: "every consent given or withdrawn; sealed", kept: "as long as the account",
            erasure: .deletedWithAccount),
        TableNote(
            "account_mails", holds: "which message went to which account's own address", kept: "30 days, or until its fate is known",
            erasure: .deletedWithAccount),
        TableNote(
            "emergency_subscribers", holds: "who is subscribed to AutomatedSOS, and whose card is still to be published",
            kept: "until they leave", erasure: .deletedWithAccount),
        TableNote(
            "cohort_profiles", holds: "who shares something anonymously, and of whom that is still to be published",
            kept: "until nothing is shared any more", erasure: .deletedWithAccount),
    ]

    private static let logIns = [
        TableNote("credentials", holds: "salted password hashes; sealed", kept: "as long as the account", erasure: .deletedWithAccount),
        TableNote(
            "sessions", holds: "sessions, from where and by which browser; sealed", kept: "until they end", erasure: .deletedWithAccount),
        TableNote(
            "ended_sessions", holds: "ids of ended sessions", kept: "until their last token has expired", erasure: .expires),
        TableNote(
            "session_revocations", holds: "the name of the list beside the store, of sessions that were ended", kept: "for ever",
            erasure: .impersonal),
        TableNote(
            "log_in_runs", holds: "wrong log-ins in a row, by keyed digest of the name", kept: "a day after the last", erasure: .expires),
        TableNote(
            "second_factors", "recovery_codes", holds: "authenticators' secrets, sealed; keyed digests of codes",
            kept: "until taken away or used", erasure: .deletedWithAccount),
        TableNote(
            "mail_links", holds: "digests of mailed tokens, with what they are for; sealed", kept: "until used or too old",
            erasure: .deletedWithAccount),
        TableNote(
            "recovery_wishes", holds: "addresses typed into \"forgot password?\"; sealed", kept: "until handled", erasure: .expires),
        TableNote(
            "signing_keys", holds: "the keys that sign access tokens; sealed", kept: "until no token of theirs is valid",
            erasure: .impersonal),
    ]

    private static let sharing = [
        TableNote(
            "sharing_requests", holds: "third parties' requests and what became of them; details sealed", kept: "as long as the account",
            erasure: .deletedWithAccount),
        TableNote(
            "sharing_receipts", holds: "signed receipts of every answer; sealed", kept: "as long as the account",
            erasure: .deletedWithAccount),
        TableNote(
            "anonymous_sharing", holds: "which types a person shares anonymously", kept: "as long as the account",
            erasure: .deletedWithAccount),
        TableNote(
            "data_accesses", holds: "reads that earlier versions recorded here", kept: "until moved to consent-accesses.db",
            erasure: .deletedWithAccount),
        TableNote(
            "access_store", holds: "that there is a consent-accesses.db to this store", kept: "for ever", erasure: .impersonal),
        TableNote(
            "sharing_unknown_codes", holds: "unknown fiscal codes that an organisation asked for, as keyed digests", kept: "a day",
            erasure: .expires),
    ]
}

extension AccessStore {
    /// One for every table of consent-accesses.db.
    static let notes: [TableNote] = [
        TableNote(
            "accesses", holds: "which granted data left, when and to whom", kept: "a day, then by the hour", erasure: .deletedWithAccount),
        TableNote(
            "access_hours", holds: "the same, counted by hour, grant and type", kept: "`shr.access_days`", erasure: .deletedWithAccount),
        TableNote(
            "access_people", "access_grants", holds: "the people and grants that these tables name by numbers",
            kept: "as long as something names them", erasure: .deletedWithAccount),
        TableNote(
            "access_moves", holds: "how far what earlier versions kept in consent.db has been moved here", kept: "for ever",
            erasure: .impersonal),
        .positions,
    ]
}
