// Requests, data and files in a temporary folder: a real store, real keys, real HTTP; consent and ingest are played by the test.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit

@testable import ThirdPartyGateway

/// What the test decides from outside, and consent and ingest as far as requests need them.
final class RequestWorld: Sendable {
    struct Asked: Sendable {
        var question: String
        var form: OpenRequest
    }

    private struct State {
        /// Begins with the real time, by which doors look at forms; then it stands still until told.
        var now = Timestamp.now
        var people: [String: PersonID] = [:]
        var opened: [String: OpenRequest.Reply] = [:]
        var asked: [Asked] = []
        var requests: [RequestID: (state: RequestState, person: PersonID)] = [:]
        var unknown = 0
        var consentIsSilent = false
        var ingestIsSilent = false
        /// What consent says is not known here for now.
        var isConsentUnheard = false
        var denies: String?
        var (samples, damaged): ([Metric: [Sample]], [Metric: [DamagedPeriod]]) = ([:], [:])
        var reads: [ReadSamples] = []
        var suspended: Set<OrganisationID> = []
    }

    static let unknownPerDay = 3

    private let state = Mutex(State())

    var now: Timestamp { state.withLock { $0.now } }
    var asked: [Asked] { state.withLock { $0.asked } }
    var reads: [ReadSamples] { state.withLock { $0.reads } }

    func pass(_ time: Duration) { state.withLock { $0.now = $0.now + time } }
    func silenceConsent(_ silent: Bool) { state.withLock { $0.consentIsSilent = silent } }
    func stopHearingConsent(_ unheard: Bool) { state.withLock { $0.isConsentUnheard = unheard } }
    func silenceIngest(_ silent: Bool) { state.withLock { $0.ingestIsSilent = silent } }
    func deny(_ reason: String?) { state.withLock { $0.denies = reason } }
    func suspend(_ organisation: OrganisationID) { state.withLock { _ = $0.suspended.insert(organisation) } }
    func put(_ samples: [Sample]) {
        state.withLock { state in for sample in samples { state.samples[sample.type, default: []].append(sample) } }
    }
    func damage(_ type: Metric, _ periods: [DamagedPeriod]) { state.withLock { $0.damaged[type] = periods } }

    /// Somebody with a fiscal code.
    func add(_ code: String) -> PersonID {
        let person = PersonID.random()
        state.withLock { $0.people[code] = person }
        return person
    }

    // MARK: Consent

    func open(_ question: String, _ form: OpenRequest) throws -> OpenRequest.Reply {
        try state.withLock { state in
            guard !state.consentIsSilent else { throw Failure(.deadline, "no answer") }
            state.asked.append(Asked(question: question, form: form))
            if let first = state.opened[question] { return first }
            guard state.unknown < Self.unknownPerDay else {
                throw Failure(.forbidden, "too many unknown fiscal codes were asked for today")
            }
            guard let person = state.people[form.fiscalCode] else {
                state.unknown += 1
                throw Failure(.notFound, "fiscalCode: no such person; check the code")
            }
            let covering = state.requests.values.first { known in
                known.person == person && known.state.organisation == form.organisation
                    && [.pending, .approved].contains(known.state.status) && !Set(known.state.types).isDisjoint(with: form.types)
                    && known.state.from < form.to && form.from < known.state.to
            }
            if let covering { throw Failure(.conflict, "an open request already covers this: \(covering.state.request)") }
            let request = RequestState(
                request: .random(), organisation: form.organisation, status: .pending, types: form.types, from: form.from, to: form.to,
                granularity: form.granularity, grant: nil, changedAt: state.now, answerBy: state.now + .seconds(86_400), receipt: nil)
            state.requests[request.request] = (request, person)
            let reply = OpenRequest.Reply(
                request: request.request, status: .pending, isSubscription: form.to > state.now, answerBy: request.answerBy)
            state.opened[question] = reply
            return reply
        }
    }

    /// The next state of a request as consent would say it.
    func change(_ id: RequestID, to status: RequestStatus, types: [Metric]? = nil) throws -> (state: RequestState, person: PersonID) {
        try state.withLock { state in
            guard var known = state.requests[id] else { throw Failure(.notFound, "there is no such request") }
            known.state.status = status
            known.state.changedAt = state.now
            if let types { known.state.types = types }
            if status == .approved, known.state.grant == nil { known.state.grant = .random() }
            state.requests[id] = known
            return known
        }
    }

    func current(_ id: RequestID) throws -> (state: RequestState, person: PersonID) {
        try state.withLock { state in
            guard let known = state.requests[id] else { throw Failure(.notFound, "there is no such request") }
            return known
        }
    }

    func end(_ asked: EndRequest) throws -> RequestState {
        let known = try current(asked.request)
        guard !state.withLock({ $0.consentIsSilent }) else { throw Failure(.deadline, "no answer") }
        if known.state.status == .ended { return known.state }
        guard known.state.status == .approved else { throw Failure(.conflict, "only an approved request can be ended") }
        return try change(asked.request, to: .ended).state
    }

    // MARK: Ingest

    func read(_ asked: ReadSamples) throws -> ReadSamples.Reply {
        try state.withLock { state in
            guard !state.ingestIsSilent else { throw Failure(.deadline, "no answer") }
            if let reason = state.denies { throw Failure(.forbidden, reason) }
            guard let known = state.requests.values.first(where: { $0.state.grant == asked.grant }), known.state.status == .approved,
                known.state.organisation == asked.organisation, known.state.types.contains(asked.type), known.state.from <= asked.from,
                asked.to <= known.state.to
            else { throw Failure(.forbidden, "the grant is not in force") }
            state.reads.append(asked)
            let after = asked.after.flatMap { Int64($0) } ?? .min
            let found = (state.samples[asked.type] ?? []).filter {
                $0.at >= asked.from && $0.at < asked.to && $0.at.milliseconds > after
            }.sorted { $0.at < $1.at }
            let page = Array(found.prefix(asked.limit))
            let columns = SampleColumns(
                of: asked.type, times: page.map(\.at.milliseconds), values: page.compactMap(\.value),
                positions: asked.type == .position ? page.compactMap(\.position) : [])
            return ReadSamples.Reply(
                columns: columns, next: found.count > page.count ? page.last.map { String($0.at.milliseconds) } : nil,
                damaged: state.damaged[asked.type])
        }
    }

    var dependencies: RequestDependencies {
        RequestDependencies(
            questions: RequestBusRoutes(
                open: { [self] question, form in try open(question, form) }, end: { [self] _, asked in try end(asked) }),
            data: GrantedData { [self] asked in try read(asked) },
            admit: { [self] exchange, right in
                guard case .client(let client, let organisation, let scopes) = exchange.caller else { throw Problem.notForThisAccount }
                guard !state.withLock({ $0.suspended.contains(organisation) }) else {
                    throw Problem.organisationSuspended.saying("Ask the operator why.")
                }
                let rights = Right.named(by: scopes)
                guard rights.contains(right) else { throw Problem.missingRight.saying("This needs the right `\(right.rawValue)`.") }
                return Standing(id: organisation, name: "Istituto Prova", actor: client.description, rights: rights, role: nil)
            }, gate: FeedGate { [self] in state.withLock { $0.isConsentUnheard ? .seconds(3600) : .zero } })
    }
}

/// One running part of the gateway. Opening it again in the same folder is a restart.
final class RequestHarness: Sendable {
    let world: RequestWorld
    let parts: RequestModule
    let opened: OpenedStore
    let stores: GatewayStores
    let runtime: Runtime
    let port: Int
    private let declared: DeclaredAnswers
    let organisation: OrganisationID
    private let harness: Harness

    /// What every request costs.
    static let price = PriceList(currency: "EUR", perRequest: 1200, usual: PriceList.free.usual)

    private init(_ folder: URL, _ world: RequestWorld, _ organisation: OrganisationID, _ environment: [String: String]) async throws {
        (self.world, self.organisation) = (world, organisation)
        harness = Harness(folder, environment)
        runtime = try harness.runtime(.thirdPartyGateway)
        var reader = harness.reader
        let settings = GatewaySettings(&reader)
        opened = try await OpenedStore(on: runtime, applicationID: 0x5465_7374, migrations: GatewaySchema.migrations)
        let outbox = MessageOutbox(in: opened.store, sealedUnder: try runtime.key("outbox"), logger: harness.logger) { _ in }
        stores = try GatewayStores(settings, opened: opened, outbox: outbox, on: runtime, clock: { world.now })
        parts = try RequestModule(settings.requests, on: stores, runtime: runtime, dependencies: world.dependencies)
        try await opened.store.write { [stores] db in
            try stores.organisations.put(db, organisation)
            if try PriceListStore().current(db).version == 0 { _ = try PriceListStore().add(db, Self.price, at: world.now) }
        }
        let server = HTTPServer(
            .init(title: "Gateway", version: "1", summary: "Test.", prefix: "thirdparty"), routes: parts.routes, port: 0,
            health: Health(missing: { [] }, metrics: { "" }),
            authenticate: { credentials, _ in
                let words = credentials.bearer.split(separator: ".")
                guard words.count == 2, let organisation = OrganisationID(words[0]) else { throw Problem.unauthorised }
                let scopes = Set(Right.allCases.filter { words[1] == "all" || $0.rawValue.hasPrefix(words[1]) }.map(\.rawValue))
                return .client(ClientID(bits: 1), organisation, scopes: scopes)
            }, logger: harness.logger)
        declared = try DeclaredAnswers(server.routes)
        harness.run { try await server.run() }
        harness.closeAtEnd(opened)
        port = await server.boundPort
    }

    static func run<Value>(
        in folder: URL, world: RequestWorld, of organisation: OrganisationID, environment: [String: String] = [:],
        _ body: (RequestHarness) async throws -> Value
    ) async throws -> Value {
        try await withHarness(RequestHarness(folder, world, organisation, environment), body) { await $0.harness.stop() }
    }

    static func run<Value>(environment: [String: String] = [:], _ body: (RequestHarness) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in
            try await run(in: folder, world: RequestWorld(), of: .random(), environment: environment, body)
        }
    }

    /// With somebody whose fiscal code is `code`.
    static func runWithPerson<Value>(
        environment: [String: String] = [:], _ body: (RequestHarness) async throws -> Value
    ) async throws -> Value {
        try await run(environment: environment) { harness in
            _ = harness.world.add(code)
            return try await body(harness)
        }
    }

    // MARK: HTTP

    typealias Response = HarnessAnswer

    /// - Parameter scope: `all`, or the beginning of the rights that the client has.
    func call(
        _ method: String, _ path: String, _ body: String? = nil, as other: OrganisationID? = nil, scope: String = "all",
        type: String = "application/json", headers: [String: String] = [:]
    ) async throws -> Response {
        let client = HarnessClient(port: port)
        let reply = try await client.send(
            client.request(
                method, "/thirdparty/v1\(path)", token: "\(other ?? organisation).\(scope)", body: body.map { Data($0.utf8) },
                type: body == nil ? nil : type, headers: headers))
        declared.check(method, "/thirdparty/v1" + path, reply.status, reply.headers.keys)
        return reply
    }

    // MARK: Requests

    static let code = "RSSMRA80A01H501U"

    /// A form for these days around the world's now.
    func form(
        _ code: String = RequestHarness.code, types: [Metric] = [.heartRate], days: Range<Int> = -30 ..< -1, granularity: String = "minutes"
    ) -> String {
        let from = (world.now + .seconds(days.lowerBound * 86_400)).rfc3339
        let to = (world.now + .seconds(days.upperBound * 86_400)).rfc3339
        let codes = types.map { "\"\($0.code)\"" }.joined(separator: ",")
        return """
            {"fiscalCode":"\(code)","types":[\(codes)],"from":"\(from)","to":"\(to)","granularity":"\(granularity)","purpose":"A study of sleep"}
            """
    }

    struct Missing: Error { var answer: String }

    /// Opens one over HTTP.
    func open(_ form: String) async throws -> RequestID {
        let answer = try await call("POST", "/requests", form)
        guard answer.status == 201, let id = (answer.json["request"] as? String).flatMap({ RequestID($0) }) else {
            throw Missing(answer: answer.text)
        }
        return id
    }

    /// Consent says what a request is now, and whose; nil names nobody.
    func hear(_ state: RequestState, of person: PersonID?) async throws {
        let payload = Array(try JSONEncoder().encode(state))
        let header = StreamHeader(
            stream: "consent.requests", epoch: "e", sequence: 1, head: 1, type: RequestState.type, subject: person?.description ?? "",
            at: state.changedAt, trace: "")
        try await opened.store.write { [parts] db in try parts.events.apply(db, StreamEvent(header: header, payload: payload)) }
        try await parts.sealer.takeAll()
    }

    /// The person answers, or what else becomes of it, and consent says so.
    func become(_ status: RequestStatus, _ id: RequestID, types: [Metric]? = nil) async throws {
        let known = try world.change(id, to: status, types: types)
        try await hear(known.state, of: known.person)
    }

    /// Opened, accepted and paid.
    func granted(_ form: String) async throws -> RequestID {
        let id = try await open(form)
        try await become(.approved, id)
        try await pay(id)
        return id
    }

    /// By transfer.
    func pay(_ id: RequestID) async throws {
        try await bill(id) { try $0.transferred(at: $1) }
    }

    func giveBack(_ id: RequestID) async throws {
        try await bill(id) { try $0.refundOrdered(at: $1) }
    }

    /// The payer's bank contests what was paid, or has decided for us.
    func contest(_ id: RequestID, _ standing: MoneyStatus = .disputed(reason: "fraudulent")) async throws {
        try await bill(id) { bill, now in bill.receive(.stands(standing), of: 1, at: now) }
    }

    private func bill(_ id: RequestID, _ event: @escaping @Sendable (inout Bill, Timestamp) throws -> [PaymentEffect]) async throws {
        let (paymentStore, now) = (stores.payments.paymentStore, world.now)
        try await opened.store.write { db in _ = try paymentStore.change(db, of: id) { try event(&$0, now) } }
    }

    /// What came of the money for it; nil where it has no price.
    func bill(_ id: RequestID) async throws -> Bill? {
        try await opened.store.read { [stores] db in try stores.payments.bill(db, of: id) }
    }

    /// To the organisation, oldest first; those about money are not among them.
    func mails() async throws -> [SendMessage] {
        let key = try runtime.key("outbox")
        return try await opened.store.read { db in try OrganisationRepository.waitingMails(db, sealedUnder: key) }
            .filter { $0.template != .paymentReceived }
    }

    func stored(_ id: RequestID) async throws -> StoredMadeRequest? {
        try await opened.store.read { db in try RequestStore().stored(db, id) }
    }

    /// Everything that lies in the files of the store and beside it.
    func everyByte() throws -> [UInt8] {
        let folder = runtime.settings.storeFolder
        var bytes: [UInt8] = []
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL { bytes += (try? Data(contentsOf: file)).map { [UInt8]($0) } ?? [] }
        return bytes
    }
}
