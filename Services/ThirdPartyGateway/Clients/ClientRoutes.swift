// The doors by which an organisation manages its programs.

import Contracts
import HTTPKit
import ServiceKit

struct ClientRoutes: Sendable {
    let service: ClientService
    let door: OrganisationDoor

    var all: [Route] { [list, make, change, rotate, withdraw] }

    private static let path = "/thirdparty/v1/clients"
    private static let client = Parameter.path("client", .identifier(APIClient.self), "Of the list.")

    private var list: Route {
        Route(
            .get, Self.path, access: .organisation, scopes: [Right.organisationManage.rawValue], summary: "The organisation's programs",
            description: "Secrets are shown once, when they are made. Needs `organisation:manage`.", parameters: [.limit, .after],
            answers: [.json(200, "A page", Page<ClientItem>.self, example: Examples.page(Examples.listedClient)), .noAdmission]
        ) { exchange in
            let standing = try await door.admit(exchange, needing: .organisationManage)
            let (rows, next) = try await service.page(
                of: standing.id, after: try exchange.cursor { Int64($0) } ?? 0, limit: try exchange.pageLimit)
            return try .json(Page(items: rows.map { ClientItem($0) }, next: next.map(String.init)))
        }
    }

    private var make: Route {
        Route(
            .post, Self.path, access: .organisation, scopes: [Right.organisationManage.rawValue],
            summary: "Makes an API client and shows its secret once",
            description: """
                The program gets access tokens at `/thirdparty/v1/oauth/token` (OAuth 2 client credentials). It can be given only rights that \
                whoever makes it has. A member's last proof must be less than five minutes old. Needs `organisation:manage`.
                """,
            body: .json(ClientBody.self, examples: [["name": "nightly download", "scopes": ["requests:read", "data:read"]]]),
            answers: [
                .json(201, "Made", ClientItem.self, example: Examples.client), .mayAskForProof, .noAdmission, .beyondOwn,
                .problem(409, Problem.tooManyClients.name),
            ], takesIdempotencyKey: true
        ) { exchange in
            let standing = try await door.admitAnew(exchange, needing: .organisationManage)
            let key = try exchange.idempotencyKey
            let body: ClientBody = try await exchange.json()
            let request = RepeatableRequest(
                key: key, body: Array("\(body.name)|\(Right.written(Set(body.scopes)))".utf8),
                scope: IdempotencyRule.scope(exchange.caller, "make-client"))
            let (made, row, isRepeated) = try await service.make(
                label: body.name, rights: Set(body.scopes), by: standing, request: request, at: exchange.receivedAt)
            let answer = try HTTPAnswer.json(ClientItem(row, secret: made.secret), status: 201)
            return isRepeated ? answer.with(.idempotencyReplayed, "true") : answer
        }
    }

    private var change: Route {
        Route(
            .patch, Self.path + "/{client}", access: .organisation, scopes: [Right.organisationManage.rawValue],
            summary: "Gives an API client another name or other rights",
            description: """
                Tokens that were given for rights it has no more end. A member's last proof must be less than five minutes old. Needs \
                `organisation:manage`.
                """,
            parameters: [Self.client],
            body: .json(ClientChangeBody.self, examples: [["scopes": ["requests:read"]]]),
            answers: [
                .json(200, "Changed", ClientItem.self, example: Examples.listedClient), .mayAskForProof, .noAdmission, .beyondOwn,
                .problem(404, "not-found"),
            ]
        ) { exchange in
            let standing = try await door.admitAnew(exchange, needing: .organisationManage)
            let client = try exchange.identifier("client", of: APIClient.self)
            let body: ClientChangeBody = try await exchange.json()
            let row = try await service.change(
                client, label: body.name, rights: body.scopes.map(Set.init), by: standing, at: exchange.receivedAt)
            return try .json(ClientItem(row))
        }
    }

    private var rotate: Route {
        Route(
            .post, Self.path + "/{client}/secret", as: "replaceClientSecret", access: .organisation,
            scopes: [Right.organisationManage.rawValue], summary: "Makes a new secret and shows it once",
            description: """
                The old one is good for a while still, so that programs change over without a gap. A member's last proof must be less than \
                five minutes old. Needs `organisation:manage`.
                """,
            parameters: [Self.client],
            answers: [
                .json(200, "The new secret", ClientSecretItem.self, example: Examples.clientSecret), .mayAskForProof, .noAdmission,
                .beyondOwn, .problem(404, "not-found"),
            ]
        ) { exchange in
            let standing = try await door.admitAnew(exchange, needing: .organisationManage)
            let client = try exchange.identifier("client", of: APIClient.self)
            let (secret, until) = try await service.rotate(client, by: standing, at: exchange.receivedAt)
            return try .json(ClientSecretItem(client: client, secret: secret, oldSecretUntil: until.rfc3339))
        }
    }

    private var withdraw: Route {
        Route(
            .delete, Self.path + "/{client}", access: .organisation, scopes: [Right.organisationManage.rawValue],
            summary: "Withdraws an API client",
            description: "Its secrets and tokens are refused from now on. Needs `organisation:manage`.", parameters: [Self.client],
            answers: [Answer(204, "Withdrawn"), .noAdmission, .beyondOwn, .problem(404, "not-found")]
        ) { exchange in
            let standing = try await door.admit(exchange, needing: .organisationManage)
            try await service.withdraw(try exchange.identifier("client", of: APIClient.self), by: standing)
            return .empty()
        }
    }
}

struct ClientBody: Codable, Sendable, Documented {
    static let longestName = 100

    var name: String
    var scopes: [Right]

    static let scopes = JSONSchema.array(of: .oneOf(Right.allCases.map(\.rawValue)), count: 1...Right.allCases.count)
    static let schema = JSONSchema.object(
        .required("name", .string(length: 1...longestName), "For people."), .required("scopes", scopes, "What it may do.")
    ).named("ClientForm")
}

struct ClientChangeBody: Codable, Sendable, Documented {
    var name: String?
    var scopes: [Right]?

    static let schema = JSONSchema.object(
        .optional("name", .string(length: 1...ClientBody.longestName)), .optional("scopes", ClientBody.scopes)
    ).named("ClientChange")
}

struct ClientItem: Codable, Sendable, Documented {
    var client: ClientID
    var name: String
    var scopes: [Right]
    var createdAt: String
    var lastUsedAt: String?
    var oldSecretUntil: String?
    var secret: String?

    init(_ row: ClientRow, secret: String? = nil) {
        (client, name, createdAt) = (row.id, row.label, row.createdAt.rfc3339)
        scopes = Right.allCases.filter(row.rights.contains)
        (lastUsedAt, oldSecretUntil, self.secret) = (row.usedAt?.rfc3339, row.oldUntil?.rfc3339, secret)
    }

    static let schema = JSONSchema.object(
        .required("client", .identifier(APIClient.self), "The `client_id`."), .required("name", .string()),
        .required("scopes", ClientBody.scopes), .required("createdAt", .time),
        .optional("lastUsedAt", .time, "When it last got a token."),
        .optional("oldSecretUntil", .time, "Until then the secret before is good, too."),
        .optional("secret", .string(), "The `client_secret`; only in the answer that makes it.")
    ).named("Client")
}

struct ClientSecretItem: Codable, Sendable, Documented {
    var client: ClientID
    var secret: String
    var oldSecretUntil: String

    static let schema = JSONSchema.object(
        .required("client", .identifier(APIClient.self)), .required("secret", .string(), "Shown this once."),
        .required("oldSecretUntil", .time)
    ).named("ClientSecret")
}
