// What an operator can set about subscriptions and webhooks.

import Contracts
import ServiceKit

struct SubscriptionSettings: Sendable {
    /// How long the items of a subscription that runs can be fetched again.
    let keepItems: Duration
    /// How long a webhook is tried.
    let retryFor: Duration
    /// Whether endpoints may lie on private networks, and be spoken to without TLS.
    let allowsPrivate: Bool

    init(_ reader: inout SettingsReader) {
        keepItems = reader.read(
            .hours(
                "org.feed_keep_h", default: 168, in: 72...8760,
                "How long delivered items of subscriptions are kept for those who missed them.")
        )
        retryFor = reader.read(
            .hours("org.webhook_retry_h", default: 72, in: 1...168, "How long a webhook is tried before its endpoint is paused."))
        allowsPrivate = reader.read(
            .flag(
                "org.webhook_private", default: false,
                "Whether webhooks may go to private networks, and without TLS; for tests and suites of one house."))
    }
}
