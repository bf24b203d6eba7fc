// Endpoints, their health and their dead letters as they stand in JSON.

import Contracts
import HTTPKit

struct EndpointBody: Codable, Sendable, Documented {
    var url: String
    var description: String?

    static var schema: JSONSchema {
        .object(
            .required("url", .string(length: 1...WebhookAddress.longest), "Begins with https:// and is reachable from the Internet."),
            .optional("description", .string(length: 0...200), "For yourselves.")
        ).named("EndpointBody")
    }
}

struct EndpointItem: Codable, Sendable, Documented {
    struct Health: Codable, Sendable {
        var lastSuccessAt: String?
        var lastFailureAt: String?
        var failingSince: String?
        var failuresInARow: Int
        var lastOutcome: String?
        var waiting: Int
        var deadLetters: Int
    }

    var id: String
    var url: String
    var description: String
    var state: String
    var createdAt: String
    var health: Health
    var secret: String?

    init(_ view: EndpointService.View, secret: String? = nil) {
        let (endpoint, health) = (view.endpoint, view.endpoint.health)
        (id, url, description) = (endpoint.id.description, endpoint.details.url, endpoint.details.description)
        (state, createdAt, self.secret) = (endpoint.state.rawValue, endpoint.createdAt.rfc3339, secret)
        self.health = Health(
            lastSuccessAt: health.lastSuccessAt?.rfc3339, lastFailureAt: health.lastFailureAt?.rfc3339,
            failingSince: health.failingSince?.rfc3339, failuresInARow: health.failuresInARow, lastOutcome: health.lastOutcome,
            waiting: view.waiting, deadLetters: view.dead)
    }

    static var schema: JSONSchema {
        .object(
            .required("id", .identifier(WebhookEndpoint.self)), .required("url", .string()), .required("description", .string()),
            .required(
                "state", .oneOf(EndpointState.allCases.map(\.rawValue)),
                "`unverified`: gets nothing yet. `paused`: failed for too long. `gone`: answered 410."), .required("createdAt", .time),
            .required("health", health),
            .optional("secret", .string(pattern: "^whsec_"), "Verifies `v1` signatures; shown only when it is made.")
        ).named("Endpoint")
    }

    private static let health = JSONSchema.object(
        .optional("lastSuccessAt", .time), .optional("lastFailureAt", .time),
        .optional("failingSince", .time, "Of the failures in a row, the first; absent while it is well."),
        .required("failuresInARow", .integer(in: 0...Int.max)),
        .optional("lastOutcome", .string(), "`status 200`, or a word for why nothing came back."),
        .required("waiting", .integer(in: 0...Int.max), "Messages that are on their way."),
        .required("deadLetters", .integer(in: 0...Int.max), "Messages that were given up.")
    ).named("EndpointHealth")
}

struct EndpointSecretItem: Codable, Sendable, Documented {
    var secret: String

    static var schema: JSONSchema {
        .object(.required("secret", .string(pattern: "^whsec_"), "Signs from now on; the one before signs beside it for a day.")).named(
            "Secret")
    }
}

struct DeadLetterItem: Codable, Sendable, Documented {
    struct Part: Codable, Sendable {
        var subscription: String
        var after: Int64
        var through: Int64
    }

    var id: String
    var type: String
    var createdAt: String
    var attempts: Int
    var firstAttemptAt: String?
    var lastAttemptAt: String?
    var lastOutcome: String?
    var parts: [Part]

    init(_ message: WebhookMessage, feeds: [Int64: RequestID]) {
        (id, createdAt, attempts) = (message.id.description, message.createdAt.rfc3339, message.attempts)
        (firstAttemptAt, lastAttemptAt) = (message.firstAttemptAt?.rfc3339, message.lastAttemptAt?.rfc3339)
        lastOutcome = message.lastOutcome
        switch message.content {
        case .notice(let notice):
            type = notice.type.rawValue
            parts = [Part(subscription: notice.subscription.description, after: notice.head, through: notice.head)]
        case .window(let window):
            (type, parts) = (window.type.rawValue, [])
        case .items(let kept):
            type = WebhookEvent.items.rawValue
            parts = kept.compactMap { part in
                feeds[part.feed].map { Part(subscription: $0.description, after: part.after, through: part.through) }
            }
        case .unreadable:
            (type, parts) = ("unreadable", [])
        }
    }

    static var schema: JSONSchema {
        .object(
            .required("id", .identifier(Message.self), "Its `webhook-id`."),
            .required("type", .string(), "`unreadable`: it is damaged here; fetch by REST what is missing."), .required("createdAt", .time),
            .required("attempts", .integer(in: 0...Int.max)), .optional("firstAttemptAt", .time), .optional("lastAttemptAt", .time),
            .optional("lastOutcome", .string()),
            .required(
                "parts",
                .array(
                    of: .object(
                        .required("subscription", .identifier(DataRequest.self)), .required("after", .integer(in: 0...Int.max)),
                        .required("through", .integer(in: 0...Int.max)))),
                "Which items it carries; those can be fetched by REST as well. None for windows of groups, which are listed.")
        ).named("DeadLetter")
    }
}
