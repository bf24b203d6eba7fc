// Makes what a developer needs before the first call: somebody with data, a firm that may act, a program with a secret.

import Contracts
import Foundation
import ServiceKit

/// Where the suite is that the sandbox lies in.
struct SandboxPlace: Sendable {
    var layout: SuiteLayout
    /// Origins without a path.
    var ingest: String
    var consent: String
    var gateway: String
    var authorities: String?

    var client: PeopleClient {
        PeopleClient(consent: consent, ingest: ingest, gateway: gateway, authorities: authorities)
    }
}

/// What a developer is given.
struct SandboxKit: Encodable, Sendable {
    /// The gateway's, or the edge's.
    var baseURL: String
    var tokenURL: String
    var clientID: ClientID
    /// Shown this once.
    var clientSecret: String
    var fiscalCode: String
    var organisation: OrganisationID
    /// With which a member logs in at consent, for what programs may not do.
    var memberLogin: String
    var memberPassword: String
    /// Codes of what the person's wearable measures.
    var types: [String]
    /// The instant of the oldest entry, RFC 3339.
    var from: String
    /// Where people and members log in; the same as `baseURL` behind the edge.
    var consentURL: String

    /// For a shell: `eval` or `source` sets what `docs/third-parties` uses.
    var exports: [String] {
        [
            ("TRACKME_URL", baseURL), ("TRACKME_CONSENT_URL", consentURL), ("CLIENT_ID", clientID.description),
            ("CLIENT_SECRET", clientSecret), ("FISCAL_CODE", fiscalCode), ("FROM", from), ("MEMBER_LOGIN", memberLogin),
            ("MEMBER_PASSWORD", memberPassword),
        ].map { "export \($0)='\($1)'" }
    }
}

struct SandboxFounding: Sendable {
    /// How long the services may take to receive events of each other.
    static let bound = Duration.seconds(30)
    /// Another person is tried where a fiscal code was taken by an earlier sandbox.
    private static let tries = 10
    /// As the wearable reports it; while it stays it measures so often.
    static let interval = Duration.seconds(1)

    let place: SandboxPlace
    let say: @Sendable (String) -> Void

    /// - Parameter days: so many days of the past are filled.
    func found(days: Int) async throws -> (kit: SandboxKit, host: SandboxHost, wearable: SandboxWearable) {
        // Before anything is made: whether the suite of that folder is there at all.
        _ = try await SuiteConnection.with(place.layout) { try await $0.ask(ReadPrices()) }
        let client = place.client
        let (person, token) = try await register(client)
        say("registered \(SandboxPerson.name) \(SandboxPerson.surname), a synthetic person")
        var wearable = SandboxWearable(token: try await pair(client, token), place: place, seed: UInt64.random(in: 0 ... .max))
        let from = try await wearable.fill(days: days, until: .now)
        say("her wearable has delivered \(wearable.delivered) entries of \(days) day\(days == 1 ? "" : "s")")
        let (firm, organisation) = try await register(firmAt: client)
        let api = try await makeClient(client, firm)
        say("registered the organisation \(firm.name), confirmed, with an API client")
        let kit = SandboxKit(
            baseURL: place.gateway, tokenURL: place.gateway + "/thirdparty/v1/oauth/token", clientID: api.id, clientSecret: api.secret,
            fiscalCode: person.fiscalCode, organisation: organisation, memberLogin: firm.email, memberPassword: firm.password,
            types: Wearable.metrics.map(\.code), from: from.rfc3339, consentURL: place.consent)
        return (kit, SandboxHost(client: client, person: person, say: say), wearable)
    }

    // MARK: The person

    private func register(_ client: PeopleClient) async throws -> (SandboxPerson, token: String) {
        let terms = try await client.call("GET", .consent, "/consent/v1/terms").expecting(200, "reading the conditions")
        for attempt in 1...Self.tries {
            let person = SandboxPerson(mark: UInt64.random(in: 0..<1 << 53))
            let form = person.form(acceptedTerms: terms.text("version") ?? "")
            let reply = try await client.call("POST", .consent, "/consent/v1/accounts", body: form)
            // What was made up is somebody's already: that registration opens no account.
            if reply.text("state") == "unconfirmed", attempt < Self.tries { continue }
            try PersonStory.requireOpen(try reply.expecting(201, "registering the person"))
            return (person, try await SandboxSession(client: client, login: person.email, password: person.password).begin())
        }
        throw OperatorError(.failed, "every fiscal code that was tried is somebody's", mend: "try again")
    }

    /// Both ends of pairing: the wearable that shows six digits, and the person who types them.
    private func pair(_ client: PeopleClient, _ token: String) async throws -> String {
        let offered: [String: Any] = [
            "model": "sandbox watch", "kind": "wearable", "measures": Wearable.metrics.map(\.code),
            "intervalMs": Self.interval.wholeMilliseconds,
        ]
        let offer = try await client.call("POST", .ingest, "/ingest/v1/pairings", body: offered).expecting(201, "offering the wearable")
        let pairing = "/ingest/v1/pairings/\(offer.text("pairing") ?? "")"
        // Ingest may receive the new account a moment after it was made.
        _ = try await DemoPlay.waiting("the wearable was not paired", within: Self.bound) {
            let reply = try await client.call(
                "POST", .ingest, "\(pairing)/confirmation", token: token, body: ["number": offer.text("number") ?? ""])
            return reply.status == 401 || reply.status == 403 ? nil : try reply.expecting(200, "pairing")
        }
        let polled = try await client.call("POST", .ingest, "\(pairing)/poll", body: ["secret": offer.text("secret") ?? ""])
            .expecting(200, "fetching the wearable's token")
        return polled.text("token") ?? ""
    }

    // MARK: The organisation

    private func register(firmAt client: PeopleClient) async throws -> (SandboxOrganisation, OrganisationID) {
        let conditions = try await client.call("GET", .gateway, "/thirdparty/v1/conditions").expecting(200, "reading the conditions")
        let firm = SandboxOrganisation(mark: UInt64.random(in: 0..<1 << 53))
        let form = firm.form(acceptedConditions: conditions.text("version") ?? "")
        let made = try await client.call("POST", .gateway, "/thirdparty/v1/organisations", body: form)
            .expecting(201, "registering the organisation")
        guard let id = made.text("organisation").flatMap({ OrganisationID($0) }) else {
            throw OperatorError(.failed, "the answer to the registration names no organisation", mend: "see the gateway's log lines")
        }
        _ = try await SuiteConnection.with(place.layout) {
            try await $0.ask(JudgeOrganisation(organisation: id, judgement: .confirm))
        }
        return (firm, id)
    }

    private func makeClient(_ client: PeopleClient, _ firm: SandboxOrganisation) async throws -> (id: ClientID, secret: String) {
        let token = try await SandboxSession(client: client, login: firm.email, password: firm.password).begin()
        let scopes = [
            "requests:read", "requests:write", "data:read", "payments:read", "payments:write", "subscriptions:manage",
        ]
        // The gateway may receive the log-in a moment after it was made.
        let made = try await DemoPlay.waiting("the API client was not made", within: Self.bound) {
            let body: [String: Any] = ["name": "sandbox", "scopes": scopes]
            let reply = try await client.call("POST", .gateway, "/thirdparty/v1/clients", token: token, body: body)
            return reply.status == 401 || reply.status == 403 ? nil : try reply.expecting(201, "making the API client")
        }
        guard let id = made.text("client").flatMap({ ClientID($0) }), let secret = made.text("secret") else {
            throw OperatorError(.failed, "the answer names no client", mend: "see the gateway's log lines")
        }
        return (id, secret)
    }
}

extension Wearable {
    /// What it measures.
    static let metrics: [Metric] = [
        .heartRate, .oxygenSaturation, .bloodPressureMax, .bloodPressureMin, .bodyTemperature, .position,
    ]
}
