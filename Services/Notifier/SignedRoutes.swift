// What the routes of the signed gateway have in common: how it is known.

import Contracts
import HTTPKit
import NIOCore
import Sealing
import ServiceKit

/// The signed gateway calling us, by Standard Webhooks.
struct SignedGateway: Sendable {
    static let description = "Standard Webhooks: signed as `v1` with the secret that its messages are signed with."

    /// Shared with it.
    let secret: WebhookSecret

    /// - Parameter thing: what it sends, for the documentation.
    static func parameters(of thing: String) -> [Parameter] {
        [
            .header(WebhookSignature.idHeader, .string(length: 1...256), "The gateway's own id of the \(thing)."),
            .header(WebhookSignature.timestampHeader, .string(length: 1...12), "Seconds since 1970, at most 5 minutes from now."),
            .header(WebhookSignature.signatureHeader, .string(length: 1...1000), "`v1,` and base64."),
        ]
    }

    /// The whole body.
    /// - Throws: `Problem.unauthorised` where it is not the gateway's, or not of now.
    func body(of exchange: Exchange) async throws -> [UInt8] {
        let body = Array(try await exchange.body().readableBytesView)
        guard (try? exchange.webhookSignature.verify(body: body, secrets: [secret], now: exchange.receivedAt)) != nil else {
            try exchange.countWrongCredentials()
            throw Problem.unauthorised
        }
        return body
    }
}
