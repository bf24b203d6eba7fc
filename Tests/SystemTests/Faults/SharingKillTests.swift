// Sharing under `kill -9` of the real consent in the middle of its operations: what was answered stands, the rest is all or nothing.

import Bus
import Contracts
import Foundation
import Logging
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator

extension SystemTests {
    @Suite("Sharing under kills")
    struct SharingKillTests {
        @Test(
            "INV-03 to INV-08, SHR-06, SHR-16, SHR-18, SHR-22: after kill -9 of consent at any moment every answer stands, nothing is half done and nothing is told twice",
            .timeLimit(.minutes(15)), arguments: 1...UInt64(FaultSizes.seeds))
        func anyMoment(seed: UInt64) async throws {
            try await SharingUnderKills.with(seed: seed) { run in
                var recoveries = RecoveryTimes()
                while recoveries.all.count < FaultSizes.kills {
                    let operation = run.draw()
                    guard run.dice.next() % 8 == 0 else {
                        try await run.perform(operation)
                        continue
                    }
                    let (consent, delay) = (run.consent, Duration.microseconds(run.dice.next() % 12_000))
                    let begun = ContinuousClock.now
                    async let killed: Void = {
                        // At another place of the operation each time.
                        try await Task.sleep(for: delay)
                        try await consent.kill()
                    }()
                    try await run.perform(operation)
                    try await killed
                    try await consent.untilReady()
                    recoveries.add(ContinuousClock.now - begun)
                    try await run.check("seed \(seed), kill \(recoveries.all.count), in \(operation)")
                }
                print("figure: kill -9 of consent, seed \(seed), \(run.model.requests.count) requests: \(recoveries.line)")
                #expect(run.consent.ends.filter { $0 == .signalled(SIGKILL) }.count == FaultSizes.kills)
            }
        }
    }
}

/// What sharing must look like after what was answered so far: table SHR-S by other hands.
private struct SharingModel {
    struct Request {
        let person: Int
        let organisation: OrganisationID
        let types: Set<Metric>
        let days: Range<Int>
        var status = RequestStatus.pending
        var shared: Set<Metric> = []
        var grant: GrantID?
        /// How many facts must have told of it, and of its grant.
        var told = 1
        var version: Int64 = 0

        var isOpen: Bool { status == .pending || status == .approved }
    }

    var requests: [RequestID: Request] = [:]

    /// INV-05, SHR-18.
    func mayOpen(_ wanted: Request) -> Bool {
        !requests.values.contains { known in
            known.isOpen && known.person == wanted.person && known.organisation == wanted.organisation
                && known.days.overlaps(wanted.days)
                && !(known.status == .approved ? known.shared : known.types).isDisjoint(with: wanted.types)
        }
    }

    mutating func answered(_ id: RequestID, grant: GrantID?) {
        guard var request = requests[id] else { return }
        request.status = grant == nil ? .declined : .approved
        request.grant = grant
        request.shared = grant == nil ? [] : request.types
        request.told += 1
        request.version = grant == nil ? 0 : 1
        requests[id] = request
    }

    mutating func withdrawn(_ id: RequestID, _ type: Metric?) {
        guard var request = requests[id], request.status == .approved else { return }
        let left = type.map { request.shared.subtracting([$0]) } ?? []
        guard left != request.shared else { return }
        request.shared = left
        if left.isEmpty { request.status = .revoked }
        request.told += 1
        request.version += 1
        requests[id] = request
    }

    mutating func ended(_ id: RequestID) {
        guard requests[id]?.status == .approved else { return }
        requests[id]?.status = .ended
        requests[id]?.shared = []
        requests[id]?.told += 1
        requests[id]?.version += 1
    }
}

private enum SharingOperation {
    case open(SharingModel.Request)
    case answer(RequestID, accept: Bool)
    case withdraw(RequestID, GrantID, Metric?)
    case end(RequestID)
}

/// One consent as a process, two people over HTTP, and the organisations' door played over the bus. Whoever gets no answer asks
/// again, as programs do, so that after each operation the model knows what must be.
private final class SharingUnderKills {
    let consent: ServiceProcess
    var dice: SeededGenerator
    private(set) var model = SharingModel()
    private let client: PeopleClient
    private let gateway: BusClient
    private var tokens: [String] = []
    private var codes: [String] = []
    private let organisations = (1...2).map { OrganisationID(bits: UInt128($0)) }
    private let beginning = Timestamp.now

    private static let metrics: [Metric] = [.heartRate, .position, .bodyTemperature]
    private static let door = KeyFiles.PublicPeer(
        peer: .thirdPartyGateway, key: "", hear: ["consent.requests", "consent.grants"],
        ask: [OpenRequest.method, ReadRequest.method, EndRequest.method])

    static func with(seed: UInt64, _ body: (SharingUnderKills) async throws -> Void) async throws {
        try await withTemporaryFolder { root in
            let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("TRACKME_") }
            let layout = SuiteLayout(data: root.path, environment: inherited)
            _ = try SuiteKeys.makeMissing(layout)
            try layout.keys.makeBusKeys(door)
            let port = try FreePorts.find(1)[0]
            let process = try ServiceProcess(
                "consent", port: port,
                command: ChildCommand(
                    executable: ServiceExecutable(peer: .consent, port: port).file.path,
                    environment: layout.environment(of: .consent, httpPort: port).merging(["TRACKME_ACC_CONFIRM_REQUIRED": "false"]) { $1 }),
                log: root.appendingPathComponent("consent.log"))
            process.start()
            var reader = SettingsReader(environment: layout.environment)
            let runtime = try Runtime(
                peer: .thirdPartyGateway, settings: SuiteSettings(&reader, peer: .thirdPartyGateway, httpPort: 0), logger: Running.quiet)
            do {
                try await process.untilReady()
                let run = SharingUnderKills(process, try await runtime.client(of: .consent), seed: seed)
                for name in ["Anna", "Carla"] { try await run.register(name) }
                try await body(run)
            } catch {
                await runtime.bus.shutdown()
                try await process.stop()
                throw error
            }
            await runtime.bus.shutdown()
            try await process.stop()
        }
    }

    private init(_ consent: ServiceProcess, _ gateway: BusClient, seed: UInt64) {
        (self.consent, self.gateway, dice) = (consent, gateway, SeededGenerator(seed: seed))
        let origin = "http://127.0.0.1:\(consent.port)"
        client = PeopleClient(consent: origin, ingest: origin, authorities: nil)
    }

    private func register(_ name: String) async throws {
        let (email, password) = ("\(name.lowercased())@killi.example", "tre lucciole nel bicchiere")
        let form = registrationForm(name: name, surname: "Killi", email: email, password: password, terms: Conditions.version)
        _ = try await client.call("POST", .consent, "/consent/v1/accounts", body: form).expecting(201, "registering")
        let said = try await client.call("POST", .consent, "/consent/v1/sessions", body: ["login": email, "password": password])
        tokens.append(try #require(try said.expecting(200, "log-in").text("accessToken")))
        codes.append(try #require(form["fiscalCode"] as? String))
    }

    // MARK: Drawing

    func draw() -> SharingOperation {
        let known = model.requests.keys.sorted { $0.bits < $1.bits }
        let choice = Int.random(in: 0..<12, using: &dice)
        guard let id = known.randomElement(using: &dice), let request = model.requests[id], choice > 3 else {
            let start = Int.random(in: -6..<6, using: &dice)
            let types = Set((0..<2).compactMap { _ in Self.metrics.randomElement(using: &dice) })
            return .open(
                SharingModel.Request(
                    person: Int.random(in: 0..<2, using: &dice),
                    organisation: organisations.randomElement(using: &dice) ?? organisations[0],
                    types: types, days: start..<start + Int.random(in: 1...3, using: &dice)))
        }
        if choice < 8 { return .answer(id, accept: Int.random(in: 0..<4, using: &dice) > 0) }
        guard choice < 11 else { return .end(id) }
        guard let grant = request.grant else { return .answer(id, accept: true) }
        return .withdraw(id, grant, Int.random(in: 0..<3, using: &dice) == 0 ? nil : request.types.randomElement(using: &dice))
    }

    // MARK: Doing

    func perform(_ operation: SharingOperation) async throws {
        switch operation {
        case .open(let wanted): try await open(wanted)
        case .answer(let id, let accept):
            let before = try #require(model.requests[id])
            let reply = try await say(
                "POST", "/consent/v1/requests/\(id)/answer", as: before.person, ["answer": accept ? "accept" : "refuse"])
            let grant = reply.text("grant").flatMap { GrantID($0) }
            switch before.status {
            case .pending:
                #expect(reply.status == 200 && (grant != nil) == accept)
                model.answered(id, grant: grant)
            case .declined: #expect(reply.status == (accept ? 409 : 200))
            default: #expect(reply.status == (accept ? 200 : 409))
            }
        case .withdraw(let id, let grant, let type):
            let before = try #require(model.requests[id])
            let path = "/consent/v1/grants/\(grant)" + (type.map { "/types/\($0)" } ?? "")
            let reply = try await say("DELETE", path, as: before.person)
            #expect(reply.status == (before.status == .ended ? 409 : 200))
            model.withdrawn(id, type)
        case .end(let id):
            let before = try #require(model.requests[id])
            do throws(Failure) {
                let state = try await gateway.ask(
                    EndRequest(organisation: before.organisation, request: id), deadline: .milliseconds(500), attempts: 60)
                #expect(state.status == .ended && (before.status == .approved || before.status == .ended))
                model.ended(id)
            } catch {
                #expect(error.code == .conflict && before.status != .approved && before.status != .ended, "\(error)")
            }
        }
    }

    private func open(_ wanted: SharingModel.Request) async throws {
        let form = OpenRequest(
            organisation: wanted.organisation, organisationName: "Istituto Prova", fiscalCode: codes[wanted.person],
            types: Array(wanted.types), from: beginning + .seconds(wanted.days.lowerBound * 86_400),
            to: beginning + .seconds(wanted.days.upperBound * 86_400), granularity: .seconds, purpose: "A study of sleep")
        do throws(Failure) {
            let reply = try await gateway.ask(form, deadline: .milliseconds(500), attempts: 60)
            #expect(model.mayOpen(wanted) && model.requests[reply.request] == nil)
            model.requests[reply.request] = wanted
        } catch {
            #expect(error.code == .conflict && !model.mayOpen(wanted), "\(error)")
        }
    }

    /// Again and again until there is an answer.
    private func say(_ method: String, _ path: String, as person: Int, _ body: [String: String]? = nil) async throws -> PeopleReply {
        let (client, token) = (client, tokens[person])
        return try await eventually("consent answers \(method)", within: .seconds(60)) {
            guard let reply = try? await client.call(method, .consent, path, token: token, body: body), reply.status < 500 else {
                return nil
            }
            return reply
        }
    }

    // MARK: Checking

    /// What people are shown, what organisations are told and what both streams say is what the model says: nothing less, nothing more.
    func check(_ what: Comment) async throws {
        var seen: [RequestID: Int] = [:]
        for person in tokens.indices {
            for item in try await say("GET", "/consent/v1/requests?limit=1000", as: person).list("items") {
                let id = try #require((item["request"] as? String).flatMap { RequestID($0) })
                let known = try #require(model.requests[id], what)
                // INV-06, INV-07.
                #expect(seen.updateValue(person, forKey: id) == nil && known.person == person, what)
                let requester = (item["requester"] as? [String: Any])?["organisation"] as? String
                #expect(requester == known.organisation.description && item["status"] as? String == known.status.rawValue, what)
                // INV-03, INV-04, INV-08.
                #expect(Set(item["sharedTypes"] as? [String] ?? []) == Set(known.shared.map(\.code)), what)
            }
        }
        #expect(Set(seen.keys) == Set(model.requests.keys), what)
        for (id, known) in model.requests {
            for organisation in organisations {
                let asked = ReadRequest(organisation: organisation, request: id)
                let status = try? await gateway.ask(asked, deadline: .seconds(5)).status
                #expect(status == (organisation == known.organisation ? known.status : nil), what)
            }
        }
        try await checkStreams(what)
    }

    private func checkStreams(_ what: Comment) async throws {
        let grants = try await facts(SharingEventStore.grantsStream, as: GrantState.self, what)
        for (grant, told) in Dictionary(grouping: grants, by: \.grant) {
            let known = try #require(model.requests.values.first { $0.grant == grant }, what)
            // INV-03: each change told once, the last one in force exactly while the request is approved.
            #expect(told.map(\.version) == Array(1...known.version), what)
            #expect(told.last?.active == (known.status == .approved), what)
            if known.status == .approved { #expect(Set(told.last?.types ?? []) == known.shared, what) }
        }
        #expect(Set(grants.map(\.grant)) == Set(model.requests.values.compactMap(\.grant)), what)
        let snapshot = try await gateway.snapshot(SnapshotStream(stream: SharingEventStore.grantsStream, after: nil), deadline: .seconds(5))
        let active = try snapshot.facts.map { try JSONDecoder().decode(GrantState.self, from: Data($0.payload.utf8)).grant }
        #expect(Set(active) == Set(model.requests.values.filter { $0.status == .approved }.compactMap(\.grant)), what)

        let requests = Dictionary(grouping: try await facts(SharingEventStore.requestsStream, as: RequestState.self, what), by: \.request)
        #expect(Set(requests.keys) == Set(model.requests.keys), what)
        for (id, told) in requests {
            // One fact with its receipt for each transition, beginning PENDING.
            #expect(told.count == model.requests[id]?.told && told.first?.status == .pending, what)
            #expect(told.last?.status == model.requests[id]?.status && told.allSatisfy { $0.receipt != nil }, what)
        }
    }

    /// The whole log of one stream, without a gap.
    private func facts<Fact: Decodable>(_ stream: String, as _: Fact.Type, _ what: Comment) async throws -> [Fact] {
        let head = try await gateway.snapshot(SnapshotStream(stream: stream, after: nil), deadline: .seconds(5))
        var found: [ReplayStream.Fact] = []
        while Int64(found.count) < head.sequence {
            let asked = ReplayStream(stream: stream, epoch: head.epoch, from: Int64(found.count) + 1, through: head.sequence)
            let page = try await gateway.replay(asked, deadline: .seconds(5)).facts
            try #require(!page.isEmpty, what)
            found += page
        }
        #expect(found.map(\.header.sequence) == (0..<head.sequence).map { $0 + 1 }, what)
        return try found.map { try JSONDecoder().decode(Fact.self, from: Data($0.payload.utf8)) }
    }
}
