// Group requests in a temporary folder: a real store, real HTTP, a real bus; the anonymiser at its other end is played by the test.

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

@testable import ThirdPartyGateway

/// What the test decides from outside, and the anonymiser as far as group requests need it.
final class GroupWorld: Sendable {
    private struct State {
        /// In September 2026.
        var now = Timestamp(milliseconds: 1_790_000_000_000)
        var outcome = ReleaseGroup.Reply()
        /// First answers, as the anonymiser keeps them.
        var answered: [GroupRequestID: ReleaseGroup.Reply] = [:]
        var asked: [ReleaseGroup] = []
        var entries: [GroupEntry] = []
        /// What judging takes.
        var judging = Duration.zero
        var losesAnswers = false
        var pauses: [Duration] = []
        var reads: [ReadGroupRelease] = []
        var ended: [EndGroupSubscription] = []
    }

    private let state = Mutex(State())

    var now: Timestamp { state.withLock { $0.now } }
    var asked: [ReleaseGroup] { state.withLock { $0.asked } }
    var pauses: [Duration] { state.withLock { $0.pauses } }
    var reads: [ReadGroupRelease] { state.withLock { $0.reads } }
    var ended: [EndGroupSubscription] { state.withLock { $0.ended } }

    func pass(_ time: Duration) { state.withLock { $0.now = $0.now + time } }
    func loseAnswers(_ lost: Bool) { state.withLock { $0.losesAnswers = lost } }

    /// - Parameter judging: how long the next ones take.
    func refuse(_ reason: GroupRefusal, after judging: Duration = .zero) {
        state.withLock { ($0.outcome, $0.judging) = (.init(refusal: reason), judging) }
    }

    func blame(_ faults: GroupFormFault...) { state.withLock { $0.outcome = .init(faults: faults) } }

    func release(_ entries: [GroupEntry], attributes: [String] = ["age", "sex"]) {
        let day = Timestamp(milliseconds: 1_767_225_600_000)
        let release = GroupRelease(
            product: "records", types: Array(Set(entries.map(\.type))).sorted(), from: day, to: day + .seconds(86_400), granularity: "hour",
            attributes: attributes, individuals: 4150, tables: 1, entries: entries.count)
        state.withLock { ($0.outcome, $0.entries) = (.init(release: release), entries) }
    }

    /// Opens what is asked for, whose windows all have these entries.
    func subscribe(_ entries: [GroupEntry] = [.at(hour: 8)]) {
        let subscription = GroupSubscription(
            product: "records", types: ["heart-rate"], from: now, to: now + .seconds(10 * 86_400), granularity: "hour",
            attributes: ["age", "sex"])
        state.withLock { ($0.outcome, $0.entries) = (.init(subscription: subscription), entries) }
    }

    /// A copy of the anonymiser's store from before everything is put in its place.
    func forget() { state.withLock { $0.answered = [:] } }

    // MARK: The anonymiser

    private func end(_ question: EndGroupSubscription) throws {
        try state.withLock { state in
            guard !state.losesAnswers else { throw Failure(.unavailable, "not now") }
            guard state.answered[question.request]?.subscription != nil else { throw Failure(.notFound, "there is no such subscription") }
            state.ended.append(question)
        }
    }

    private func judge(_ question: ReleaseGroup) -> ReleaseGroup.Reply {
        state.withLock { state in
            state.asked.append(question)
            state.now = state.now + state.judging
            if let first = state.answered[question.request] { return first }
            state.answered[question.request] = state.outcome
            return state.outcome
        }
    }

    private func read(_ question: ReadGroupRelease) throws -> ReadGroupRelease.Reply {
        try state.withLock { state in
            let known = state.answered[question.request]
            guard question.window == nil ? known?.release != nil : known?.subscription != nil else {
                throw Failure(.notFound, "nothing is released")
            }
            if question.limit == 0 { return .init(entries: [], next: nil) }
            guard let from = Int(question.after ?? "0"), (1...ReadGroupRelease.mostEntries).contains(question.limit) else {
                throw Failure(.invalid, "after: no page")
            }
            state.reads.append(question)
            let page = state.entries.dropFirst(from).prefix(question.limit)
            let end = from + page.count
            return .init(entries: Array(page), next: end < state.entries.count ? String(end) : nil)
        }
    }

    var methods: Methods {
        var methods = Methods()
        methods.on(ReleaseGroup.self) { [self] asked, _ in judge(asked) }
        methods.on(ReadGroupRelease.self) { [self] asked, _ in try read(asked) }
        methods.on(EndGroupSubscription.self) { [self] asked, _ in
            try end(asked)
            return Nothing()
        }
        methods.on(ReadGroupCatalogue.self) { _, _ in
            .init(
                types: [.init(code: "heart-rate", unit: "/min", components: 1)], granularities: ["hour", "day"],
                products: ["records", "statistics"], attributes: ["age", "sex"],
                domains: [.init(attribute: "weight", least: 30, most: 200, step: 5)], sexes: ["female", "male"], occupations: ["student"],
                minIndividuals: 1000, closedThrough: Timestamp(milliseconds: 1_767_225_600_000))
        }
        methods.on(FindGroupPlaces.self) { asked, _ in
            .init(places: "lombardia".hasPrefix(asked.text.lowercased()) ? [.init(code: "IT-25", name: "Lombardia", level: "region")] : [])
        }
        return methods
    }

    /// As they go over the bus, but for answers that get lost on their way.
    func questions(on runtime: Runtime) async throws -> GroupQuestions {
        var questions = try await GroupQuestions(on: runtime)
        let release = questions.release
        questions.release = { [self] asked in
            let reply = try await release(asked)
            guard !state.withLock({ $0.losesAnswers }) else { throw Failure(.deadline, "no answer") }
            return reply
        }
        return questions
    }

    /// Time passes by what is waited, and nobody waits.
    func pause(_ time: Duration) {
        state.withLock { state in
            state.pauses.append(time)
            state.now = state.now + time
        }
    }
}

/// One running part of the gateway. Opening it again in the same folder is a restart.
final class GroupHarness: Sendable {
    let world: GroupWorld
    let parts: GroupModule
    let opened: OpenedStore
    let stores: GatewayStores
    let organisation: OrganisationID
    private let runtime: Runtime
    let port: Int
    private let declared: DeclaredAnswers
    private let harness: Harness

    private init(
        _ folder: URL, _ environment: [String: String], _ world: GroupWorld, _ organisation: OrganisationID, _ prices: PriceList?
    ) async throws {
        (self.world, self.organisation) = (world, organisation)
        harness = Harness(folder, environment)
        try harness.introducePeers()
        try await harness.runtime(.anonymiser).answer(world.methods)
        runtime = try harness.runtime(.thirdPartyGateway)
        var reader = harness.reader
        let settings = GatewaySettings(&reader)
        opened = try await OpenedStore(on: runtime, applicationID: 0x5465_7374, migrations: GatewaySchema.migrations)
        let outbox = MessageOutbox(in: opened.store, sealedUnder: try runtime.key("outbox"), logger: harness.logger) { _ in }
        stores = try GatewayStores(settings, opened: opened, outbox: outbox, on: runtime, clock: { world.now })
        parts = try GroupModule(
            on: stores, runtime: runtime, questions: try await world.questions(on: runtime),
            admit: { exchange, right in
                guard case .client(let client, let organisation, let scopes) = exchange.caller else { throw Problem.notForThisAccount }
                guard scopes.contains(right.rawValue) else { throw Problem.missingRight }
                return Standing(
                    id: organisation, name: "Istituto Prova", actor: client.description, rights: Right.named(by: scopes), role: nil)
            }, pause: { world.pause($0) })
        try await opened.store.write { [stores] db in
            try stores.organisations.put(db, organisation)
            if let prices { _ = try PriceListStore().add(db, prices, at: world.now) }
        }
        let server = HTTPServer(
            .init(title: "Gateway", version: "1", summary: "Test.", prefix: "thirdparty"), routes: parts.routes, port: 0,
            health: Health(missing: { [] }, metrics: { "" }),
            authenticate: { credentials, _ in
                guard let organisation = OrganisationID(credentials.bearer) else { throw Problem.unauthorised }
                return .client(ClientID(bits: 1), organisation, scopes: Set(Right.allCases.map(\.rawValue)))
            }, logger: harness.logger)
        declared = try DeclaredAnswers(server.routes)
        harness.run { try await server.run() }
        harness.closeAtEnd(opened)
        port = await server.boundPort
    }

    static func run<Value>(
        in folder: URL, environment: [String: String] = [:], world: GroupWorld, of organisation: OrganisationID,
        prices: PriceList? = nil, _ body: (GroupHarness) async throws -> Value
    ) async throws -> Value {
        try await withHarness(GroupHarness(folder, environment, world, organisation, prices), body) { await $0.harness.stop() }
    }

    static func run<Value>(
        environment: [String: String] = [:], prices: PriceList? = nil, _ body: (GroupHarness) async throws -> Value
    ) async throws -> Value {
        try await withTemporaryFolder { folder in
            try await run(in: folder, environment: environment, world: GroupWorld(), of: .random(), prices: prices, body)
        }
    }

    /// As `trackme org tier` does.
    func setTier(_ tier: OrganisationTier) async throws {
        let (table, organisation, now) = (stores.organisations.table, organisation, world.now)
        try await opened.store.write { db in try table.setTier(db, organisation, tier, at: now) }
    }

    /// Does what the service does in the background, until the end.
    func workInBackground() {
        harness.run { [parts] in try await parts.service.run() }
    }

    /// What the anonymiser says of a window, as the follower takes it.
    func closes(_ request: GroupRequestID, _ sequence: Int, _ status: GroupWindowStatus) async throws {
        let from = world.now
        let window = GroupWindowClosed(request: request, sequence: sequence, from: from, to: from + .seconds(3600), status: status)
        try await opened.store.write { [parts] db in try parts.windows.receive(db, window) }
    }

    /// Nobody empties the outbox.
    func mails() async throws -> [SendMessage] {
        let key = try runtime.key("outbox")
        return try await opened.store.read { db in try OrganisationRepository.waitingMails(db, sealedUnder: key) }
    }

    /// An address for webhooks to which nothing is sent, so that messages wait.
    func addEndpoint() async throws {
        let (organisation, now) = (organisation, world.now)
        try await opened.store.write { db in
            try db.execute(
                sql: """
                    INSERT INTO endpoints (endpoint, organisation, state, sealed, health, created_at)
                    VALUES (?, ?, 'active', x'00', '{}', ?)
                    """,
                arguments: [WebhookEndpointID.random(), organisation, now])
        }
    }

    /// What webhooks wait to be told of windows.
    func notices() async throws -> [GroupWindowNotice] {
        try await opened.store.read { db in
            try String.fetchAll(db, sql: "SELECT content FROM webhook_messages ORDER BY number").compactMap { text -> GroupWindowNotice? in
                guard case .window(let notice) = try JSONDecoder().decode(WebhookContent.self, from: Data(text.utf8)) else { return nil }
                return notice
            }
        }
    }

    // MARK: HTTP

    func call(
        _ method: String, _ path: String, _ body: String? = nil, as other: OrganisationID? = nil, headers: [String: String] = [:]
    ) async throws -> HarnessAnswer {
        let client = HarnessClient(port: port)
        let reply = try await client.send(
            client.request(
                method, "/thirdparty/v1\(path)", token: "\(other ?? organisation)", body: body.map { Data($0.utf8) },
                type: body == nil ? nil : "application/json", headers: headers))
        declared.check(method, "/thirdparty/v1" + path, reply.status, reply.headers.keys)
        return reply
    }

    /// A form with these members in place of its own.
    static func form(
        filters: String = #"{"age":{"from":30,"to":50},"residence":["IT-MI"]}"#, types: String = #"["heart-rate"]"#,
        from: String = "2026-01-01T00:00:00Z", to: String = "2026-01-02T00:00:00Z", more: String = ""
    ) -> String {
        #"{"filters":\#(filters),"types":\#(types),"from":"\#(from)","to":"\#(to)","granularity":"hour"\#(more)}"#
    }

    struct Missing: Error { var answer: String }

    /// Sends one that is released.
    func accepted(_ form: String = GroupHarness.form()) async throws -> GroupRequestID {
        let answer = try await call("POST", "/group-requests", form)
        guard answer.status == 201, let id = (answer.json["id"] as? String).flatMap({ GroupRequestID($0) }) else {
            throw Missing(answer: answer.text)
        }
        return id
    }

    /// By transfer.
    func pay(_ id: GroupRequestID) async throws {
        try await bill(id) { try $0.transferred(at: $1) }
    }

    func status(of id: GroupRequestID) async throws -> PaymentStatus? {
        try await opened.store.read { [stores] db in try stores.payments.bill(db, of: id.billed)?.status }
    }

    func giveBack(_ id: GroupRequestID) async throws {
        try await bill(id) { try $0.refundOrdered(at: $1) }
    }

    private func bill(_ id: GroupRequestID, _ event: @escaping @Sendable (inout Bill, Timestamp) throws -> [PaymentEffect]) async throws {
        let (paymentStore, now) = (stores.payments.paymentStore, world.now)
        try await opened.store.write { db in _ = try paymentStore.change(db, of: id.billed) { try event(&$0, now) } }
    }

    /// Everything that lies in the files of the store.
    func everyByte() throws -> [UInt8] {
        var bytes: [UInt8] = []
        let files = FileManager.default.enumerator(at: runtime.settings.storeFolder, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL { bytes += (try? Data(contentsOf: file)).map { [UInt8]($0) } ?? [] }
        return bytes
    }
}

extension GroupEntry {
    /// Of that hour of 1 January 2026 (UTC).
    static func at(hour: Int, type: String = "heart-rate", age: String = "30-39", values: [Int] = [61_500]) -> GroupEntry {
        let from = Timestamp(milliseconds: 1_767_225_600_000) + .seconds(Int64(hour) * 3600)
        return GroupEntry(
            id: String(repeating: "0", count: 30) + (hour < 10 ? "0" : "") + String(hour), type: type, from: from,
            to: from + .seconds(3600), classes: ["age": age, "sex": "female"], values: values, individuals: 10)
    }
}
