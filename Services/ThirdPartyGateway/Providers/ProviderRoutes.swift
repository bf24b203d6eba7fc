// The doors for payment handlers: what they tell by themselves. A repeated notification has no effect (PAY-09).

import Contracts
import Foundation
import HTTPKit
import NIOCore

struct ProviderRoutes: Sendable {
    /// A notification is a few kilobytes.
    static let bodyLimit = 256 << 10

    let jobs: PaymentJobRunner
    /// Nil: no secret is set, so that nothing can be believed.
    let stripe: StripeSignature?

    var all: [Route] { [stripeEvents, payPalEvents, payPalBack] }

    private var stripeEvents: Route {
        Route(
            .post, "/thirdparty/v1/providers/stripe/events", as: "takeStripeEvent", access: .anyone,
            summary: "Takes a notification of Stripe",
            description: "Signed with the endpoint's secret; one that is older than five minutes is refused.",
            parameters: [.header(StripeSignature.header, .string(length: 1...1000), required: true, "`t=…,v1=…`.")],
            body: BodyShape(
                [.init(MediaType.json, .anything, examples: [Examples.stripeEvent])], limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [Answer(204, "Taken"), .problem(400, Problem.signatureRefused.name)]
        ) { exchange in
            let body = Array(try await exchange.body().readableBytesView)
            guard let stripe, let header = exchange.header(StripeSignature.header),
                stripe.verifies(header, body: body, at: exchange.receivedAt)
            else {
                throw Problem.signatureRefused.saying(
                    "Check the endpoint's signing secret (`pay.stripe_webhook_secret`) and the clocks of both sides.")
            }
            guard let event = try await LongBodies.work(onBytes: body.count, of: exchange, { StripeEvent(body) }) else { return .empty() }
            if let word = event.word {
                try await jobs.receive(StripeProvider.name, event.reference, word)
            } else {
                try await jobs.hinted(StripeProvider.name, event.reference)
            }
            return .empty()
        }
    }

    /// Not believed, only a hint: what it names is asked for at PayPal.
    private var payPalEvents: Route {
        Route(
            .post, "/thirdparty/v1/providers/paypal/events", as: "takePayPalEvent", access: .anyone,
            summary: "Takes a notification of PayPal",
            description: "Only a hint: the state of the order that it names is asked for at PayPal.",
            body: BodyShape(
                [.init(MediaType.json, .anything, examples: [Examples.payPalEvent])], limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [Answer(204, "Taken")]
        ) { exchange in
            let body = Array(try await exchange.body().readableBytesView)
            let event = try await LongBodies.work(onBytes: body.count, of: exchange) { (try? JSONTree(body)) ?? .null }
            for name in PayPalTypes.references(event) { try await jobs.hinted(PayPalProvider.name, name) }
            return .empty()
        }
    }

    /// Where the payer's browser comes back to, which has no token of the organisation's.
    static let payPalReturn = "/thirdparty/v1/providers/paypal/return"
    /// Tells the two ways back apart.
    static let cancelled = "cancelled"

    /// Nothing of a payment is shown here: anybody may open it.
    private var payPalBack: Route {
        Route(
            .get, Self.payPalReturn, as: "returnFromPayPal", access: .anyone, summary: "Where a payer comes back to from PayPal",
            description: "A page for the payer's browser, in Italian or English. The order that it names is asked for at PayPal.",
            parameters: [
                .query("token", .string(length: 1...64), "PayPal's name of the order."),
                .query("PayerID", .string(length: 1...64), "Not looked at."),
                .query(Self.cancelled, .oneOf(["1"]), "The payer has not agreed."),
            ],
            answers: [.page(200, "The payer may close it")]
        ) { exchange in
            if let order = try exchange.query("token"), order.utf8.count <= 64 { try await jobs.hinted(PayPalProvider.name, order) }
            return Self.back(hasAgreed: try exchange.query(Self.cancelled) == nil, exchange.language)
        }
    }

    private static func back(hasAgreed: Bool, _ language: Language) -> HTTPAnswer {
        let isItalian = language == .italian
        let title =
            switch (hasAgreed, isItalian) {
            case (true, false): "Back from PayPal"
            case (true, true): "Ritorno da PayPal"
            case (false, false): "Nothing was paid"
            case (false, true): "Non è stato pagato nulla"
            }
        let text =
            switch (hasAgreed, isItalian) {
            case (true, false):
                "You have agreed at PayPal. The payment is settled in a moment; your program shows it. You can close this page."
            case (true, true):
                """
                Ha dato il consenso su PayPal. Il pagamento si conclude tra un momento e il Suo programma lo mostra. Può chiudere \
                questa pagina.
                """
            case (false, false):
                "You have not agreed at PayPal. The amount stays due; try again from your program, or choose another method."
            case (false, true):
                "Non ha dato il consenso su PayPal. L'importo resta dovuto; riprovi dal Suo programma o scelga un altro metodo."
            }
        return .page(title: title, notice: text, language: language)
    }
}
