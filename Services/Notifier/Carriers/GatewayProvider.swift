// SMS and calls by any provider that takes signed JSON: for one that has an interface of its own, a few lines of glue.

import Contracts
import Foundation
import Outbound
import Sealing
import ServiceKit

/// What is posted; Standard Webhooks, `webhook-id` is the message's id on every attempt.
struct GatewayBody: Codable, Sendable {
    var id: String
    /// `sms` or `call`; a call reads the text aloud.
    var channel: String
    var to: String
    var text: String
    var language: String
    /// Not to be delivered later than this.
    var notAfter: String
    /// Where receipts are posted to, signed with the same secret.
    var receipts: String
}

struct GatewayProvider: TextProvider {
    static let name = "gateway"

    let url: String
    let secret: WebhookSecret
    let receipts: ReceiptAddresses
    let http: HTTPSender

    var name: String { GatewayProvider.name }

    func send(_ letter: Letter, as channel: Channel) async -> Delivery.Outcome {
        let body = GatewayBody(
            id: "\(letter.message)", channel: channel.rawValue, to: letter.address,
            text: channel == .call ? letter.text.spoken : letter.text.short, language: letter.language.rawValue,
            notAfter: letter.notAfter.rfc3339, receipts: receipts.gateway)
        guard let json = try? JSONEncoder().encode(body) else { return .refused("unreadable") }
        // One message may go out as SMS and as a call: each is a request of its own to the provider.
        let id = "\(letter.message).\(channel.rawValue)"
        guard let signature = try? WebhookSignature.sign(id: id, at: .now, body: json, secrets: [secret]) else {
            return .refused("unreadable")
        }
        var request = OutboundRequest.post(url, Array(json), contentType: "application/json")
        request.headers += [
            (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
            (WebhookSignature.signatureHeader, signature.signatures),
        ]
        return await http.attempt(request).outcome(taken: .taken(receipts: true)) { _ in "number-refused" }
    }
}
