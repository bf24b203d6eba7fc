// A third party's program as these tests need one: calls the gateway, and asks again under the same key where no answer came.

import Contracts
import Foundation
import Outbound
import ServiceKit
import TestKit

@testable import Operator

extension HarnessAnswer {
    func text(_ name: String) -> String? { json[name] as? String }
    func list(_ name: String) -> [[String: Any]] { json[name] as? [[String: Any]] ?? [] }
}

/// What a third party did not expect.
struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ answer: HarnessAnswer) {
        description = "\(what): \(answer.status) \(answer.problem ?? "")"
    }

    init(_ what: String) {
        description = what
    }
}

/// One organisation's API client.
struct GatewayProgram: Sendable {
    let organisation: OrganisationID
    let token: String
    private let origin: String
    private let sender = HTTPSender.anywhere()

    private static let patience = Duration.seconds(60)
    private static let scopes = [
        "requests:read", "requests:write", "data:read", "payments:read", "payments:write", "subscriptions:manage",
    ]

    // MARK: Its account

    /// Registers an organisation, confirmed by the operator, with a client and its token.
    /// - Parameter mark: different for each.
    static func found(_ mark: UInt64, in suite: RealSuite) async throws -> GatewayProgram {
        let people = suite.peopleClient
        let firm = SandboxOrganisation(mark: mark)
        let conditions = try await people.call("GET", .gateway, "/thirdparty/v1/conditions").expecting(200, "reading the conditions")
        let made = try await people.call(
            "POST", .gateway, "/thirdparty/v1/organisations", body: firm.form(acceptedConditions: conditions.text("version") ?? "")
        ).expecting(201, "registering the organisation")
        guard let organisation = made.text("organisation").flatMap({ OrganisationID($0) }) else {
            throw UnexpectedAnswer("the registration names no organisation")
        }
        _ = try await suite.ask(JudgeOrganisation(organisation: organisation, judgement: .confirm))
        let member = try await SandboxSession(client: people, login: firm.email, password: firm.password).begin()
        let client = try await eventually("the gateway knows the log-in") {
            let reply = try await people.call(
                "POST", .gateway, "/thirdparty/v1/clients", token: member, body: ["name": "fault test", "scopes": Self.scopes])
            return reply.status == 201 ? reply : nil
        }
        return try await GatewayProgram(
            organisation, client: client.text("client") ?? "", secret: client.text("secret") ?? "", at: suite.gatewayOrigin)
    }

    private init(_ organisation: OrganisationID, client: String, secret: String, at origin: String) async throws {
        (self.organisation, self.origin) = (organisation, origin)
        var request = OutboundRequest.post(
            origin + "/thirdparty/v1/oauth/token", Array("grant_type=client_credentials".utf8),
            contentType: "application/x-www-form-urlencoded")
        request.headers.append(("Authorization", "Basic " + Data("\(client):\(secret)".utf8).base64EncodedString()))
        let answer = try await sender.send(request)
        struct Token: Decodable { var access_token: String }
        token = try JSONDecoder().decode(Token.self, from: Data(answer.body)).access_token
    }

    // MARK: Calling

    /// The bytes of a body: the same for the same, so that a repetition under a key is one.
    static func body(_ object: [String: any Sendable]) -> Data {
        (try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])) ?? Data()
    }

    /// nil where no answer came.
    func call(_ method: String, _ path: String, _ body: Data? = nil, key: String? = nil) async -> HarnessAnswer? {
        var headers = [(name: "Authorization", value: "Bearer \(token)")]
        if let key { headers.append(("Idempotency-Key", key)) }
        if body != nil { headers.append(("Content-Type", "application/json")) }
        let request = OutboundRequest(
            url: origin + "/thirdparty/v1" + path, method: method, headers: headers, body: Array(body ?? Data()), timeout: .seconds(20),
            maxResponseBytes: 8 << 20)
        guard let response = try? await sender.send(request) else { return nil }
        return HarnessAnswer(status: response.status, headers: [:], body: Data(response.body))
    }

    /// Again and again until it is answered by something other than "not now".
    func insist(_ method: String, _ path: String, _ body: Data? = nil, key: String? = nil) async throws -> HarnessAnswer {
        try await eventually("the gateway answers \(method)", within: Self.patience) {
            guard let answer = await call(method, path, body, key: key), answer.status < 500, answer.status != 429 else { return nil }
            return answer
        }
    }

    // MARK: From the form to the data

    /// Asks for data by the second.
    func ask(_ fiscalCode: String, _ types: [Metric], from: Timestamp, to: Timestamp) async throws -> RequestID {
        let answer = try await insist(
            "POST", "/requests",
            Self.body([
                "fiscalCode": fiscalCode, "types": types.map(\.code), "from": from.rfc3339, "to": to.rfc3339, "granularity": "seconds",
                "purpose": "A study of sleep",
            ]), key: UUID().uuidString)
        guard answer.status == 201, let request = answer.text("request").flatMap({ RequestID($0) }) else {
            throw UnexpectedAnswer("asking", answer)
        }
        return request
    }

    /// The one payment of a request.
    func payment(of request: RequestID) async throws -> String {
        let answer = try await insist("GET", "/payments?request=\(request)")
        guard answer.items.count == 1, let payment = answer.items[0]["payment"] as? String else {
            throw UnexpectedAnswer("looking for the payment", answer)
        }
        return payment
    }

    /// Pays with play money what is due.
    func pay(_ request: RequestID) async throws {
        let path = "/payments/\(try await payment(of: request))/attempts"
        let paid = try await eventually("it can be paid", within: Self.patience) {
            let answer = try await insist("POST", path, Self.body(["method": "card"]))
            // Accepted a moment ago, and the gateway has not heard of it.
            return answer.status == 409 ? nil : answer
        }
        guard paid.text("status") == "paid" else { throw UnexpectedAnswer("paying", paid) }
    }

    /// Asks a person for what comes until tomorrow, who accepts; pays, and returns when the subscription runs.
    func subscribe(to patient: Patient, _ types: [Metric], from: Timestamp) async throws -> SharedSubscription {
        let request = try await ask(patient.fiscalCode, types, from: from, to: from + .seconds(10 * 86_400))
        let accepted = try await patient.say("POST", "/consent/v1/requests/\(request)/answer", ["answer": "accept"])
        guard accepted.status == 200, let grant = accepted.text("grant").flatMap({ GrantID($0) }) else {
            throw UnexpectedAnswer("accepting was answered with \(accepted.status)")
        }
        try await pay(request)
        try await eventually("the subscription runs") {
            try await insist("GET", "/subscriptions/\(request)").text("state") == "running"
        }
        return SharedSubscription(patient: patient, request: request, grant: grant)
    }

    /// Registers an address for webhooks and proves that it is wanted.
    func register(_ receiver: WebhookReceiver) async throws -> String {
        let made = try await insist("POST", "/endpoints", Self.body(["url": receiver.url]), key: UUID().uuidString)
        struct Keys: Decodable {
            struct Key: Decodable { var webhook: String }
            var keys: [Key]
        }
        let keys = try await insist("GET", "/webhook-keys").decoded(as: Keys.self).keys
        guard let id = made.text("id"), let secret = made.text("secret"), let key = keys.first?.webhook else {
            throw UnexpectedAnswer("registering an endpoint", made)
        }
        receiver.use(secret: secret, key: key)
        try await verify(id)
        return id
    }

    /// Has an endpoint verified, also one that failed for a while: it goes on at once where it stopped.
    func verify(_ endpoint: String) async throws {
        try await eventually("the endpoint is verified", within: Self.patience) {
            try await insist("POST", "/endpoints/\(endpoint)/verification").text("state") == "active"
        }
    }
}

/// One person's data that keep flowing to one program.
struct SharedSubscription: Sendable {
    let patient: Patient
    let request: RequestID
    let grant: GrantID
}

extension RealSuite {
    var gatewayOrigin: String { "http://127.0.0.1:\(gateway?.port ?? 0)" }

    var peopleClient: PeopleClient {
        PeopleClient(consent: "http://127.0.0.1:\(consent?.port ?? 0)", ingest: server, gateway: gatewayOrigin, authorities: nil)
    }
}

extension SuiteShape {
    /// What third parties need: play money, webhooks to this machine, and no limits that a test would run into.
    static let thirdParties = SuiteShape(
        environment: [
            .thirdPartyGateway: [
                "TRACKME_PAY_SANDBOX": "true", "TRACKME_ORG_WEBHOOK_PRIVATE": "true", "TRACKME_ORG_CALLS_PER_MINUTE": "1000000",
                "TRACKME_ORG_CALLS_PER_DAY": "100000000", "TRACKME_ORG_FILES_PER_DAY": "100000",
            ],
            .consent: [
                "TRACKME_ACC_REGISTRATIONS_PER_HOUR": "10000", "TRACKME_ACC_LOG_INS_PER_MINUTE": "10000",
                "TRACKME_ACC_LOG_INS_IN_ALL_PER_MINUTE": "10000",
            ],
        ], hasAccounts: true)
}
