// What an operator can set about money; names and bounds as in the requirements, section 5.

import Contracts
import Foundation
import ServiceKit

struct PaymentSettings: Sendable {
    /// When an amount is to be paid (PAY-02, PAY-03, CON-20).
    enum When: String, CaseIterable, Sendable {
        case onPositive = "on_positive"
        case onSubmit = "on_submit"
        case free
    }

    struct Stripe: Sendable {
        var url: String
        /// Holds the secret key `sk_…`.
        var secret: URL
        /// Holds the signing secret of the webhook `whsec_…`; without it the state is only asked for.
        var webhookSecret: URL?
        var publishableKey: String
    }

    struct PayPal: Sendable {
        var url: String
        /// Holds `client id:secret`.
        var credentials: URL
    }

    /// The account that transfers go to.
    struct Bank: Sendable {
        var holder: String
        var iban: String
    }

    let when: When
    let quoteTime: Duration
    let stripe: Stripe?
    let payPal: PayPal?
    let bank: Bank?
    /// Takes card and PayPal where no handler is set, with play money.
    let hasSandbox: Bool
    let handlerTime: Duration
    let checkInterval: Duration
    let seller: Seller

    init(_ reader: inout SettingsReader) {
        when = reader.read(.choice("pay.when", default: .onPositive, "When an amount is to be paid: at acceptance, at submission, never."))
        quoteTime = reader.read(
            .hours("pay.quote_hours", default: 24, in: 0...720, "How long a price is honoured after the list was replaced."))
        let stripeURL = reader.read(.address("pay.stripe_url", "Stripe's API; https://api.stripe.com if not set."))
        let stripeSecret = reader.read(.optionalPath("pay.stripe_secret", "File with the secret key; card payments go by Stripe if set."))
        let stripeWebhook = reader.read(
            .optionalPath(
                "pay.stripe_webhook_secret", "File with the signing secret of the webhook at /thirdparty/v1/providers/stripe/events."))
        let publishable = reader.read(.text("pay.stripe_publishable_key", default: "", "Given to payers for Stripe's own form."))
        stripe = stripeSecret.map {
            Stripe(
                url: Self.origin(stripeURL, else: "https://api.stripe.com"), secret: $0, webhookSecret: stripeWebhook,
                publishableKey: publishable)
        }
        let payPalURL = reader.read(.address("pay.paypal_url", "PayPal's API; https://api-m.paypal.com if not set."))
        let payPalCredentials = reader.read(
            .optionalPath("pay.paypal_credentials", "File with `client id:secret`; PayPal is offered if set."))
        payPal = payPalCredentials.map { PayPal(url: Self.origin(payPalURL, else: "https://api-m.paypal.com"), credentials: $0) }
        let holder = reader.read(.text("pay.bank_holder", default: "", "Holder of the account that transfers go to."))
        let iban = reader.read(.text("pay.bank_iban", default: "", "IBAN of that account; transfers are offered if set."))
        bank = iban.isEmpty ? nil : Bank(holder: holder, iban: iban)
        hasSandbox = reader.read(
            .flag("pay.sandbox", default: false, "Takes card and PayPal where no handler is set, with play money: for trying out."))
        handlerTime = reader.read(.seconds("pay.handler_s", default: 10, in: 1...60, "How long a payment handler may take to answer."))
        checkInterval = reader.read(
            .seconds("pay.look_s", default: 30, in: 1...3600, "How often the handler is asked about payments that are under way."))
        seller = Seller(
            name: reader.read(.text("pay.seller_name", default: "TrackMe", "Who makes invoices out.")),
            address: reader.read(.text("pay.seller_address", default: "", "The seller's address, in one line.")),
            vatNumber: reader.read(.text("pay.seller_vat", default: "", "The seller's VAT number.")))
    }

    private static func origin(_ url: URL?, else usual: String) -> String {
        let text = url?.absoluteString ?? usual
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}
