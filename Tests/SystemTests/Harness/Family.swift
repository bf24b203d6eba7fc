// Somebody with an account, a supervised watch and emergency contacts, who talks to a real suite over HTTP.

import Contracts
import Foundation
import Outbound
import ServiceKit
import TestKit

@testable import Consent
@testable import Operator

struct Family: Sendable {
    struct NotTaken: Error {
        let what: String
        let status: Int
    }

    private struct Registered: Decodable {
        var person: PersonID
    }

    private struct Listed: Decodable {
        struct Item: Decodable {}

        var items: [Item]
    }

    let person: PersonID
    let token: String
    let watch: AddDevice.Reply
    private let suite: RealSuite

    /// Joins; returns once every dispatcher knows these contacts.
    init(in suite: RealSuite, contacts: [(name: String, telephone: String)]) async throws {
        self.suite = suite
        let (consent, login) = ("http://127.0.0.1:\(suite.consent?.port ?? 0)", DemoPerson.random())
        let form = login.form(acceptedTerms: Conditions.version)
        let account = try await Self.say("POST", consent + "/consent/v1/accounts", JSONSerialization.data(withJSONObject: form))
        guard account.status == 201 else { throw NotTaken(what: "account", status: account.status) }
        person = try account.decoded(as: Registered.self).person
        token = try await HarnessClient(consent).logIn(login.email, login.password).accessToken
        watch = try await eventually("ingest knows the account") { [person] in
            try? await suite.ask(AddDevice(person: person, name: "watch", intervalMs: 1000))
        }
        _ = try await suite.ask(SubscribePerson(person: person, clausesAccepted: true, bounds: [:]))
        let ports = [suite.sos.port, suite.deputy?.port].compactMap { $0 }
        for contact in contacts {
            let body = try JSONSerialization.data(withJSONObject: ["name": contact.name, "telephone": contact.telephone])
            try await eventually("the dispatcher takes a contact") { [token] in
                try await Self.say("POST", "http://127.0.0.1:\(ports[0])/sos/v1/contacts", body, as: token).status == 201
            }
        }
        for port in ports {
            try await eventually("the dispatcher on port \(port) knows them") { [token] in
                let known = try await Self.say("GET", "http://127.0.0.1:\(port)/sos/v1/contacts", as: token)
                return known.status == 200 ? try known.decoded(as: Listed.self).items.count == contacts.count : false
            }
        }
    }

    /// Delivers one heart rate of this moment, again until it is taken.
    func beat(_ rate: Double) async throws {
        let entry: [String: any Sendable] = ["type": "heart-rate", "at": Timestamp.now.rfc3339, "value": rate]
        let body = try JSONSerialization.data(withJSONObject: entry)
        try await eventually("the watch has delivered") { [suite, watch] in
            try await Self.say("POST", suite.server + "/ingest/v1/entries", body, as: watch.token).status == 200
        }
    }

    /// One request.
    /// - Parameters:
    ///   - form: whether the body is that of a page's form; else it is JSON.
    ///   - authorities: PEM file that the server's certificate must lead to.
    static func say(
        _ method: String, _ url: String, _ body: Data? = nil, as bearer: String? = nil, form: Bool = false, authorities: String? = nil
    ) async throws -> HarnessAnswer {
        var request = OutboundRequest(url: url, method: method, body: Array(body ?? Data()), timeout: .seconds(20))
        if body != nil { request.headers.append(("Content-Type", form ? "application/x-www-form-urlencoded" : "application/json")) }
        if let bearer { request.headers.append(("Authorization", "Bearer \(bearer)")) }
        let answer = try await HTTPSender.anywhere(authorities: authorities).send(request)
        return HarnessAnswer(status: answer.status, headers: [:], body: Data(answer.body))
    }
}

extension TextPeer {
    /// The path of the link in the first text to this number; nil while there is none.
    func linkedPath(to number: String) -> String? {
        messages(to: number).lazy.filter { $0.channel == "sms" }.compactMap { message in
            message.text.firstRange(of: /\/sos\/c\/[A-Za-z0-9_-]+/).map { String(message.text[$0]) }
        }.first
    }
}
