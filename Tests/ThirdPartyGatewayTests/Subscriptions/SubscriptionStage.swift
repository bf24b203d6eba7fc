// Subscriptions between real neighbours: grants and arrivals over the bus, organisations over HTTP, a receiver with a server of its own.

import Bus
import Contracts
import Foundation
import FoundationNetworking
import GRDB
import HTTPKit
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit

@testable import ThirdPartyGateway

/// Says one family of streams as its owner does: a log of its own, replay, heartbeats.
final class FactSpeaker: Sendable {
    let runtime: Runtime
    private let store: Store
    private let stream: FactStream
    private let repository = Book()

    /// What every grant is now.
    private final class Book: Sendable {
        private let states = Mutex<[GrantID: GrantState]>([:])

        var active: [GrantState] { states.withLock { $0.values.filter(\.active) } }

        func note(_ state: GrantState) {
            states.withLock { $0[state.grant] = state }
        }
    }

    init(_ family: StreamFamily, _ runtime: Runtime, _ folder: URL, methods: Methods) async throws {
        self.runtime = runtime
        let store = try Store.open(
            folder.appendingPathComponent("\(family.name).db"), applicationID: 3,
            migrations: [
                Migration(1, "a stream") { db in
                    try StreamLog.create(in: db)
                    try Confirmations.create(in: db)
                }
            ], logger: runtime.logger)
        let (relay, epoch) = try await runtime.relay(of: family, in: store)
        let stream = FactStream(stream: family.streams[0], epoch: epoch, relay: relay)
        (self.store, self.stream) = (store, stream)
        var methods = methods
        StreamSource(families: [family], store: store, render: { _, row in row.body }) { [repository] _ in
            try await store.read { db in
                try stream.snapshot(db, type: GrantState.type, facts: repository.active.map { ($0.person, $0) }, next: nil)
            }
        }.register(in: &methods)
        try await runtime.answer(methods)
    }

    func say(_ body: some Encodable & Sendable, type: String, of person: PersonID) async throws {
        if let state = body as? GrantState { repository.note(state) }
        let fact = try await store.write { [stream] db in try stream.append(db, type: type, subject: person, body: body, at: .now) }
        stream.publish(fact)
    }

    /// In the log for no moment that anybody could ask in, and never on the wire.
    func sayIntoTheVoid(_ body: some Encodable & Sendable, type: String, of person: PersonID) async throws {
        let fact = try await store.write { [stream] db in
            let fact = try stream.append(db, type: type, subject: person, body: body, at: .now)
            _ = try StreamLog().release(db, stream.stream, before: .now + .seconds(1), confirmedBy: [])
            return fact
        }
        stream.publish(.init(header: fact.header) { throw Unheard() })
    }

    private struct Unheard: Error {}

    func close() async {
        await runtime.bus.shutdown()
        await store.close()
    }
}

final class SubscriptionStage: Sendable {
    let parts: SubscriptionModule
    let opened: OpenedStore
    let port: Int
    private let declared: DeclaredAnswers
    let hook: Hook
    let ingest = SmallIngest { .now }
    let consentSays: FactSpeaker
    let ingestSays: FactSpeaker
    let requests: Requests
    private let own: Runtime
    private let running: [Task<Void, any Error>]

    /// What the gateway knows of requests, and what consent was asked to end.
    final class Requests: Sendable {
        let scopes = Mutex<[RequestID: FeedScope]>([:])
        let ended = Mutex<[RequestID]>([])
        /// Their tokens prove nobody any more.
        let withdrawn = Mutex<Set<OrganisationID>>([])

        var grants: [GrantID: (window: Range<Int64>, granularity: GrantGranularity)] {
            scopes.withLock { scopes in
                scopes.values.reduce(into: [:]) { $0[$1.grant] = ($1.from.milliseconds..<$1.to.milliseconds, $1.granularity) }
            }
        }
    }

    private init(_ folder: URL) async throws {
        let variables = [
            "TRACKME_STORE_DIRECTORY": folder.appendingPathComponent("store").path,
            "TRACKME_BUS_DIRECTORY": folder.appendingPathComponent("bus").path,
            "TRACKME_BUS_KEYS": folder.appendingPathComponent("keys").path, "TRACKME_HTTP_PORT": "0", "TRACKME_ORG_WEBHOOK_PRIVATE": "true",
        ]
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        func runtime(_ peer: Peer) throws -> Runtime {
            var reader = SettingsReader(environment: variables)
            return try Runtime(peer: peer, settings: SuiteSettings(&reader, peer: peer, httpPort: 0), logger: logger)
        }
        let files = KeyFiles(folder: folder.appendingPathComponent("keys"))
        for peer in Peer.suite { _ = try files.busKeys(of: peer) }
        let requests = Requests()
        var consentMethods = Methods()
        consentMethods.on(EndRequest.self) { asked, _ in
            guard let scope = requests.scopes.withLock({ $0[asked.request] }) else { throw Failure(.notFound, "no such request") }
            requests.ended.withLock { $0.append(asked.request) }
            return RequestState(
                request: asked.request, organisation: asked.organisation, status: .ended, types: scope.types, from: scope.from,
                to: scope.to, granularity: scope.granularity, grant: scope.grant, changedAt: .now, answerBy: .now, receipt: nil)
        }
        var ingestMethods = Methods()
        ingestMethods.on(ReadSampleRanges.self) { [ingest] asked, _ in try await ingest.answer(asked, requests.grants) }
        consentSays = try await FactSpeaker(.grants, runtime(.consent), folder, methods: consentMethods)
        ingestSays = try await FactSpeaker(.arrivals, runtime(.ingest), folder, methods: ingestMethods)
        own = try runtime(.thirdPartyGateway)
        opened = try await OpenedStore(
            on: own, applicationID: 7,
            migrations: [
                GatewaySchema.migrations[0], Migration(2, "subscriptions") { try SubscriptionMigration.create(in: $0) },
                Migration(3, "epochs") { db in
                    try StoreLife.create(in: db)
                    try SubscriptionMigration.addEpochs(to: db)
                },
                Migration(4, "grants") { db in
                    try GrantProjection.create(in: db)
                    try GrantProjection.addMissing(to: db)
                    try SnapshotMarks.create(in: db)
                },
            ], restored: { db in try FeedEpochStore().renew(db, at: .now) })
        var reader = SettingsReader(environment: variables)
        let parts = try await SubscriptionModule(
            SubscriptionSettings(&reader), opened: opened, runtime: own,
            effects: SubscriptionEffects(
                scope: { _, request in requests.scopes.withLock { $0[request] } }, isReleased: { _, _ in true }, admit: Self.admit,
                mayAct: { _, _ in true }, mail: { _, _, _, _ in }))
        let server = HTTPServer(
            .init(title: "Subscriptions", version: "1.0.0", summary: "Under test.", prefix: "thirdparty"), routes: parts.routes, port: 0,
            health: Health(missing: { [] }, metrics: { "" }),
            authenticate: { credentials, _ in
                guard let organisation = OrganisationID(credentials.bearer),
                    !requests.withdrawn.withLock({ $0.contains(organisation) })
                else { throw Problem.unauthorised }
                return .client(.random(), organisation, scopes: Set(Right.allCases.map(\.rawValue)))
            }, logger: logger)
        hook = Hook(logger)
        running =
            parts.services.map { service in Task { try await service.run() } }
            + [Task { try await server.run() }, Task { [server = hook.server] in try await server.run() }]
        port = await server.boundPort
        declared = try DeclaredAnswers(server.routes)
        _ = await hook.server.boundPort
        (self.parts, self.requests) = (parts, requests)
    }

    private static let admit: Admit = { exchange, right in
        guard case .client(let client, let organisation, let scopes) = exchange.caller, scopes.contains(right.rawValue) else {
            throw Problem.notForThisAccount
        }
        return Standing(id: organisation, name: "Test", actor: client.description, rights: Set(Right.allCases), role: nil)
    }

    private func stop() async {
        for task in running { task.cancel() }
        for task in running { _ = try? await task.value }
        await own.bus.shutdown()
        await consentSays.close()
        await ingestSays.close()
        await opened.store.close()
        await opened.keys.close()
    }

    static func run<Value>(_ body: (SubscriptionStage) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in
            let stage = try await SubscriptionStage(folder)
            do {
                let value = try await body(stage)
                await stage.stop()
                return value
            } catch {
                await stage.stop()
                throw error
            }
        }
    }

    // MARK: What happens

    /// Consent grants, the amount is paid: the subscription runs.
    func subscribe(_ organisation: OrganisationID, types: [Metric] = [.heartRate]) async throws -> (scope: FeedScope, person: PersonID) {
        let person = PersonID.random()
        let scope = FeedScope(
            request: .random(), organisation: organisation, person: person, grant: .random(), types: types,
            from: .now - .seconds(3600), to: .now + .seconds(86_400), granularity: .seconds, isSubscription: true)
        requests.scopes.withLock { $0[scope.request] = scope }
        try await sayGrant(scope, person, active: true, version: 1)
        try await eventually("consent is heard", isTrue: { [parts] in parts.subscriptions.gate.isOpen })
        try await opened.store.write { [parts] db in try parts.repository.begin(db, scope.request) }
        return (scope, person)
    }

    func sayGrant(_ scope: FeedScope, _ person: PersonID, active: Bool, version: Int64) async throws {
        let state = GrantState(
            grant: scope.grant, request: scope.request, person: person, organisation: scope.organisation, types: scope.types,
            from: scope.from, to: scope.to, granularity: scope.granularity, active: active, version: version)
        try await consentSays.say(state, type: GrantState.type, of: person)
    }

    func upload(_ scope: FeedScope, _ person: PersonID, _ values: [Double], ending at: Timestamp = .now) async throws {
        let last = at.milliseconds / 1000 * 1000 - 1000
        let times = values.indices.map { last - Int64(values.count - 1 - $0) * 1000 }
        for (time, value) in zip(times, values) { ingest.keep(scope.grant, .heartRate, time, value) }
        let fact = DataArrived(
            metric: .heartRate, from: Timestamp(milliseconds: times.first ?? last), to: Timestamp(milliseconds: last + 1))
        try await ingestSays.say(fact, type: DataArrived.type, of: person)
    }

    // MARK: HTTP

    struct Reply {
        let status: Int
        let headers: [String: String]
        let body: Data

        func decoded<Value: Decodable>(as _: Value.Type = Value.self) throws -> Value { try JSONDecoder().decode(Value.self, from: body) }
        var problem: String? { (try? decoded(as: Problem.self))?.type.replacing(Problem.prefix, with: "") }
    }

    struct Page: Decodable {
        struct Item: Decodable {
            var number: Int64
            var value: Double?
        }

        var items: [Item]
        var next: String?
        var head: Int64
    }

    func request(
        _ method: String, _ path: String, as organisation: OrganisationID?, _ body: String? = nil, headers: [String: String] = [:]
    ) async throws -> Reply {
        let (data, response) = try await URLSession.shared.data(for: prepared(method, path, organisation, body, headers))
        let http = response as? HTTPURLResponse
        let fields = (http?.allHeaderFields ?? [:]).reduce(into: [String: String]()) { $0["\($1.key)".lowercased()] = "\($1.value)" }
        declared.check(method, "/thirdparty/v1" + path, http?.statusCode ?? 0, fields.keys)
        return Reply(status: http?.statusCode ?? 0, headers: fields, body: data)
    }

    struct NotAnAddress: Error {}

    func prepared(
        _ method: String, _ path: String, _ organisation: OrganisationID?, _ body: String? = nil, _ headers: [String: String] = [:]
    ) throws -> URLRequest {
        guard let url = URL(string: "http://127.0.0.1:\(port)/thirdparty/v1\(path)") else { throw NotAnAddress() }
        var request = URLRequest(url: url)
        request.httpMethod = method
        if let organisation { request.setValue("Bearer \(organisation)", forHTTPHeaderField: "Authorization") }
        if let body {
            request.httpBody = Data(body.utf8)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    /// An endpoint at this stage's own receiver, verified.
    func addEndpoint(_ organisation: OrganisationID) async throws -> EndpointItem {
        let item: EndpointItem = try await request("POST", "/endpoints", as: organisation, #"{"url":"\#(await hook.url)"}"#).decoded()
        _ = try await request("POST", "/endpoints/\(item.id)/verification", as: organisation)
        return item
    }
}
