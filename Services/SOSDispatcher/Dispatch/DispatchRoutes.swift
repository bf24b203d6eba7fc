// The door for emergency services: acknowledgements in, keys and timelines out.

import Contracts
import Foundation
import HTTPKit
import NIOCore
import Sealing
import ServiceKit

struct DispatchRoutes: Sendable {
    /// An acknowledgement is small.
    static let bodyLimit = 16 << 10

    let dispatcher: Dispatcher
    let history: EmergencyHistory
    let registry: IntegratorRegistry
    let publicKey: VerifyingKey

    var all: [Route] { [acknowledge, keys, timeline, latest] }

    /// Whose token was shown.
    private func integrator(_ exchange: Exchange) throws -> Integrator {
        guard case .integrator(let id, _) = exchange.caller, let integrator = registry.integrator(id) else { throw Problem.unauthorised }
        return integrator
    }

    private var acknowledge: Route {
        Route(
            .post, "/sos/v1/dispatches/{messageId}/acknowledgements", as: "acknowledgeDispatch", access: .integrator,
            summary: "Acknowledge a message",
            description: "The business acknowledgement: `accepted` and `duplicate` end the repetition, `rejected` passes the call "
                + "on. A CAP 1.2 `Ack` or `Error` counts as much. The same acknowledgement may be sent again.",
            parameters: [.path("messageId", .string(length: 1...64), "As in the message.")],
            body: BodyShape(
                [
                    .init(MediaType.json, AcknowledgementBody.schema, of: AcknowledgementBody.self),
                    .init(CAPDocument.contentType, .string()),
                ],
                limit: DispatchRoutes.bodyLimit, inflatedLimit: DispatchRoutes.bodyLimit),
            answers: [.json(200, "Stored", AcknowledgementReceipt.self), .problem(422, "malformed-acknowledgement")], usesReserve: true
        ) { exchange in
            let message = exchange.path("messageId")
            let integrator = try integrator(exchange)
            let body = Array(try await exchange.body().readableBytesView)
            guard let acknowledgement = AcknowledgementBody.read(body) ?? CAPDocument.acknowledgement(body),
                acknowledgement.messageId == message
            else { throw await refusal(of: body, about: message, exchange) }
            switch try await dispatcher.receive(acknowledgement, from: integrator, form: "call-back") {
            case .unknownMessage: throw Problem.notFound
            case .taken:
                return try .json(AcknowledgementReceipt(messageId: message, result: acknowledgement.result.rawValue))
            }
        }
    }

    /// Names every field that keeps the acknowledgement from being taken: of JSON by pointers, of CAP by the names of elements.
    private func refusal(of body: [UInt8], about message: String, _ exchange: Exchange) async -> Problem {
        var problem = Problem.malformedAcknowledgement
        if let given = AcknowledgementBody.readAny(body) {
            problem.errors = errors(in: given, about: message) { "/ack/\($0)" }
        } else if let given = CAPDocument.anyAcknowledgement(body) {
            let elements = ["ackId": "identifier", "messageId": "references"]
            problem.errors = errors(in: given, about: message) { "/alert/\(elements[$0] ?? $0)" }
        } else {
            do {
                _ = try await exchange.json(AcknowledgementBody.self, in: Data(body))
            } catch {
                problem.errors = (error as? Problem)?.errors
            }
        }
        return problem
    }

    private func errors(
        in given: Acknowledgement, about message: String, _ pointer: (String) -> String
    ) -> [Problem.FieldError] {
        var faults = given.faults
        if given.messageId != message {
            faults.append(("messageId", .otherMessage))
        }
        return faults.map { Problem.FieldError(pointer: pointer($0.field), $0.fault) }
    }

    private var keys: Route {
        Route(
            .get, "/sos/v1/keys", access: .anyone, summary: "The keys that messages are signed with",
            answers: [.json(200, "Public keys", PublishedKeys.schema(named: "PublicKeys"), of: PublishedKeys.self)]
        ) { _ in
            try .json(PublishedKeys(publicKey))
        }
    }

    private var timeline: Route {
        Route(
            .get, "/sos/v1/emergencies/{id}/timeline", access: .integrator, summary: "What happened in an emergency, in order",
            parameters: [.path("id", .identifier(Emergency.self), "The emergency's id, as in its messages.")],
            answers: [.json(200, "All steps at once; `next` is null", Page<TimelineStep>.self)]
        ) { exchange in
            let id = try exchange.identifier("id", of: Emergency.self)
            guard let record = try await history.one(id), record.dispatchedAt != nil,
                try await dispatcher.file(of: id, for: integrator(exchange).id) != nil
            else { throw Problem.notFound }
            let steps = try await history.steps(of: id)
            return try .json(
                Page(items: steps.map { TimelineStep(at: $0.at.rfc3339, actor: $0.actor, event: $0.event, detail: $0.detail) }, next: nil))
        }
    }
}

extension DispatchRoutes {
    private enum Form: String, CaseIterable {
        case json
        case cap
    }

    private var latest: Route {
        Route(
            .get, "/sos/v1/emergencies/{id}/dispatch", access: .integrator, summary: "The latest message of an emergency, in either form",
            parameters: [
                .path("id", .identifier(Emergency.self), "The emergency's id, as in its messages."),
                .query("format", .oneOf(Form.allCases.map(\.rawValue)), "`json` unless told; `cap` for CAP 1.2."),
            ],
            answers: [
                Answer(
                    200, "The message as it is sent",
                    contents: [.init(DispatchMessage.contentType, .object()), .init(CAPDocument.contentType, .string())])
            ]
        ) { exchange in
            let integrator = try integrator(exchange)
            let id = try exchange.identifier("id", of: Emergency.self)
            let format = try exchange.queryChoice("format", of: Form.self) ?? .json
            guard let file = try await dispatcher.file(of: id, for: integrator.id), let message = file.lines[integrator.id]?.messages.last
            else { throw Problem.notFound }
            switch format {
            case .json: return .bytes(message.body, contentType: DispatchMessage.contentType)
            case .cap:
                let document = try CAPDocument.render(message, earlier: file.earlier(than: message.id), to: integrator.name)
                return .bytes(document, contentType: CAPDocument.contentType)
            }
        }
    }
}

extension Problem {
    /// The service's own refusals over HTTP.
    static let malformedAcknowledgement = Problem(
        "malformed-acknowledgement", status: 422, title: "The acknowledgement cannot be understood",
        italianTitle: "La conferma non si può comprendere",
        detail: "Send {\"ack\":{\"messageId\",\"result\",\"ackId\"}} about the message in the path.")
}
