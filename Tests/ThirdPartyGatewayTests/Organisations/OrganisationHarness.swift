// Organisations as a whole in a temporary folder: real store, real sockets, real HTTP, a clock that can be moved, a mailbox to look into.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

/// One running gateway as far as organisations go. Opening it again in the same folder is a restart.
final class OrganisationHarness: Sendable {
    static let origin = "https://trackme.test"
    static let password = "una frase che ricordo"
    static let address = "office@example.org"

    let parts: OrganisationModule
    let opened: OpenedStore
    let stores: GatewayStores
    let logIns: TokenIssuer
    let mail = Mailbox()
    let consent: TestConsent
    let operators: BusClient
    let clock: TestClock
    let port: Int
    /// What the gateway tells its operator.
    let log = RecordingLog()
    private let declared: DeclaredAnswers
    private let outbox: MessageOutbox
    private let harness: Harness

    private init(
        _ folder: URL, _ environment: [String: String], _ consent: TestConsent, _ clock: TestClock, runsJobs: Bool
    ) async throws {
        let logger = log.logger
        let origin = ["TRACKME_HTTP_PUBLIC_ORIGIN": Self.origin]
        let harness = Harness(folder, origin.merging(environment) { $1 }, logger: logger)
        try harness.introducePeers()
        let others = try [Peer.consent, .trackme].map(harness.runtime)
        let own = try harness.runtime(.thirdPartyGateway)
        try await others[0].answer(consent.methods)
        opened = try await OpenedStore(
            on: own, applicationID: GatewaySchema.applicationID, migrations: GatewaySchema.migrations,
            restored: { db in try GatewayRestoreStore().begin(db, at: clock.now) })
        outbox = MessageOutbox(in: opened.store, sealedUnder: try own.key("outbox"), logger: logger) { [mail] in mail.take($0) }
        var reader = harness.reader
        let settings = GatewaySettings(&reader)
        stores = try GatewayStores(settings, opened: opened, outbox: outbox, on: own, clock: { clock.now })
        let parts = try await OrganisationModule(settings.organisations, on: stores, runtime: own)
        var methods = Methods(memory: opened.answers)
        parts.register(in: &methods)
        JobRoutes(opened.store, parts.jobs.all + [outbox.jobs]).register(in: &methods)
        try await own.answer(methods)
        let checker = try TokenChecker(store: opened.store, issuer: Self.origin)
        logIns = try TokenIssuer(Self.origin)
        checker.learn(.key(logIns.state))
        let server = HTTPServer(
            .init(title: "Organisations", version: "1.0.0", summary: "Under test.", prefix: "thirdparty"),
            routes: parts.allowance.limiting(parts.routes), port: 0, publicOrigin: Self.origin,
            health: Health(missing: { [] }, metrics: { "" }), authenticate: parts.authenticate(checker), logger: logger)
        declared = try DeclaredAnswers(server.routes)
        (self.parts, self.consent, self.clock, self.harness) = (parts, consent, clock, harness)
        operators = try await others[1].client(of: .thirdPartyGateway)
        let outbox = outbox
        harness.run { try await server.run() }
        harness.run { try await outbox.run() }
        if runsJobs { harness.run { try await parts.jobs.run() } }
        harness.closeAtEnd(opened)
        port = await server.boundPort
    }

    /// Runs `body` with the gateway up in the folder; again in the same folder is a restart.
    static func run<Value>(
        in folder: URL, environment: [String: String] = [:], consent: TestConsent = TestConsent(), clock: TestClock = TestClock(),
        runsJobs: Bool = true, _ body: (OrganisationHarness) async throws -> Value
    ) async throws -> Value {
        let harness = try await OrganisationHarness(folder, environment, consent, clock, runsJobs: runsJobs)
        return try await withHarness(harness, body) { await $0.harness.stop() }
    }

    static func run<Value>(
        environment: [String: String] = [:], _ body: (OrganisationHarness) async throws -> Value
    ) async throws -> Value {
        try await withTemporaryFolder { folder in
            try await run(in: folder, environment: environment, body)
        }
    }

    /// With an organisation in it that is registered and confirmed.
    static func runFounded<Value>(
        environment: [String: String] = [:], _ body: (OrganisationHarness, Founded) async throws -> Value
    ) async throws -> Value {
        try await run(environment: environment) { harness in try await body(harness, harness.found()) }
    }
}

// MARK: HTTP

/// Asks a gateway that listens on this port, each time on a connection of its own. Not by URLSession, which on Linux waits without end
/// where a 401 offers Basic, as the token endpoint's does.
struct GatewayCaller: Sendable {
    let port: Int
    let declared: DeclaredAnswers

    func callAsFunction(
        _ method: String, _ path: String, token: String? = nil, json: Any? = nil, text: String? = nil, form: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> HarnessAnswer {
        var body = Data((text ?? form ?? "").utf8)
        if let json { body = try JSONSerialization.data(withJSONObject: json, options: .sortedKeys) }
        var fields = ["Host": "test", "Connection": "close"]
        if json != nil || text != nil { fields["Content-Type"] = "application/json" }
        if form != nil { fields["Content-Type"] = "application/x-www-form-urlencoded" }
        if !body.isEmpty || method != "GET" { fields["Content-Length"] = String(body.count) }
        if let token { fields["Authorization"] = "Bearer \(token)" }
        fields.merge(headers) { $1 }
        let head = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
        let connection = try RawConnection(port: port)
        await connection.send(Array("\(method) \(path) HTTP/1.1\r\n\(head)\r\n".utf8) + body)
        let bytes = await connection.receiveAll()
        let answer = try #require(RawAnswer(bytes))
        declared.check(method, path, answer.status, answer.headers.keys)
        return HarnessAnswer(status: answer.status, headers: answer.headers, body: Data(answer.body))
    }
}

extension OrganisationHarness {
    var ask: GatewayCaller { GatewayCaller(port: port, declared: declared) }

    /// A form in which everything is right.
    static func form(_ change: (inout [String: Any]) -> Void = { _ in }) -> [String: Any] {
        var form: [String: Any] = organisationForm(
            name: "Istituto Ricerche S.p.A.", email: Self.address, sector: "medical research", description: "Hearts at rest.",
            password: Self.password, terms: OrganisationConditions.version)
        change(&form)
        return form
    }

    func register(_ form: [String: Any] = OrganisationHarness.form(), key: String? = nil) async throws -> HarnessAnswer {
        try await ask(
            "POST", "/thirdparty/v1/organisations", json: form, headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    struct Founded: Sendable {
        let id: OrganisationID
        let owner: MemberID
        /// Of the owner's log-in.
        let token: String
    }

    /// Registered, and confirmed unless told otherwise.
    func found(_ form: [String: Any] = OrganisationHarness.form(), confirmed: Bool = true) async throws -> Founded {
        let address = try #require(form["email"] as? String)
        let answer = try await register(form).expect(status: 201)
        let id = try #require(OrganisationID(answer.json["organisation"] as? String ?? ""))
        let owner = try #require(consent.logIn(of: id)?.member)
        if confirmed {
            let link = try await mail.arrived(to: address, .organisationConfirm).linkToken
            try await ask("POST", "/thirdparty/v1/organisations/confirmations", json: ["token": link]).expect(status: 200)
        }
        return Founded(id: id, owner: owner, token: try logIns.token(owner, of: id, at: clock.now))
    }

    /// A second organisation beside the first.
    static func otherForm() -> [String: Any] {
        form { form in
            form["businessName"] = "Clinica Due"
            form["vatNumber"] = "12345678903"
            form["email"] = "due@example.org"
            form["emailAgain"] = "due@example.org"
        }
    }

    /// A member of this role, invited by the owner.
    func invite(_ email: String, as role: Role, by founded: Founded) async throws -> (member: MemberID, token: String) {
        let item = try await ask(
            "POST", "/thirdparty/v1/members", token: founded.token, json: ["email": email, "role": role.rawValue]
        ).expect(status: 201)
        let member = try #require(MemberID(item.json["member"] as? String ?? ""))
        return (member, try logIns.token(member, of: founded.id, at: clock.now))
    }
}
