// The doors for payment handlers: what they tell by themselves. A repeated notification has no effect (PAY-09).

import Contracts
import Foundation
import HTTPKit
import NIOCore

struct ProviderRoutes: Sendable {
    /// A notification is a few kilobytes.
    static let bodyLimit = 256 << 10

    let errands: ErrandDesk
    /// Nil: no secret is set, so that nothing can be believed.
    let stripe: StripeSignature?

    var all: [Route] { [stripeEvents, payPalEvents] }

    private var stripeEvents: Route {
        Route(
            .post, "/thirdparty/v1/providers/stripe/events", access: .anyone, summary: "Takes a notification of Stripe",
            description: "Signed with the endpoint's secret; one that is older than five minutes is refused.",
            parameters: [.header(StripeSignature.header, .string(length: 1...1000), required: true, "`t=…,v1=…`.")],
            body: BodyShape(
                [.init(MediaType.json, .anything, examples: [Examples.stripeEvent])], limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [Answer(204, "Taken"), .problem(400, GatewayProblem.signatureRefused.rawValue)]
        ) { exchange in
            let body = Array(try await exchange.body().readableBytesView)
            guard let stripe, let header = exchange.header(StripeSignature.header),
                stripe.verifies(header, body: body, at: exchange.receivedAt)
            else {
                throw GatewayProblem.signatureRefused.problem(
                    "Check the endpoint's signing secret (`pay.stripe_webhook_secret`) and the clocks of both sides.")
            }
            if let event = StripeEvent(body) {
                try await errands.told(StripeProvider.name, event.reference, event.word)
            }
            return .empty()
        }
    }

    /// Not believed, only a hint: what it names is asked for at PayPal.
    private var payPalEvents: Route {
        Route(
            .post, "/thirdparty/v1/providers/paypal/events", access: .anyone, summary: "Takes a notification of PayPal",
            description: "Only a hint: the state of the order that it names is asked for at PayPal.",
            body: BodyShape(
                [.init(MediaType.json, .anything, examples: [Examples.payPalEvent])], limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [Answer(204, "Taken")]
        ) { exchange in
            let body = Array(try await exchange.body().readableBytesView)
            let event = (try? JSONDecoder().decode(JSON.self, from: Data(body))) ?? .null
            let resource = event["resource"]
            let orders = [resource["id"].text, resource["supplementary_data"]["related_ids"]["order_id"].text].compactMap { $0 }
            for order in orders where order.utf8.count <= 64 { try await errands.hinted(PayPalProvider.name, order) }
            return .empty()
        }
    }
}
