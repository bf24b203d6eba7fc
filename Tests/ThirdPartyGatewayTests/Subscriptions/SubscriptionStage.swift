// Subscriptions between real neighbours: grants and arrivals over the bus, organisations over HTTP, a receiver with a server of its own.

import Bus
import Contracts
import Foundation
import FoundationNetworking
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit

@testable import ThirdPartyGateway

final class SubscriptionStage: Sendable {
    let parts: SubscriptionModule
    let opened: OpenedStore
    private let stores: GatewayStores
    let port: Int
    private let declared: DeclaredAnswers
    let hook: Hook
    let ingest = SmallIngest { .now }
    let consentSays: FactSpeaker
    let ingestSays: FactSpeaker
    let requests: Requests
    private let harness: Harness

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
        let harness = Harness(folder, ["TRACKME_ORG_WEBHOOK_PRIVATE": "true"])
        try harness.introducePeers()
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
        consentSays = try await FactSpeaker(.grants, harness.runtime(.consent), folder, methods: consentMethods)
        ingestSays = try await FactSpeaker(.arrivals, harness.runtime(.ingest), folder, methods: ingestMethods)
        let own = try harness.runtime(.thirdPartyGateway)
        opened = try await OpenedStore(
            on: own, applicationID: 7, migrations: GatewaySchema.migrations,
            restored: { db in try FeedEpochStore().renew(db, at: .now) })
        var reader = harness.reader
        let settings = GatewaySettings(&reader)
        stores = try GatewayStores(
            settings, opened: opened,
            outbox: MessageOutbox(in: opened.store, sealedUnder: .random(), logger: harness.logger) { _ in }, on: own)
        let parts = try await SubscriptionModule(
            settings.subscriptions, on: stores, runtime: own, admit: Self.admit, admitAnew: Self.admit)
        let server = HTTPServer(
            .init(title: "Subscriptions", version: "1.0.0", summary: "Under test.", prefix: "thirdparty"), routes: parts.routes, port: 0,
            health: Health(missing: { [] }, metrics: { "" }),
            authenticate: { credentials, _ in
                guard let organisation = OrganisationID(credentials.bearer),
                    !requests.withdrawn.withLock({ $0.contains(organisation) })
                else { throw Problem.unauthorised }
                return .client(.random(), organisation, scopes: Set(Right.allCases.map(\.rawValue)))
            }, logger: harness.logger)
        hook = Hook(harness.logger)
        for service in parts.services { harness.run { try await service.run() } }
        for one in [server, hook.server] { harness.run { try await one.run() } }
        port = await server.boundPort
        declared = try DeclaredAnswers(server.routes)
        _ = await hook.server.boundPort
        (self.parts, self.requests, self.harness) = (parts, requests, harness)
    }

    private static let admit: Admit = { exchange, right in
        guard case .client(let client, let organisation, let scopes) = exchange.caller, scopes.contains(right.rawValue) else {
            throw Problem.notForThisAccount
        }
        return Standing(id: organisation, name: "Test", actor: client.description, rights: Set(Right.allCases), role: nil)
    }

    private func stop() async {
        await harness.stop()
        await consentSays.close()
        await ingestSays.close()
        await opened.store.close()
        await opened.keys.close()
    }

    static func run<Value>(_ body: (SubscriptionStage) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in
            try await withHarness(SubscriptionStage(folder), body) { await $0.stop() }
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
        try await opened.store.write { [stores] db in
            try stores.organisations.put(db, organisation)
            try RequestStore().add(db, MadeRequest(approved: scope, at: .now))
            try stores.bills.put(db, of: scope.request, organisation)
            try stores.subscriptions.begin(db, scope.request)
        }
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

    typealias Reply = HarnessAnswer

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
        let reply = try await HarnessClient(port: port).send(prepared(method, path, organisation, body, headers))
        declared.check(method, "/thirdparty/v1" + path, reply.status, reply.headers.keys)
        return reply
    }

    func prepared(
        _ method: String, _ path: String, _ organisation: OrganisationID?, _ body: String? = nil, _ headers: [String: String] = [:]
    ) throws -> URLRequest {
        try HarnessClient(port: port).request(
            method, "/thirdparty/v1\(path)", token: organisation?.description, body: body.map { Data($0.utf8) },
            type: body == nil ? nil : "application/json", headers: headers)
    }

    /// An endpoint at this stage's own receiver, verified.
    func addEndpoint(_ organisation: OrganisationID) async throws -> EndpointItem {
        try await opened.store.write { [stores] db in try stores.organisations.put(db, organisation) }
        let item: EndpointItem = try await request("POST", "/endpoints", as: organisation, #"{"url":"\#(await hook.url)"}"#).decoded()
        _ = try await request("POST", "/endpoints/\(item.id)/verification", as: organisation)
        return item
    }
}
