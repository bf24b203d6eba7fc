// The doors of webhooks: addresses, their verification, secrets and dead letters, and the keys that messages are signed with.

import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import NIOCore
import Sealing
import ServiceKit

struct EndpointRoutes: Sendable {
    let service: EndpointService
    let publicKey: VerifyingKey
    let admit: Admit
    /// For what outlives the session: a member proves once more who they are.
    let admitAnew: Admit

    var all: [Route] { [list, register, find, remove, verify, rotate, deadLetters, resend, keys] }

    private static let endpoint = Parameter.path("endpoint", .identifier(WebhookEndpoint.self), "The endpoint's id.")
    private static let absent = Answer.problem(404, "not-found")

    private var list: Route {
        Route(
            .get, "/thirdparty/v1/endpoints", access: .organisation, scopes: [Right.subscriptionsManage.rawValue],
            summary: "All endpoints and how they are doing",
            description: "Needs `subscriptions:manage`.",
            answers: [
                .json(200, "All at once; `next` is null", Page<EndpointItem>.self, example: Examples.page(Examples.listedEndpoint)),
                .noAdmission,
            ]
        ) { exchange in
            let standing = try await admit(exchange, .subscriptionsManage)
            return try .json(Page(items: try await service.all(of: standing.id).map { EndpointItem($0) }, next: nil))
        }
    }

    private var register: Route {
        Route(
            .post, "/thirdparty/v1/endpoints", access: .organisation, scopes: [Right.subscriptionsManage.rawValue],
            summary: "Registers an address for webhooks",
            description: """
                It gets everything new of all subscriptions once it is verified. Messages follow Standard Webhooks: `v1` signatures by the \
                `secret` of this answer, `v1a` by the key at `/thirdparty/v1/webhook-keys`. Only https addresses on the public Internet; \
                redirects are not followed. Answer 2xx within 10 s; everything else is tried again with growing pauses for 72 h; 410 ends \
                it. A message may come twice, always under the same `webhook-id`, and items carry numbers. A member's last proof must be less \
                than five minutes old. Needs `subscriptions:manage`.
                """,
            body: .json(EndpointBody.self, examples: [["url": "https://example.org/trackme", "description": "production"]]),
            answers: [
                .json(201, "Registered; the secret is shown this once", EndpointItem.self, example: Examples.endpoint), .mayAskForProof,
                .noAdmission,
                .problem(409, Problem.tooManyEndpoints.name), .problem(422, Problem.invalidEndpoint.name),
            ], takesIdempotencyKey: true
        ) { exchange in
            let standing = try await admitAnew(exchange, .subscriptionsManage)
            let bytes = Array(try await exchange.body().readableBytesView)
            let body: EndpointBody = try await exchange.json(in: Data(bytes))
            let request = try RepeatableRequest(exchange, bytes, "register-endpoint")
            let (item, isRepeated) = try await service.register(
                body.url, description: body.description ?? "", for: standing.id, request)
            let answer = try HTTPAnswer.json(item, status: 201)
            return isRepeated ? answer.with(.idempotencyReplayed, "true") : answer
        }
    }

    private var find: Route {
        Route(
            .get, "/thirdparty/v1/endpoints/{endpoint}", access: .organisation, scopes: [Right.subscriptionsManage.rawValue],
            summary: "One endpoint and how it is doing",
            description: "Needs `subscriptions:manage`.", parameters: [Self.endpoint],
            answers: [.json(200, "The endpoint", EndpointItem.self, example: Examples.listedEndpoint), .noAdmission, Self.absent]
        ) { exchange in
            try .json(EndpointItem(try await view(exchange)))
        }
    }

    private var remove: Route {
        Route(
            .delete, "/thirdparty/v1/endpoints/{endpoint}", access: .organisation, scopes: [Right.subscriptionsManage.rawValue],
            summary: "Removes an endpoint",
            description: "What waits for it and its dead letters go with it. Needs `subscriptions:manage`.", parameters: [Self.endpoint],
            answers: [Answer(204, "Removed"), .noAdmission, Self.absent]
        ) { exchange in
            try await service.remove(try await view(exchange).endpoint.id)
            return .empty()
        }
    }

    private var verify: Route {
        Route(
            .post, "/thirdparty/v1/endpoints/{endpoint}/verification", as: "verifyEndpoint", access: .organisation,
            scopes: [Right.subscriptionsManage.rawValue], summary: "Verifies an endpoint",
            description: """
                Sends a signed `endpoint.verification` whose `data.challenge` must come back in the answer, as text or as \
                `{"challenge":"…"}`, with a 2xx status. Then the endpoint is active; one that was paused or gone goes on where it stopped. \
                Needs `subscriptions:manage`.
                """, parameters: [Self.endpoint],
            answers: [
                .json(200, "Active", EndpointItem.self, example: Examples.listedEndpoint), .noAdmission, Self.absent,
                .problem(422, Problem.endpointNotVerified.name, Problem.invalidEndpoint.name),
                .problem(429, "too-many-requests"),
            ]
        ) { exchange in
            try .json(EndpointItem(try await service.verify(try await view(exchange))))
        }
    }

    private var rotate: Route {
        Route(
            .post, "/thirdparty/v1/endpoints/{endpoint}/secret", as: "replaceEndpointSecret", access: .organisation,
            scopes: [Right.subscriptionsManage.rawValue], summary: "Replaces an endpoint's secret",
            description: "Messages carry both signatures for a day. A member's last proof must be less than five minutes old. Needs "
                + "`subscriptions:manage`.",
            parameters: [Self.endpoint],
            answers: [
                .json(200, "The new secret, shown this once", EndpointSecretItem.self, example: Examples.endpointSecret), .mayAskForProof,
                .noAdmission, Self.absent,
            ]
        ) { exchange in
            try .json(EndpointSecretItem(secret: try await service.rotate(try await view(exchange, by: admitAnew).endpoint.id)))
        }
    }

    private var deadLetters: Route {
        Route(
            .get, "/thirdparty/v1/endpoints/{endpoint}/dead-letters", as: "listDeadLetters", access: .organisation,
            scopes: [Right.subscriptionsManage.rawValue], summary: "Messages that were given up",
            description: "Oldest first. Needs `subscriptions:manage`.", parameters: [Self.endpoint, .limit, .after],
            answers: [
                .json(200, "A page", Page<DeadLetterItem>.self, example: Examples.page(Examples.deadLetter)), .noAdmission, Self.absent,
            ]
        ) { exchange in
            let view = try await view(exchange)
            let (letters, feeds, next) = try await service.deadLetters(
                of: view.endpoint.id, after: try exchange.cursor { Int64($0) } ?? 0, limit: try exchange.pageLimit)
            return try .json(Page(items: letters.map { DeadLetterItem($0, feeds: feeds) }, next: next.map(String.init)))
        }
    }

    private var resend: Route {
        Route(
            .post, "/thirdparty/v1/endpoints/{endpoint}/dead-letters/{message}/resend", as: "resendDeadLetter", access: .organisation,
            scopes: [Right.subscriptionsManage.rawValue],
            summary: "Sends a dead letter again",
            description:
                "Under the same `webhook-id`, with the whole time for repetitions ahead. What was withdrawn meanwhile is left out. Needs "
                + "`subscriptions:manage`.",
            parameters: [Self.endpoint, .path("message", .identifier(Message.self), "The dead letter's id.")],
            answers: [
                Answer(202, "On its way"), .noAdmission, Self.absent, .problem(409, Problem.endpointNotActive.name),
            ]
        ) { exchange in
            let view = try await view(exchange)
            guard try await service.resend(exchange.identifier("message"), of: view.endpoint) else { throw Problem.absent }
            return .empty(status: 202)
        }
    }

    private var keys: Route {
        Route(
            .get, "/thirdparty/v1/webhook-keys", access: .anyone, summary: "The keys that webhooks are signed with",
            answers: [
                .json(
                    200, "Public keys", PublishedKeys.schema(named: "WebhookKeys"), of: PublishedKeys.self, example: Examples.webhookKeys)
            ]
        ) { _ in
            try .json(PublishedKeys(publicKey))
        }
    }

    private func view(_ exchange: Exchange) async throws -> EndpointService.View { try await view(exchange, by: admit) }

    private func view(_ exchange: Exchange, by admit: Admit) async throws -> EndpointService.View {
        let standing = try await admit(exchange, .subscriptionsManage)
        guard let view = try await service.find(exchange.identifier("endpoint"), of: standing.id) else { throw Problem.absent }
        return view
    }
}
