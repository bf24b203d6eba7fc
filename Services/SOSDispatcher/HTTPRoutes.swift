// The door for emergency services: acknowledgements in, keys and timelines out.

import Contracts
import HTTPKit
import NIOCore
import Sealing

struct HTTPRoutes: Sendable {
    /// An acknowledgement is small.
    static let bodyLimit = 16 << 10

    let dispatcher: Dispatcher
    let store: SOSStore
    let publicKey: VerifyingKey
    let panel: Panel

    var all: [Route] {
        [acknowledge, keys, timeline]
            + SubscriptionRoutes(panel: panel).all + ThresholdRoutes(panel: panel).all + ContactRoutes(panel: panel).all
            + OwnEmergencyRoutes(panel: panel).all
    }

    private var acknowledge: Route {
        Route(
            .post, "/sos/v1/dispatches/{messageId}/acknowledgements", access: .integrator, summary: "Acknowledge a message",
            description: "The business acknowledgement: `accepted` and `duplicate` end the repetition, `rejected` is recorded. "
                + "The same acknowledgement may be sent again.",
            parameters: [.path("messageId", .string(length: 1...64), "As in the message.")],
            body: .json(AcknowledgementBody.schema, limit: HTTPRoutes.bodyLimit, inflatedLimit: HTTPRoutes.bodyLimit),
            answers: [.json(200, "Stored", AcknowledgementReceipt.schema), .problem(422, "malformed-acknowledgement")]
        ) { exchange in
            let message = exchange.path("messageId")
            let body = try await exchange.body()
            guard let acknowledgement = AcknowledgementBody.read(Array(body.readableBytesView)), acknowledgement.messageId == message else {
                throw Problem.malformedAcknowledgement
            }
            switch try await dispatcher.receive(acknowledgement) {
            case .unknownMessage: throw Problem.notFound
            case .taken:
                return try .json(AcknowledgementReceipt(messageId: message, result: acknowledgement.result.rawValue))
            }
        }
    }

    private var keys: Route {
        Route(
            .get, "/sos/v1/keys", access: .anyone, summary: "The keys that messages are signed with",
            answers: [.json(200, "Public keys", PublicKeys.schema)]
        ) { _ in
            let key = PublicKeys.Key(webhook: publicKey.webhookText, jwk: .init(x: Base64URL.encode(publicKey.bytes)))
            return try .json(PublicKeys(keys: [key]))
        }
    }

    private var timeline: Route {
        Route(
            .get, "/sos/v1/emergencies/{id}/timeline", access: .integrator, summary: "What happened in an emergency, in order",
            parameters: [.path("id", .identifier(Emergency.self), "The emergency's id, as in its messages.")],
            answers: [.json(200, "All steps at once; `next` is null", Page<TimelineStep>.schema)]
        ) { exchange in
            let id = try exchange.identifier("id", of: Emergency.self)
            guard let record = try await store.emergency(id), record.dispatchedAt != nil else { throw Problem.notFound }
            let steps = try await Timeline(store: store).steps(of: id)
            return try .json(
                Page(items: steps.map { TimelineStep(at: $0.at.rfc3339, actor: $0.actor, event: $0.event, detail: $0.detail) }, next: nil))
        }
    }
}

extension Problem {
    /// The service's own refusals over HTTP.
    static let malformedAcknowledgement = Problem(
        "malformed-acknowledgement", status: 422, title: "The acknowledgement cannot be understood",
        detail: "Send {\"ack\":{\"messageId\",\"result\",\"ackId\"}} about the message in the path; a rejection needs a reason.")
}
