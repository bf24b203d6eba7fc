// Prices, payments and invoices put together.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

/// For the gateway's assembly and for tests.
struct PaymentModule: Sendable {
    let repository: PaymentRepository
    let service: PaymentService
    let jobs: PaymentJobRunner
    private let prices: PriceBusRoutes
    private let ownRoutes: [Route]

    /// - Parameter review: see `PaymentService`.
    init(
        _ settings: PaymentSettings, on stores: GatewayStores, runtime: Runtime, admit: @escaping Admit,
        review: @escaping @Sendable (StoredBill) async throws -> Void = { _ in }
    ) throws {
        let (opened, clock, paymentStore) = (stores.opened, stores.clock, stores.payments.paymentStore)
        repository = stores.payments
        jobs = PaymentJobRunner(
            store: opened.store, paymentStore: paymentStore, checkInterval: settings.checkInterval, logger: runtime.logger, clock: clock)
        service = PaymentService(
            store: opened.store, paymentStore: paymentStore, jobs: jobs, answers: opened.answers, review: review, logger: runtime.logger,
            clock: clock)
        prices = PriceBusRoutes(store: opened.store, answers: opened.answers, clock: clock)
        let signature = try settings.stripe?.webhookSecret.map {
            StripeSignature(secret: Array(try runtime.keys.readSecret($0).utf8))
        }
        ownRoutes =
            PriceRoutes(store: opened.store, repository: repository).all + PaymentRoutes(service: service, admit: admit).all
            + InvoiceRoutes(store: opened.store, table: paymentStore.invoices, admit: admit).all
            + ProviderRoutes(jobs: jobs, stripe: signature).all
    }

    var routes: [Route] { ownRoutes }

    func register(in methods: inout Methods) {
        prices.register(in: &methods)
        PaymentBusRoutes(service: service).register(in: &methods)
    }

    var services: [any Service] {
        [Background(jobs.run), Background(jobs.watch)]
    }
}

extension PaymentProviders {
    /// Those that the operator has set up.
    init(_ settings: PaymentSettings, on runtime: Runtime, clock: @escaping @Sendable () -> Timestamp) throws {
        // The operator names these addresses; they may well be on this machine or network.
        var trusted = OutboundSettings()
        trusted.policy = .anywhere
        let calls = HandlerCalls(http: HTTPSender(trusted, logger: runtime.logger), timeout: settings.handlerTime)
        var byMethod: [PaymentMethod: any PaymentProvider] = [:]
        if let bank = settings.bank { byMethod[.bankTransfer] = BankTransferProvider(bank: bank) }
        if settings.hasSandbox {
            (byMethod[.card], byMethod[.paypal]) = (SandboxProvider(), SandboxProvider())
        }
        if let stripe = settings.stripe {
            byMethod[.card] = StripeProvider(
                url: stripe.url, secret: try runtime.keys.readSecret(stripe.secret), publishableKey: stripe.publishableKey, calls: calls)
        }
        if let payPal = settings.payPal {
            byMethod[.paypal] = PayPalProvider(
                url: payPal.url, credentials: try runtime.keys.readSecret(payPal.credentials),
                returnURL: "\(runtime.settings.publicOrigin)\(ProviderRoutes.payPalReturn)", calls: calls, clock: clock)
        }
        if byMethod.isEmpty {
            runtime.logger.warning("no payment method is configured: bills stay due")
        }
        self.init(byMethod)
    }
}
