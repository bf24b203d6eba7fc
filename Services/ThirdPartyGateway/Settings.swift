// What an operator can set about the gateway: each subject declares its own.

import ServiceKit

/// Under the prefixes `org` and `pay`.
struct GatewaySettings: Sendable {
    let organisations: OrganisationSettings
    let requests: RequestSettings
    let payments: PaymentSettings
    let subscriptions: SubscriptionSettings

    init(_ reader: inout SettingsReader) {
        organisations = OrganisationSettings(&reader)
        requests = RequestSettings(&reader)
        payments = PaymentSettings(&reader)
        subscriptions = SubscriptionSettings(&reader)
    }
}
