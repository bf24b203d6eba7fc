// The probe that receives the canary's calls: answers them as an emergency service would, and nobody else's.

import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import NIOCore
import Sealing
import ServiceKit

struct CanaryRoutes: Sendable {
    static let path = "/sos/v1/canary"

    /// Made anew at each start: nobody but this process knows it.
    let secret: WebhookSecret

    var all: [Route] { [hear] }

    private var hear: Route {
        Route(
            .post, CanaryRoutes.path, as: "reportCanary", access: .anyone, summary: "The dispatcher's own test emergencies",
            description: "Acknowledges what this process has signed with a key of its own; anything else is not found here.",
            body: BodyShape([.init(DispatchMessage.contentType, .anything)], limit: 64 << 10, inflatedLimit: 64 << 10),
            answers: [Answer(200, "An acknowledgement"), .problem(404, "not-found")]
        ) { exchange in
            let body = Array(try await exchange.body().readableBytesView)
            let signature = exchange.webhookSignature
            do {
                try signature.verify(body: body, secrets: [secret], now: .now)
            } catch {
                throw Problem.notFound
            }
            return try acknowledgement(of: signature.id)
        }
    }

    private func acknowledgement(of message: String) throws -> HTTPAnswer {
        let acknowledgement = Acknowledgement(messageId: message, result: .accepted, ackId: "canary", reason: nil)
        let body = Array(try JSONEncoder().encode(AcknowledgementBody(ack: acknowledgement)))
        let signature = try WebhookSignature.sign(id: acknowledgement.ackId, at: .now, body: body, secrets: [secret])
        let headers = [
            (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
            (WebhookSignature.signatureHeader, signature.signatures),
        ]
        return try headers.reduce(HTTPAnswer.bytes(body, contentType: MediaType.json)) { answer, header in
            guard let name = HTTPField.Name(header.0) else { throw Problem.internal }
            return answer.with(name, header.1)
        }
    }
}
