// Erasing through all services: what was a person's is nowhere any more, and everybody else reads their own as before.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import Consent
@testable import Operator

/// What consent answers to an order to erase.
struct AcceptedErasure: Decodable, Sendable {
    var erasure: ErasureID
    var certificate: String
}

extension StorySuite {
    /// One request to any of the services.
    func say(
        _ method: String, _ url: String, _ body: [String: any Sendable]? = nil, as bearer: String? = nil
    ) async throws -> HarnessAnswer {
        try await HarnessClient(url).ask(method, "", token: bearer, json: body)
    }

    /// Asks, reads and confirms.
    func erase(_ scope: ErasureScope, as token: String, password: String) async throws -> HarnessAnswer {
        struct Asked: Decodable { var confirmation: String }
        let asked = try await say("POST", consent + "/consent/v1/erasures", ["scope": scope.rawValue], as: token)
        let confirmation = try asked.decoded(as: Asked.self).confirmation
        return try await say(
            "POST", consent + "/consent/v1/erasures/orders", ["confirmation": confirmation, "password": password], as: token)
    }

    /// The certificate, once every service has confirmed, proved by the published key.
    func certificate(of order: AcceptedErasure) async throws -> ErasureCertificate {
        struct Erased: Decodable {
            var completedAt: String?
            var waitingFor: [String]
            var certificate: String?
        }
        let path = try #require(URL(string: order.certificate)?.path)
        let erased: Erased = try await eventually("every service has confirmed \(order.erasure)") {
            let said = try await say("GET", consent + path)
            let erased = try said.decoded(as: Erased.self)
            return erased.completedAt == nil ? nil : erased
        }
        struct Keys: Decodable {
            struct Key: Decodable { var kid, x: String }
            var keys: [Key]
        }
        let keys = try await say("GET", consent + "/consent/v1/erasure-keys").decoded(as: Keys.self).keys
        let payload = try CompactJWS.open(try #require(erased.certificate), typ: "erasure-certificate+jws") { keyID in
            keys.first { $0.kid == keyID }.flatMap { Base64URL.decode($0.x) }.flatMap { try? VerifyingKey(bytes: $0) }
        }
        return try JSONDecoder().decode(ErasureCertificate.self, from: Data(payload))
    }
}

/// A person with an account, a watch, and somebody who calls for help.
private struct Anna: Sendable {
    static let email = "anna.canarina@posta-privata.example"
    static let surname = "Canarinieri"
    static let street = "Vicolo dei Canarini 73"
    static let password = "tre lucciole nel bicchiere"
    static let watchName = "Orologio della nonna Canarina"
    static let value = 71.28125
    static let latitude = 45.4642137

    let suite: StorySuite
    let person: PersonID
    let watch: AddDevice.Reply
    var token: String

    private static var form: [String: any Sendable] {
        registrationForm(name: "Anna", surname: surname, email: email, password: password, terms: Conditions.version)
            .merging(["address": street]) { $1 }
    }

    static func register(_ suite: StorySuite) async throws -> Int {
        try await suite.say("POST", suite.consent + "/consent/v1/accounts", form).status
    }

    static func logIn(_ suite: StorySuite) async throws -> (token: String, person: PersonID) {
        let token = try await HarnessClient(suite.consent).logIn(email, password).accessToken
        return (token, try PersonID(accessToken: token))
    }

    /// Registers, gets a watch, joins AutomatedSOS and delivers a few values.
    init(in suite: StorySuite) async throws {
        #expect(try await Self.register(suite) == 201)
        let (token, person) = try await Self.logIn(suite)
        watch = try await eventually("ingest knows the account") { [person] in
            try? await suite.ask(AddDevice(person: person, name: Self.watchName, intervalMs: 1000))
        }
        (self.suite, self.token, self.person) = (suite, token, person)
        _ = try await suite.ask(SubscribePerson(person: person, clausesAccepted: true, bounds: [:]))
        let watch = watch
        try await eventually("the watch may deliver") { (try? await suite.beat(Self.value, from: watch)) != nil }
        let place = Position(latitude: Self.latitude, longitude: 9.1903412)
        for _ in 0..<5 {
            try await suite.beat(Self.value, from: watch, and: [Sample(type: .position, at: .now, value: nil, position: place)])
        }
    }

    func erase(_ scope: ErasureScope, password: String = Anna.password) async throws -> HarnessAnswer {
        try await suite.erase(scope, as: token, password: password)
    }

    /// Pieces of everything sealed that the services' files hold of the person, as it lies there.
    func fragments() throws -> [Data] {
        let questions: [(file: String, sql: String)] = [
            ("ingest/ingest.db", "SELECT body FROM chunks JOIN people ON people.number = chunks.person WHERE people.person = ?"),
            ("ingest/ingest.db", "SELECT name FROM devices JOIN people ON people.number = devices.person WHERE people.person = ?"),
            ("ingest/ingest-keys.db", "SELECT wrapped FROM wrapped_keys WHERE subject = ?"),
            ("consent/consent.db", "SELECT profile FROM accounts WHERE subject = ?"),
            ("consent/consent-keys.db", "SELECT wrapped FROM wrapped_keys WHERE subject = ?"),
            ("sos-dispatcher/sos-dispatcher.db", "SELECT sealed FROM subscribers WHERE person = ?"),
            ("sos-dispatcher/sos-dispatcher-keys.db", "SELECT wrapped FROM wrapped_keys WHERE subject = ?"),
        ]
        return try questions.flatMap { question in
            let file = suite.layout.data.appendingPathComponent(question.file)
            let queue = try DatabaseQueue(path: file.path)
            let values = try queue.read { db in try Data.fetchAll(db, sql: question.sql, arguments: [Data(person.bytes)]) }
            try queue.close()
            #expect(!values.isEmpty, "\(question.file) holds nothing of the person: \(question.sql)")
            return values.map { $0.suffix(min(28, $0.count)) }
        }
    }
}

@Suite("Erasure through all services", .serialized, .timeLimit(.minutes(5)))
struct ErasureStories {
    /// Somebody else, who delivers all the time until it is enough.
    private func load(
        _ suite: StorySuite, from watch: AddDevice.Reply, until isEnough: @escaping @Sendable () -> Bool
    ) -> Task<[Double], any Error> {
        Task {
            var delivered: [Double] = []
            while !isEnough() {
                let rate = 60 + Double(delivered.count % 40)
                try await suite.beat(rate, from: watch)
                delivered.append(rate)
                // Two entries of one millisecond would be one.
                try await Task.sleep(for: .milliseconds(3))
            }
            return delivered
        }
    }

    private func rates(_ suite: StorySuite, of watch: AddDevice.Reply) async throws -> [Double] {
        struct Page: Decodable {
            struct Entry: Decodable { var value: Double? }
            var items: [Entry]
            var next: String?
        }
        var (found, after): ([Double], String?) = ([], nil)
        repeat {
            let path = "/ingest/v1/entries?type=heart-rate&limit=1000" + (after.map { "&after=\($0)" } ?? "")
            let (status, json) = try await suite.get(path, as: watch)
            #expect(status == 200)
            let page = try JSONDecoder().decode(Page.self, from: json)
            found += page.items.compactMap(\.value)
            after = page.next
        } while after != nil
        return found
    }

    @Test(
        "ACC-30, ACC-31, CON-02: an erased account is unreadable at once and in no file soon, under load; its certificate names every store; its address is free"
    )
    func account() async throws {
        try await StorySuite.with(["TRACKME_ING_REQUESTS_PER_S": "10000"]) { suite in
            let bruno = try await suite.someone(wearing: "Bruno's watch", every: .seconds(1))
            let isEnough = Atomic<Bool>(false)
            let delivering = load(suite, from: bruno) { isEnough.load(ordering: .relaxed) }
            defer { isEnough.store(true, ordering: .relaxed) }
            let anna = try await Anna(in: suite)
            let fragments = try await eventually("everything is stored") { try? anna.fragments() }

            let refused = try await anna.erase(.account, password: "not hers")
            #expect(refused.status == 422)
            #expect(try await suite.say("GET", suite.consent + "/consent/v1/sessions", as: anna.token).status == 200)

            let said = try await anna.erase(.account)
            #expect(said.status == 202)
            // At once: no session, no log-in, no data.
            #expect(try await suite.say("GET", suite.consent + "/consent/v1/sessions", as: anna.token).status == 401)
            let logIn = try await suite.say(
                "POST", suite.consent + "/consent/v1/sessions", ["login": Anna.email, "password": Anna.password])
            #expect(logIn.status == 401 || logIn.status == 403)

            let certificate = try await suite.certificate(of: said.decoded())
            #expect(certificate.scope == .account)
            #expect(
                certificate.services.map(\.service) == [
                    "consent", "ingest", "sos-dispatcher", "notifier", "thirdparty-gateway", "anonymiser",
                ])
            let stores: [String] = certificate.services.flatMap { service -> [String] in
                let own = ["\(service.service).db", "\(service.service)-keys.db", "\(service.service)-keys.db backups"]
                return service.service == "consent" ? own + ["consent-accesses.db"] : own
            }
            #expect(certificate.services.flatMap { $0.stores.map(\.store) } == stores)
            #expect(try await suite.get("/ingest/v1/entries?type=heart-rate", as: anna.watch).status == 401)
            #expect(try await suite.ask(ReadSupervision(person: anna.person)).subscribed == false)

            isEnough.store(true, ordering: .relaxed)
            let delivered = try await delivering.value
            #expect(delivered.count > 20)
            #expect(try await rates(suite, of: bruno).suffix(delivered.count) == delivered[...])

            let hunt = CanaryHunt(
                texts: [Anna.email, Anna.surname, Anna.street, Anna.watchName, "\(anna.person)"], numbers: [Anna.value, Anna.latitude],
                fragments: fragments)
            let found = hunt.findings(in: suite.layout.data).found
            #expect(found.isEmpty, "\(found)")
            #expect(try await Anna.register(suite) == 201)
        }
    }

    @Test("ACC-29: with the data alone erased the account, the watch and the supervision go on, and what comes later is kept")
    func dataOnly() async throws {
        try await StorySuite.with { suite in
            let anna = try await Anna(in: suite)
            let fragments = try await eventually("everything is stored") { try? anna.fragments() }
            let said = try await anna.erase(.data)
            #expect(said.status == 202)
            let certificate = try await suite.certificate(of: said.decoded())
            #expect(certificate.scope == .data)

            #expect(try await rates(suite, of: anna.watch) == [])
            #expect(try await suite.say("GET", suite.consent + "/consent/v1/sessions", as: anna.token).status == 200)
            #expect(try await suite.ask(ReadSupervision(person: anna.person)).subscribed)
            try await suite.beat(66, from: anna.watch)
            #expect(try await rates(suite, of: anna.watch) == [66])
            // Of the old chunks and the old keys of ingest and the dispatcher nothing is left; the account's own seals stay.
            let hunt = CanaryHunt(texts: [], numbers: [], fragments: fragments)
            let found = hunt.findings(in: suite.layout.data).found
            #expect(found.allSatisfy { $0.contains("consent") }, "\(found)")
            // Once more: it is a new erasure.
            #expect(try await anna.erase(.data).status == 202)
        }
    }

    @Test("ACC-29, ACC-30: what is not confirmed erases nothing, whoever sends it")
    func notConfirmed() async throws {
        try await StorySuite.with { suite in
            let anna = try await Anna(in: suite)
            let orders = suite.consent + "/consent/v1/erasures/orders"
            for confirmation in ["", "AAAAAAAAAAAAAAAAAAAAAA", "x"] {
                let said = try await suite.say("POST", orders, ["confirmation": confirmation, "password": Anna.password], as: anna.token)
                #expect(said.status == 422)
            }
            #expect(try await suite.say("POST", orders, ["confirmation": "x", "password": "y"]).status == 401)
            #expect(try await suite.say("POST", suite.consent + "/consent/v1/erasures", ["scope": "half"], as: anna.token).status == 422)
            #expect(
                try await suite.say("GET", suite.consent + "/consent/v1/erasures/certificates/" + String(repeating: "A", count: 43)).status
                    == 404)
            #expect(try await suite.say("GET", suite.consent + "/consent/v1/operators/erasures", as: anna.token).status == 403)
            #expect(try await rates(suite, of: anna.watch).contains(Anna.value))
        }
    }
}
