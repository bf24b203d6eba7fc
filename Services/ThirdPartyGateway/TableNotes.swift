// What the gateway's tables hold and for how long. What concerns a person is sealed under that person's key.

import ServiceKit
import Storage

extension GatewaySchema {
    /// One for every table of thirdparty-gateway.db.
    static let notes = organisations + requests + money + subscriptions

    private static let organisations = [
        TableNote(
            "organisations", holds: "state, tier, keyed look-ups of name, VAT number and address; details sealed",
            kept: "for ever, a closed one without look-ups; unconfirmed ones `org.unconfirmed_h`", erasure: .impersonal),
        TableNote(
            "organisation_members", holds: "who works for an organisation, with which role; contact sealed",
            kept: "until removed, or the organisation is closed", erasure: .impersonal),
        TableNote(
            "organisation_links", holds: "digests of mailed tokens, with what they are for; sealed", kept: "until replaced or used",
            erasure: .impersonal),
        TableNote(
            "api_clients", "api_tokens", holds: "API clients: label sealed, digests of secrets and tokens",
            kept: "until removed; tokens an hour", erasure: .impersonal),
        TableNote(
            "restores", holds: "when this store was last restored from a copy, and whether third parties are held since",
            kept: "for ever", erasure: .impersonal),
    ]

    private static let requests = [
        TableNote(
            "requests", holds: "what was asked of whom and what became of it; particulars sealed", kept: "for ever", erasure: .emptied),
        TableNote(
            "request_batches", "request_intents", holds: "lists of requests and how far each is; sealed until it is put",
            kept: "30 days once it is settled", erasure: .expires),
        TableNote(
            "group_requests", holds: "what was asked of groups and what was answered; sealed, and nothing of people",
            kept: "until the organisation is closed; 30 days where nothing came of it", erasure: .impersonal),
        TableNote(
            "group_windows", holds: "which windows of subscriptions to groups were released or withheld, and when; no entries",
            kept: "until the organisation is closed", erasure: .impersonal),
        TableNote(
            "group_endings", holds: "subscriptions to groups of whose end the anonymiser is yet to be told", kept: "until it is",
            erasure: .impersonal),
        TableNote(
            "data_files",
            holds: "file jobs: what was ordered; names, lengths and hashes of the parts, which lie sealed beside the store",
            kept: "files `org.file_hours`, the job for ever", erasure: .deleted),
    ]

    private static let money = [
        TableNote("price_lists", holds: "every version of the price list", kept: "for ever", erasure: .impersonal),
        TableNote(
            "payments", "payment_references", holds: "amounts, states and attempts; attempts sealed", kept: "for ever",
            erasure: .impersonal),
        TableNote(
            "payment_errands", holds: "calls to payment handlers that are not answered yet", kept: "until they are", erasure: .impersonal),
        TableNote("invoices", holds: "invoices and credit notes; content sealed", kept: "for ever", erasure: .impersonal),
    ]

    private static let subscriptions: [TableNote] = [
        TableNote(
            "feeds", holds: "subscriptions: organisation, grant, types, window, how far each is", kept: "for ever", erasure: .emptied),
        TableNote(
            "feed_items", holds: "what was put into a subscription; sealed",
            kept: "`org.feed_keep_h`, or until the subscription is over", erasure: .deleted),
        TableNote(
            "feed_news", holds: "which steps of a subscription are to be read anew", kept: "until they are read", erasure: .deleted),
        TableNote(
            "endpoints", "endpoint_feeds", holds: "where webhooks go, address and secrets sealed; how far each subscription is there",
            kept: "until removed, or the organisation is closed", erasure: .impersonal),
        TableNote(
            "webhook_messages", holds: "notices and numbers of items that are to be delivered, and dead letters; no values",
            kept: "until delivered; dead letters as long as the endpoint", erasure: .impersonal),
        .streams, .positions, .marks, .answers, .idempotencyKeys, .jobs, .grants, .tokens, .erasures, .life,
    ]
}
