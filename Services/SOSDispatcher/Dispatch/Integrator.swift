// The conversation with the emergency service: one signed message out, perhaps a signed acknowledgement back.

import Contracts
import Logging
import Outbound
import Sealing
import ServiceKit

/// What came of one attempt.
enum Delivery: Hashable, Sendable {
    /// The integrator's own, proved word about this message; it may be a rejection.
    case answered(Acknowledgement)
    /// A 2xx without a word about the message: transport did its part, nothing more.
    case delivered(status: Int)
    /// There was an acknowledgement that nobody has to believe, and why.
    case ignored(status: Int, why: String)
    case failed(String)

    /// For labels and the timeline; holds nothing that the other side wrote.
    var outcome: String {
        switch self {
        case .answered(let acknowledgement): acknowledgement.result.rawValue
        case .delivered: "delivered"
        case .ignored: "ignored"
        case .failed: "failed"
        }
    }

    var detail: String {
        switch self {
        case .answered(let acknowledgement): acknowledgement.result.rawValue
        case .delivered(let status): "delivered with status \(status), not acknowledged"
        case .ignored(let status, let why): "status \(status), acknowledgement ignored: \(why)"
        case .failed(let why): "failed: \(why)"
        }
    }
}

/// One emergency service that takes messages by webhook (Standard Webhooks, `v1` and `v1a`).
struct Integrator: Sendable {
    let name: String
    /// nil: nothing is configured, and every attempt fails until it is.
    let url: String?
    /// What is signed with: the secret of this endpoint, and the suite's own key.
    let secret: WebhookSecret
    let signingKey: SigningKey
    /// What the integrator's answers may be signed with besides the secret.
    let answerKeys: [VerifyingKey]
    let sender: HTTPSender

    /// Sends the stored bytes once; returns within `DispatchOutbox.answerDeadline`.
    func deliver(_ message: OutboxMessage) async -> Delivery {
        guard let url else { return .failed("no emergency service is configured (sos.webhook_url)") }
        do {
            let signature = try WebhookSignature.sign(
                id: message.id.description, at: .now, body: message.body, secrets: [secret], keys: [signingKey])
            var request = OutboundRequest.post(url, message.body, contentType: DispatchMessage.contentType)
            request.headers += [
                (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
                (WebhookSignature.signatureHeader, signature.signatures),
            ]
            request.timeout = DispatchOutbox.answerDeadline
            request.connectTimeout = DispatchOutbox.connectDeadline
            return judge(try await sender.send(request), of: message.id)
        } catch {
            return .failed("\(error)")
        }
    }

    private func judge(_ response: OutboundResponse, of id: MessageID) -> Delivery {
        guard let acknowledgement = AcknowledgementBody.read(response.body) else {
            return response.isSuccess ? .delivered(status: response.status) : .failed("status \(response.status)")
        }
        guard let ackID = response.header(WebhookSignature.idHeader), let timestamp = response.header(WebhookSignature.timestampHeader),
            let signatures = response.header(WebhookSignature.signatureHeader)
        else { return .ignored(status: response.status, why: "not signed") }
        guard ackID == acknowledgement.ackId else { return .ignored(status: response.status, why: "signed under another id") }
        guard acknowledgement.messageId == id.description else { return .ignored(status: response.status, why: "about another message") }
        do {
            try WebhookSignature(id: ackID, timestamp: timestamp, signatures: signatures)
                .verify(body: response.body, secrets: [secret], keys: answerKeys, now: .now)
            return .answered(acknowledgement)
        } catch {
            return .ignored(status: response.status, why: "\(error)")
        }
    }
}
