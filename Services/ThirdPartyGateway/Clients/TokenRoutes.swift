// The token endpoint: OAuth 2 client credentials (RFC 6749 §4.4) and revocation (RFC 7009), in the spelling of those standards.

import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import Sealing

struct TokenRoutes: Sendable {
    /// Wrong or right, of one remote address: a flood must not reach the store.
    private static let perMinute = 600.0

    let service: ClientService
    private let limiter = RateLimiter<String>(rate: TokenRoutes.perMinute / 60, burst: TokenRoutes.perMinute)

    init(service: ClientService) {
        self.service = service
    }

    var all: [Route] { [token, revoke] }

    /// Where a client exchanges its secret for a token.
    static let path = "/thirdparty/v1/oauth/token"
    private static let authorization = Parameter.header(
        "Authorization", .string(), "`Basic` with `client_id` and `client_secret`, or both in the form instead.")
    private static let bodyLimit = 1 << 16
    private static let tokenForm = JSONSchema.object(
        .required("grant_type", .oneOf(["client_credentials"])), .optional("scope", .string(), "Space-separated; all that the client has."),
        .optional("client_id", .string()), .optional("client_secret", .string()))
    private static let revocationForm = JSONSchema.object(
        .required("token", .string()), .optional("token_type_hint", .string()), .optional("client_id", .string()),
        .optional("client_secret", .string()))
    private static let refusals: [Answer] = [
        Answer(400, "Refused as RFC 6749 §5.2 says", contents: [.init(MediaType.json, TokenRefusalBody.schema, of: TokenRefusalBody.self)]),
        Answer(401, "`invalid_client`", contents: [.init(MediaType.json, TokenRefusalBody.schema, of: TokenRefusalBody.self)]),
    ]

    private var token: Route {
        Route(
            .post, Self.path, as: "issueToken", access: .anyone, summary: "Gives an API client an access token",
            description: "RFC 6749 §4.4. The token is good for an hour; ask for another one then. `scope` narrows it.",
            parameters: [Self.authorization],
            body: BodyShape(
                [.init(MediaType.form, Self.tokenForm, examples: [Examples.tokenOrder])], limit: Self.bodyLimit,
                inflatedLimit: Self.bodyLimit, isChecked: true),
            answers: [
                .json(200, "The token", TokenBody.self, example: Examples.token), .problem(503, Problem.heldAfterRestore.name),
            ] + Self.refusals, isRateLimited: true
        ) { exchange in
            try limiter.admit(exchange.remoteAddress)
            return try await Self.answering(exchange) { fields in
                guard let grant = fields["grant_type"] else { throw TokenRefusal.invalidRequest }
                guard grant == "client_credentials" else { throw TokenRefusal.unsupportedGrantType }
                let (token, rights) = try await service.token(order(exchange, fields), at: exchange.receivedAt)
                return try .json(
                    TokenBody(access_token: token, expires_in: Int(ClientToken.life.components.seconds), scope: Right.written(rights)))
            }
        }
    }

    private var revoke: Route {
        Route(
            .post, "/thirdparty/v1/oauth/revoke", as: "revokeToken", access: .anyone, summary: "Withdraws an access token",
            description: "RFC 7009. A token that is not good any more is answered in the same way.", parameters: [Self.authorization],
            body: BodyShape(
                [.init(MediaType.form, Self.revocationForm, examples: [Examples.revocation])], limit: Self.bodyLimit,
                inflatedLimit: Self.bodyLimit, isChecked: true),
            answers: [Answer(200, "It is good no more")] + Self.refusals, isRateLimited: true
        ) { exchange in
            try limiter.admit(exchange.remoteAddress)
            return try await Self.answering(exchange) { fields in
                guard let token = fields["token"] else { throw TokenRefusal.invalidRequest }
                try await service.revoke(token, by: order(exchange, fields), at: exchange.receivedAt)
                return .empty(status: 200)
            }
        }
    }

    // MARK: Reading

    private static func answering(
        _ exchange: Exchange, _ work: (FormFields) async throws -> HTTPAnswer
    ) async throws -> HTTPAnswer {
        do {
            let fields: FormFields
            do {
                fields = try await exchange.form()
            } catch let problem as Problem where problem.status == 422 {
                throw TokenRefusal.invalidRequest
            }
            return try await work(fields)
        } catch let refusal as TokenRefusal {
            let isUnknown = refusal == .invalidClient
            if isUnknown { try exchange.countWrongCredentials() }
            let answer = try HTTPAnswer.json(
                TokenRefusalBody(error: refusal.rawValue, error_description: refusal.text), status: isUnknown ? 401 : 400)
            return isUnknown ? answer.with(.wwwAuthenticate, "Basic realm=\"thirdparty\"") : answer
        }
    }

    /// - Throws: `invalidRequest` where both ways are used, `invalidClient` where neither shows one.
    private func order(_ exchange: Exchange, _ fields: FormFields) throws(TokenRefusal) -> ClientService.TokenOrder {
        guard let (client, secret) = try Self.shown(exchange.header("Authorization"), fields) else {
            service.refused.note(.noClient, requestID: exchange.requestID)
            throw .invalidClient
        }
        return .init(client: client, secret: secret, scope: fields["scope"], requestID: exchange.requestID)
    }

    /// Nil where no client is shown in a way that can be read.
    private static func shown(
        _ authorization: String?, _ fields: FormFields
    ) throws(TokenRefusal) -> (client: String, secret: String)? {
        if let authorization {
            guard fields["client_secret"] == nil else { throw .invalidRequest }
            guard let (client, secret) = basic(authorization) else { return nil }
            guard fields["client_id"].map({ $0 == client }) ?? true else { throw .invalidRequest }
            return (client, secret)
        }
        guard let client = fields["client_id"], let secret = fields["client_secret"] else { return nil }
        return (client, secret)
    }

    /// RFC 7617, with both parts form-encoded as RFC 6749 §2.3.1 asks.
    private static func basic(_ header: String) -> (client: String, secret: String)? {
        let words = header.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic", words[1].utf8.count <= 1024, let bytes = Base64.decode(words[1]),
            let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":"),
            let client = String(text[..<colon]).removingPercentEncoding,
            let secret = String(text[text.index(after: colon)...]).removingPercentEncoding
        else { return nil }
        return (client, secret)
    }
}

/// RFC 6749 §5.1.
struct TokenBody: Codable, Sendable, Documented {
    var access_token: String
    var token_type = "Bearer"
    var expires_in: Int
    var scope: String

    static let schema = JSONSchema.object(
        .required("access_token", .string()), .required("token_type", .oneOf(["Bearer"])),
        .required("expires_in", .integer(in: 1...3600), "Seconds."), .required("scope", .string(), "What it opens, space-separated.")
    ).named("AccessToken")
}

/// RFC 6749 §5.2.
struct TokenRefusalBody: Codable, Sendable, Documented {
    var error: String
    var error_description: String

    static let schema = JSONSchema.object(
        .required("error", .oneOf(TokenRefusal.allCases.map(\.rawValue))), .required("error_description", .string())
    ).named("TokenRefusal")
}

extension TokenRefusal {
    /// What to do.
    var text: String {
        switch self {
        case .invalidRequest: "Send a form with grant_type, and show the client either by Basic or in the form."
        case .invalidClient: "The client or its secret is not known, or was withdrawn."
        case .unauthorizedClient: "The organisation is not active: confirm its registration, or ask the support."
        case .unsupportedGrantType: "Only client_credentials is supported."
        case .invalidScope: "The scope is unknown, empty, or more than the client has."
        }
    }
}
