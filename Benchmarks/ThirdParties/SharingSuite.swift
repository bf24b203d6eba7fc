// The suite with its gateway, people who wear devices, and organisations that they share with.

import Bus
import Contracts
import Foundation
import Sealing
import ServiceKit

/// Ingest, consent and the gateway as processes. People and organisations come in by the doors that everybody uses.
struct SharingSuite: Sendable {
    struct Wearer: Sendable {
        let person: PersonID
        let fiscalCode: String
        /// Of the log-in.
        let token: String
        let deviceToken: String
    }

    struct Firm: Sendable {
        let number: Int
        let id: OrganisationID
        /// Of its API client.
        let token: String
    }

    /// One accepted request.
    struct Share: Sendable {
        let request: String
        let grant: String
        let wearer: Int
        let firm: Int
    }

    static let peers: [Peer] = [.ingest, .consent, .thirdPartyGateway]
    /// Quotas and throttles that are for strangers, not for measuring.
    static let settings: [Peer: [String: String]] = [
        .consent: [
            "TRACKME_ACC_REGISTRATIONS_PER_HOUR": "1000000", "TRACKME_ACC_LOG_INS_PER_MINUTE": "100000",
            "TRACKME_ACC_LOG_INS_IN_ALL_PER_MINUTE": "1000000", "TRACKME_ACC_CONFIRM_REQUIRED": "false",
            "TRACKME_ACC_SECOND_FACTOR": "offered",
        ],
        .thirdPartyGateway: [
            "TRACKME_ORG_REGISTRATIONS_PER_HOUR": "1000000", "TRACKME_ORG_CALLS_PER_MINUTE": "100000000",
            "TRACKME_ORG_CALLS_PER_DAY": "1000000000", "TRACKME_ORG_WEBHOOK_PRIVATE": "true",
        ],
    ]
    private static let rights = ["requests:read", "requests:write", "data:read", "subscriptions:manage"]
    /// Passwords are hashed two at a time; twenty may wait.
    static let logInsAtOnce = 4

    let suite: SuiteUnderTest
    let programs: [Peer: Program]
    let wearers: [Wearer]
    let firms: [Firm]

    /// - Parameter settings: of ingest.
    init(in folder: URL, people: Int, firms count: Int, settings: [String: String] = [:]) async throws {
        let suite = try SuiteUnderTest(in: folder)
        var programs: [Peer: Program] = [:]
        for peer in Self.peers {
            programs[peer] = try await suite.start(peer, (Self.settings[peer] ?? [:]).merging(peer == .ingest ? settings : [:]) { $1 })
        }
        let terms = try await Self.terms(of: suite)
        let conditions: Version = try await suite.gateway.get("/thirdparty/v1/conditions")
        let ingest = try await suite.operatorSeat.client(of: .ingest)
        wearers = try await SuiteUnderTest.each(0..<people, atOnce: Self.logInsAtOnce) { number in
            (number, try await Self.wearer(number, terms, suite, ingest))
        }.sorted { $0.0 < $1.0 }.map(\.1)
        let gateway = try await suite.operatorSeat.client(of: .thirdPartyGateway)
        firms = try await SuiteUnderTest.each(0..<count, atOnce: Self.logInsAtOnce) { number in
            try await Self.firm(number, conditions.version, suite, gateway)
        }.sorted { $0.number < $1.number }
        (self.suite, self.programs) = (suite, programs)
    }

    private struct Version: Decodable {
        var version: String
    }

    private struct Session: Decodable {
        var accessToken: String
    }

    // MARK: People

    /// The version that whoever registers accepts.
    static func terms(of suite: SuiteUnderTest) async throws -> String {
        let terms: Version = try await suite.consent.get("/consent/v1/terms")
        return terms.version
    }

    /// Registers the person: the token of their log-in.
    static func account(of person: MadeUpPerson, acceptedTerms terms: String, _ suite: SuiteUnderTest) async throws -> String {
        _ = try await suite.consent.call("POST", "/consent/v1/accounts", json: person.form(acceptedTerms: terms), expecting: 201)
        return try await logIn(person.email, person.password, suite)
    }

    private static func wearer(_ number: Int, _ terms: String, _ suite: SuiteUnderTest, _ ingest: BusClient) async throws -> Wearer {
        let person = MadeUpPerson(number)
        let token = try await account(of: person, acceptedTerms: terms, suite)
        // The first call makes the person known to ingest, which may hear of the account a moment after it was made.
        try await Stage.wait("ingest to know the person", every: .milliseconds(50)) {
            try await suite.ingest.send("GET", "/ingest/v1/devices", token: token).status == 200
        }
        let id = try subject(of: token)
        let device = try await ingest.ask(
            AddDevice(person: id, name: "bench", intervalMs: 1000), deadline: .seconds(2), attempts: 5)
        return Wearer(person: id, fiscalCode: person.fiscalCode, token: token, deviceToken: device.token)
    }

    private static func logIn(_ login: String, _ password: String, _ suite: SuiteUnderTest) async throws -> String {
        let form = ["login": login, "password": password, "device": "bench"]
        let answer = try await suite.consent.call("POST", "/consent/v1/sessions", json: form, expecting: 200)
        return try JSONDecoder().decode(Session.self, from: Data(answer.body)).accessToken
    }

    /// Whom an access token speaks of.
    private static func subject(of token: String) throws -> PersonID {
        struct Claims: Decodable {
            var sub: String
        }
        let parts = token.split(separator: ".")
        guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
            let person = PersonID(try JSONDecoder().decode(Claims.self, from: Data(payload)).sub)
        else { throw BenchmarkError("the log-in's token names no person") }
        return person
    }

    // MARK: Organisations

    private static func firm(_ number: Int, _ conditions: String, _ suite: SuiteUnderTest, _ gateway: BusClient) async throws -> Firm {
        struct Made: Decodable {
            var organisation: OrganisationID
        }
        struct Client: Decodable {
            var client: String
            var secret: String
        }
        struct Token: Decodable {
            var access_token: String
        }
        let firm = MadeUpFirm(number)
        let made = try await suite.gateway.call(
            "POST", "/thirdparty/v1/organisations", json: firm.form(acceptedConditions: conditions), expecting: 201)
        let id = try JSONDecoder().decode(Made.self, from: Data(made.body)).organisation
        _ = try await gateway.ask(JudgeOrganisation(organisation: id, judgement: .confirm), deadline: .seconds(2), attempts: 5)
        let member = try await logIn(firm.email, firm.password, suite)
        let body = try WebClient.json(["name": "bench", "scopes": rights])
        let client: Client = try await Stage.waitFor("the API client", every: .milliseconds(50)) {
            let answer = try await suite.gateway.send(
                "POST", "/thirdparty/v1/clients", token: member, contentType: "application/json", body: body)
            return answer.status == 201 ? try JSONDecoder().decode(Client.self, from: Data(answer.body)) : nil
        }
        let order = "grant_type=client_credentials&client_id=\(client.client)&client_secret=\(client.secret)"
        let answer = try await suite.gateway.send(
            "POST", "/thirdparty/v1/oauth/token", contentType: "application/x-www-form-urlencoded", body: Array(order.utf8))
        guard answer.status == 200 else { throw BenchmarkError("no token: \(answer.text)") }
        return Firm(number: number, id: id, token: try JSONDecoder().decode(Token.self, from: Data(answer.body)).access_token)
    }

    // MARK: Sharing

    /// Every firm asks everybody; everybody accepts.
    /// - Parameter types: what a firm asks for.
    func share(from: Timestamp, to: Timestamp, types: @escaping @Sendable (Firm) -> [Metric]) async throws -> [Share] {
        for firm in firms { try await ask(everybodyFor: firm, types(firm), from, to) }
        _ = try await SuiteUnderTest.each(wearers, atOnce: 16) { try await accept(all: firms.count, by: $0) }
        let places = Dictionary(uniqueKeysWithValues: wearers.enumerated().map { ($1.fiscalCode, $0) })
        var shares: [Share] = []
        for firm in firms {
            let ready: [Item] = try await Stage.waitFor("everybody's data to be ready", atMost: .seconds(120), every: .milliseconds(200)) {
                let items: Items = try await suite.gateway.get("/thirdparty/v1/requests?limit=1000", token: firm.token)
                let ready = items.items.filter { $0.delivery == "ready" && $0.grant != nil }
                return ready.count == wearers.count ? ready : nil
            }
            shares += try ready.map { item in
                guard let wearer = item.fiscalCode.flatMap({ places[$0] }), let grant = item.grant else {
                    throw BenchmarkError("a request of nobody: \(item.request)")
                }
                return Share(request: item.request, grant: grant, wearer: wearer, firm: firm.number)
            }
        }
        return shares
    }

    private struct Items: Decodable, Sendable {
        var items: [Item]
    }

    private struct Item: Decodable, Sendable {
        var request: String
        var fiscalCode: String?
        var grant: String?
        var delivery: String?
    }

    private struct List: Decodable {
        var list: String
        var sending: Int
    }

    private func ask(everybodyFor firm: Firm, _ types: [Metric], _ from: Timestamp, _ to: Timestamp) async throws {
        let form: [String: Any] = [
            "fiscalCodes": wearers.map(\.fiscalCode), "types": types.map(\.code), "from": from.rfc3339, "to": to.rfc3339,
            "granularity": "seconds", "purpose": "Measuring the interface",
        ]
        let sent = try await suite.gateway.call("POST", "/thirdparty/v1/requests/lists", token: firm.token, json: form, expecting: 202)
        let list = try JSONDecoder().decode(List.self, from: Data(sent.body)).list
        try await Stage.wait("the list to be sent", atMost: .seconds(120), every: .milliseconds(100)) {
            let now: List = try await suite.gateway.get("/thirdparty/v1/requests/lists/\(list)?limit=1", token: firm.token)
            return now.sending == 0
        }
    }

    private func accept(all count: Int, by wearer: Wearer) async throws {
        let pending: Items = try await suite.consent.get("/consent/v1/requests?show=pending&limit=100", token: wearer.token)
        guard pending.items.count == count else { throw BenchmarkError("\(pending.items.count) of \(count) requests came to a person") }
        for item in pending.items { try await Self.accept(item.request, token: wearer.token, suite) }
    }

    /// The person whose token it is accepts what they were asked.
    static func accept(_ request: String, token: String, _ suite: SuiteUnderTest) async throws {
        _ = try await suite.consent.call(
            "POST", "/consent/v1/requests/\(request)/answer", token: token, json: ["answer": "accept"], expecting: 200)
    }

    func upload(_ body: [UInt8], of wearer: Wearer, lines: Bool = false) async throws {
        let answer = try await suite.ingest.send(
            "POST", "/ingest/v1/entries", token: wearer.deviceToken, contentType: lines ? "application/x-ndjson" : "application/json",
            body: body)
        guard answer.status == 200 else { throw BenchmarkError("upload: \(answer.status) \(answer.text)") }
    }

    func end() async {
        await suite.operatorSeat.bus.shutdown()
        for program in programs.values { program.kill9() }
    }
}
