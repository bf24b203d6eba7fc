// What the gateway's subjects change in each other's transactions, made before the subjects: each of what stands above it.

import Contracts
import Sealing
import ServiceKit

struct GatewayStores: Sendable {
    let opened: OpenedStore
    let outbox: MessageOutbox
    let clock: @Sendable () -> Timestamp
    let organisations: OrganisationRepository
    let bills: BillStore
    let hub = FeedHub()
    let subscriptions: SubscriptionRepository
    let releases: RequestReleaseStore
    let payments: PaymentRepository

    /// - Parameter providers: other than those of the settings; for tests.
    init(
        _ settings: GatewaySettings, opened: OpenedStore, outbox: MessageOutbox, on runtime: Runtime,
        providers: PaymentProviders? = nil, clock: @escaping @Sendable () -> Timestamp = { .now }
    ) throws {
        (self.opened, self.outbox, self.clock) = (opened, outbox, clock)
        let organisationTable = OrganisationStore(
            key: try runtime.key("organisations"), names: try runtime.lookupKey(for: "business-name"),
            vatNumbers: try runtime.lookupKey(for: "vat-number"), addresses: try runtime.lookupKey(for: "corporate-address"))
        organisations = OrganisationRepository(
            table: organisationTable, outbox: outbox, usualTier: settings.organisations.tier,
            untrustedRecords: settings.organisations.untrustedRecords)
        let key = try runtime.key("payments")
        bills = BillStore(key: key.derived(for: "attempts"))
        subscriptions = SubscriptionRepository(
            bills: bills, queue: WebhookQueueStore(hub: hub), keep: settings.subscriptions.keepItems, clock: clock)
        // Event streams that one organisation may have open.
        releases = RequestReleaseStore(watchers: Watchers(limit: 20), clock: clock)
        let paymentStore = PaymentStore(
            table: bills, jobs: PaymentJobStore(sealKey: key.derived(for: "errands")),
            invoices: InvoiceStore(key: key.derived(for: "invoices")),
            providers: try providers ?? PaymentProviders(settings.payments, on: runtime, clock: clock), organisations: organisations,
            releases: releases, subscriptions: subscriptions, settings: settings.payments, publicOrigin: runtime.settings.publicOrigin,
            wakeUp: WakeUpSignal())
        payments = PaymentRepository(paymentStore: paymentStore, prices: PriceRepository(), settings: settings.payments, clock: clock)
    }
}
