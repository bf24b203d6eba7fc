// Sharing as a whole in a temporary folder: a real store, real sockets, real HTTP, and a clock that the test sets.

import Bus
import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit

@testable import Consent

/// What a test decides from outside: the time, who the people are, and where a transaction breaks.
final class SharingWorld: Sendable {
    struct Somebody: Sendable {
        var code: String
        var person: SharingPerson
    }

    struct Fault: Error {}

    private struct State {
        var now = Timestamp(milliseconds: 1_800_000_000_000)
        var people: [Somebody] = []
        var messages: [SendMessage] = []
        var guardiansAsked: [RequestID] = []
        var choices: [AnonymousChoice] = []
        var breaksNext = false
    }

    private let state = Mutex(State())

    var now: Timestamp { state.withLock { $0.now } }
    var messages: [SendMessage] { state.withLock { $0.messages } }
    var guardiansAsked: [RequestID] { state.withLock { $0.guardiansAsked } }
    var choices: [AnonymousChoice] { state.withLock { $0.choices } }
    var people: [Somebody] { state.withLock { $0.people } }

    func pass(_ time: Duration) {
        state.withLock { $0.now = $0.now + time }
    }

    func take(_ message: SendMessage) {
        state.withLock { $0.messages.append(message) }
    }

    func add(_ somebody: Somebody) {
        state.withLock { $0.people.append(somebody) }
    }

    /// The next transaction that looks a person up throws, as a full disk or a crash would.
    func breakNext() {
        state.withLock { $0.breaksNext = true }
    }

    func mend() {
        state.withLock { $0.breaksNext = false }
    }

    private func find(_ match: (Somebody) -> Bool) throws -> SharingPerson? {
        try state.withLock { state in
            guard !state.breaksNext else { throw Fault() }
            return state.people.first(where: match)?.person
        }
    }

    var sharing: SharingPersonStore {
        SharingPersonStore(
            withFiscalCode: { [self] _, code, _ in try find { $0.code == code } },
            withID: { [self] _, id, _ in try find { $0.person.person == id } },
            askGuardian: { [self] _, _, request, _, _ in state.withLock { $0.guardiansAsked.append(request) } },
            recordChoice: { [self] _, _, choice, _ in state.withLock { $0.choices.append(choice) } })
    }
}

/// One running part of consent. Opening it again in the same folder is a restart.
final class SharingHarness: Sendable {
    let world: SharingWorld
    let parts: SharingModule
    let opened: OpenedStore
    let runtime: Runtime
    let settings: SharingSettings
    let outbox: MessageOutbox
    let accesses: Store
    private let harness: Harness

    static let migrations = [
        Migration(1, "what sharing stands on") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try ConsumerPositions.create(in: db)
            try AnswerTable.create(in: db)
            try JobTable.create(in: db)
            try AccountStore.create(in: db)
            try AccountStore.addReaders(in: db)
            try SharingMigration.create(in: db)
            try SharingStore.createRunning(in: db)
            try EarlierAccesses.createMark(in: db)
        }
    ]

    private static let gatewayMethods = ["open-request", "read-request", "end-request"]

    private init(_ folder: URL, _ world: SharingWorld, _ environment: [String: String]) async throws {
        (self.world, harness) = (world, Harness(folder, environment))
        let runtime = try harness.runtime(.consent)
        self.runtime = runtime
        if (try? runtime.keys.publicPeer(.thirdPartyGateway)) == nil {
            try runtime.keys.makeBusKeys(
                KeyFiles.PublicPeer(peer: .thirdPartyGateway, key: "", hear: ["consent.requests"], ask: Self.gatewayMethods))
            _ = try runtime.keys.busKeys(of: .ingest)
            runtime.admitPeers()
        }
        opened = try await OpenedStore(on: runtime, applicationID: 0x5465_7374, migrations: Self.migrations)
        accesses = try await AccessMoveStore.open(on: runtime, beside: opened.store)
        outbox = MessageOutbox(in: opened.store, sealedUnder: try runtime.key("outbox"), logger: runtime.logger) { world.take($0) }
        var reader = SettingsReader(environment: environment)
        settings = SharingSettings(&reader)
        let relays = SharingRelays(
            grants: try await opened.relay(of: .grants), requests: try await opened.relay(of: .requests))
        let parts = try SharingModule(
            on: .init(
                store: opened.store, keys: opened.keys, answers: opened.answers, epoch: opened.epoch, outbox: outbox, relays: relays,
                accesses: accesses),
            settings: settings, people: world.sharing, runtime: runtime, clock: { world.now })
        self.parts = parts
        var methods = Methods(memory: opened.answers)
        parts.register(in: &methods)
        StreamSource(
            families: SharingModule.families, store: opened.store, render: { _, row in try parts.render(row) },
            snapshot: { try await parts.snapshot($0) }
        ).register(in: &methods)
        harness.atEnd { [accesses] in await accesses.close() }
        harness.closeAtEnd(opened)
        try await runtime.answer(methods)
    }

    /// Another peer beside consent.
    func peer(_ peer: Peer) throws -> Runtime {
        let made = try harness.runtime(peer)
        runtime.admitPeers()
        return made
    }

    /// Runs `body` with sharing up in the folder.
    static func run<Value>(
        in folder: URL, world: SharingWorld, environment: [String: String] = [:], _ body: (SharingHarness) async throws -> Value
    ) async throws -> Value {
        try await withHarness(SharingHarness(folder, world, environment), body) { await $0.harness.stop() }
    }

    static func run<Value>(environment: [String: String] = [:], _ body: (SharingHarness) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in
            try await run(in: folder, world: SharingWorld(), environment: environment, body)
        }
    }

    /// With somebody who has this fiscal code.
    static func run<Value>(with code: String, _ body: (SharingHarness, SharingPerson) async throws -> Value) async throws -> Value {
        try await run { harness in try await body(harness, harness.addPerson(code)) }
    }

    // MARK: People

    /// Somebody with an account and a key.
    @discardableResult
    func addPerson(_ code: String, name: String = "Ada", isChild: Bool = false) async throws -> SharingPerson {
        let id = PersonID.random()
        _ = try await opened.keys.makeKey(for: id)
        let now = world.now
        let account = try await opened.store.write { db in
            try AccountStore().add(
                db, .person(id), keys: .init(email: Digest.sha256(Array("\(code)@x".utf8)), fiscalCode: Digest.sha256(Array(code.utf8))),
                profile: [1], state: .active, at: now)
        }
        let person = SharingPerson(
            account: account, person: id, name: name, mail: "\(code.lowercased())@example.org", language: .italian, needsGuardian: isChild)
        world.add(.init(code: code, person: person))
        return person
    }

    // MARK: What an organisation does

    func context(_ id: String = UUID().uuidString) -> RequestContext {
        RequestContext(
            peer: .thirdPartyGateway, id: id, method: OpenRequest.method, deadline: .now + .seconds(60), trace: "t-\(id.prefix(8))")
    }

    func form(
        _ code: String, by organisation: OrganisationID, types: [Metric] = [.heartRate], days: Range<Int> = -30..<30,
        granularity: GrantGranularity = .minutes, purpose: String = "A study of sleep", name: String = "Istituto Prova"
    ) -> OpenRequest {
        OpenRequest(
            organisation: organisation, organisationName: name, fiscalCode: code, types: types,
            from: world.now + .seconds(days.lowerBound * 86_400), to: world.now + .seconds(days.upperBound * 86_400),
            granularity: granularity, purpose: purpose)
    }

    func open(_ form: OpenRequest) async throws -> RequestID {
        try await parts.service.open(form, context()).request
    }

    func answer(_ request: RequestID, of person: PersonID, accept: Bool) async throws -> SharingService.Outcome {
        try await parts.service.answer(request, of: person, accept: accept, trace: "")
    }

    /// Opens and accepts.
    func grant(_ form: OpenRequest, to person: PersonID) async throws -> SharingRequest {
        let id = try await open(form)
        _ = try await answer(id, of: person, accept: true)
        return try await request(id)
    }

    func request(_ id: RequestID) async throws -> SharingRequest {
        guard let row = try await opened.store.read({ db in try SharingStore().find(db, id) }) else { throw Missing() }
        return row.request
    }

    struct Missing: Error {}

    /// Runs the outbox until it is empty.
    func handOver() async throws {
        let sending = Task { try await outbox.run() }
        try await eventually("the outbox is empty") { try await opened.store.read { db in try self.outbox.waiting(db) } == 0 }
        sending.cancel()
    }

    // MARK: What the store holds

    func all() async throws -> [StoredRequest] {
        try await opened.store.read { db in try SharingStore().page(db, after: 0, limit: 10_000) }
    }

    /// The facts of one stream as a consumer would be told them, oldest first.
    func facts<Fact: Decodable & Sendable>(_ stream: String, as type: Fact.Type) async throws -> [Fact] {
        let parts = parts
        return try await opened.store.read { db in
            try StreamLog().rows(db, stream, from: 1, limit: 100_000).compactMap { row in
                guard !row.isErased, let payload = try parts.render(row) else { return nil }
                return try JSONDecoder().decode(Fact.self, from: Data(payload))
            }
        }
    }

    func grantFacts() async throws -> [GrantState] {
        try await facts(SharingEventStore.grantsStream, as: GrantState.self)
    }

    func requestFacts() async throws -> [RequestState] {
        try await facts(SharingEventStore.requestsStream, as: RequestState.self)
    }
}
