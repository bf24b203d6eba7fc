// The invariants of the model hold after any sequence of operations, broken transactions and restarts included.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Invariants of sharing")
struct SharingPropertyTests {
    private static let seeds: [UInt64] = Array(1...10)
    private static let metrics: [Metric] = [.heartRate, .position, .bodyTemperature]
    private static let organisations = (1...3).map { OrganisationID(bits: UInt128($0)) }

    private enum Operation: Equatable {
        case open(code: String, OrganisationID, types: Set<Metric>, days: Range<Int>)
        case answer(RequestID, PersonID, accept: Bool)
        case withdraw(GrantID, PersonID, types: Set<Metric>?)
        case end(RequestID, OrganisationID)
        case pass(hours: Int)
        case expire
    }

    /// Everything that an operation can change.
    private struct State: Equatable {
        var requests: [RequestID: SharingRequest]
        var grantFacts: [GrantState]
        var requestFacts: [RequestState]
        var receipts: Int
        var waitingMessages: Int

        var inForce: [GrantID: SharingGrant] {
            Dictionary(uniqueKeysWithValues: requests.values.compactMap(\.grantInForce).map { ($0.id, $0) })
        }
    }

    private static func state(_ harness: SharingHarness) async throws -> State {
        let rows = try await harness.all()
        let (receipts, waiting) = try await harness.opened.store.read { db in
            (try Int.fetchOne(db, sql: "SELECT count(*) FROM sharing_receipts") ?? 0, try harness.outbox.waiting(db))
        }
        // INV-06: ids are unique and each row has one organisation, one living person and one status.
        #expect(Set(rows.map(\.request.id)).count == rows.count)
        let people = Set(harness.world.people.map(\.person.person))
        #expect(rows.allSatisfy { people.contains($0.request.person) })
        return State(
            requests: Dictionary(uniqueKeysWithValues: rows.map { ($0.request.id, $0.request) }),
            grantFacts: try await harness.grantFacts(), requestFacts: try await harness.requestFacts(), receipts: receipts,
            waitingMessages: waiting)
    }

    // MARK: Drawing

    private static func draw(_ state: State, _ harness: SharingHarness, _ dice: inout SeededGenerator) -> Operation {
        let requests = state.requests.values.sorted { $0.id.bits < $1.id.bits }
        let somebody = harness.world.people.randomElement(using: &dice)?.person.person ?? .random()
        switch Int.random(in: 0..<20, using: &dice) {
        case 0..<7:
            let start = Int.random(in: -6..<6, using: &dice)
            let code =
                Int.random(in: 0..<12, using: &dice) == 0 ? "NOBODY" : harness.world.people.randomElement(using: &dice)?.code ?? "NOBODY"
            let types = Set((0..<Int.random(in: 0...2, using: &dice)).compactMap { _ in metrics.randomElement(using: &dice) })
            return .open(
                code: code, organisations.randomElement(using: &dice) ?? organisations[0], types: types,
                days: start..<start + Int.random(in: 1...4, using: &dice))
        case 7..<13:
            guard let request = requests.randomElement(using: &dice) else { return .expire }
            let person = Int.random(in: 0..<10, using: &dice) == 0 ? somebody : request.person
            return .answer(request.id, person, accept: Int.random(in: 0..<3, using: &dice) > 0)
        case 13..<16:
            guard let request = requests.filter({ $0.grant != nil }).randomElement(using: &dice), let grant = request.grant else {
                return .expire
            }
            let types = Int.random(in: 0..<3, using: &dice) == 0 ? nil : metrics.randomElement(using: &dice).map { Set([$0]) }
            return .withdraw(grant.id, Int.random(in: 0..<10, using: &dice) == 0 ? somebody : request.person, types: types)
        case 16..<17:
            guard let request = requests.randomElement(using: &dice) else { return .expire }
            return .end(request.id, Bool.random(using: &dice) ? request.organisation : organisations[0])
        case 17..<19: return .pass(hours: Int.random(in: 1...15, using: &dice))
        default: return .expire
        }
    }

    private static func perform(_ operation: Operation, _ harness: SharingHarness) async throws {
        let service = harness.parts.service
        switch operation {
        case .open(let code, let organisation, let types, let days):
            _ = try await harness.open(harness.form(code, by: organisation, types: Array(types), days: days))
        case .answer(let request, let person, let accept):
            _ = try await service.answer(request, of: person, accept: accept, trace: "")
        case .withdraw(let grant, let person, let types):
            _ = try await service.withdraw(grant, of: person, types: types, trace: "")
        case .end(let request, let organisation):
            _ = try await service.end(EndRequest(organisation: organisation, request: request), harness.context())
        case .pass(let hours): harness.world.pass(.seconds(hours * 3600))
        case .expire:
            try await harness.parts.expiry.expireDue()
            try await harness.parts.expiry.endRunOut()
        }
    }

    // MARK: Checking

    /// INV-03 to INV-06 of one state.
    private static func check(_ state: State, _ what: Comment) {
        // INV-03: whoever has followed the stream knows exactly the grants of approved requests, in their present scope.
        var known: [GrantID: GrantState] = [:]
        for fact in state.grantFacts {
            #expect(fact.version == (known[fact.grant]?.version ?? 0) + 1, what)
            known[fact.grant] = fact
        }
        let inForce = state.inForce
        #expect(Set(known.values.filter(\.active).map(\.grant)) == Set(inForce.keys), what)
        for (id, grant) in inForce {
            #expect(known[id]?.types == grant.scope.listedTypes && known[id]?.version == grant.version, what)
        }
        // INV-04: a scope with only refused, waiting and ended requests is in nobody's grant.
        for request in state.requests.values where request.status != .approved { #expect(request.grantInForce == nil, what) }
        // INV-05: open requests of one organisation to one person do not overlap.
        let open = state.requests.values.filter(\.isOpen)
        for one in open {
            for other in open where one.id.bits < other.id.bits && one.organisation == other.organisation && one.person == other.person {
                let scopes = (one.grantInForce?.scope ?? one.scope, other.grantInForce?.scope ?? other.scope)
                #expect(!scopes.0.overlaps(scopes.1), what)
            }
        }
        // One fact and one receipt for each transition, the last one telling the present status.
        #expect(state.receipts == state.requestFacts.count, what)
        for request in state.requests.values {
            #expect(state.requestFacts.last { $0.request == request.id }?.status == request.status, what)
        }
    }

    /// What one operation may do to the others' requests: nothing but let their time run out.
    private static func check(_ operation: Operation, from before: State, to after: State, _ what: Comment) {
        let added = Set(after.requests.keys).subtracting(before.requests.keys)
        #expect(Set(before.requests.keys).isSubset(of: after.requests.keys), what)
        let changed = before.requests.values.filter { after.requests[$0.id] != $0 }
        for old in changed {
            guard let new = after.requests[old.id] else { continue }
            #expect(new.scope == old.scope && new.person == old.person && new.organisation == old.organisation, what)
            let legal: Set<RequestStatus> =
                switch old.status {
                case .pending: [.approved, .declined, .expired]
                case .approved: [.approved, .revoked, .ended]
                default: []
                }
            #expect(legal.contains(new.status), what)
        }
        let others = changed.filter { old in
            let status = after.requests[old.id]?.status
            return status != .expired && !(operation == .expire && status == .ended && old.scope.isSubscription(at: old.openedAt))
        }
        switch operation {
        case .open:
            // INV-07.
            #expect(added.count <= 1 && added.allSatisfy { after.requests[$0]?.status == .pending }, what)
            #expect(after.inForce == before.inForce && others.isEmpty, what)
        case .answer(let request, let person, let accept):
            #expect(added.isEmpty && others.allSatisfy { $0.id == request && $0.person == person }, what)
            if let old = others.first, let new = after.requests[old.id] {
                // INV-08.
                #expect(new.status == (accept ? .approved : .declined), what)
                var grants = before.inForce
                if accept, let grant = new.grant { grants[grant.id] = grant }
                #expect(after.inForce == grants, what)
            } else {
                #expect(after.inForce == before.inForce, what)
            }
        case .withdraw(let grant, let person, _):
            #expect(added.isEmpty && others.allSatisfy { $0.grant?.id == grant && $0.person == person }, what)
        case .end(let request, let organisation):
            #expect(added.isEmpty && others.allSatisfy { $0.id == request && $0.organisation == organisation }, what)
        case .pass: #expect(after == before, what)
        case .expire:
            #expect(added.isEmpty && others.isEmpty, what)
            #expect(Set(after.inForce.keys).isSubset(of: before.inForce.keys), what)
        }
    }

    @Test("INV-03 to INV-08 hold after any sequence of operations, broken transactions and restarts", arguments: seeds)
    func anySequence(seed: UInt64) async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            var dice = SeededGenerator(seed: seed)
            var steps = 0
            var last: State?
            var outcomes: Set<RequestStatus> = []
            while steps < 120 {
                // Ends at any step: what comes next has only the files.
                let length = Int.random(in: 5...45, using: &dice)
                (dice, last) = try await SharingHarness.run(in: folder, world: world) { [dice, last] harness in
                    var dice = dice
                    if world.people.isEmpty { for code in ["ONE", "TWO", "THREE"] { try await harness.addPerson(code) } }
                    var before = try await Self.state(harness)
                    if let last { #expect(before == last, "seed \(seed): a restart changed something") }
                    for step in 0..<length {
                        let operation = Self.draw(before, harness, &dice)
                        let breaks = Int.random(in: 0..<8, using: &dice) == 0
                        let what: Comment = "seed \(seed), step \(step): \(operation), broken \(breaks)"
                        if breaks { world.breakNext() }
                        do { try await Self.perform(operation, harness) } catch {}
                        world.mend()
                        let after = try await Self.state(harness)
                        Self.check(after, what)
                        if breaks { #expect(after == before, what) }
                        Self.check(operation, from: before, to: after, what)
                        before = after
                    }
                    return (dice, before)
                }
                steps += length
                outcomes.formUnion(last?.requests.values.map(\.status) ?? [])
            }
            // Ids are random, so a seed does not draw the same requests each time: more could not be asked of every run.
            #expect(outcomes.count >= 2, "seed \(seed) went hardly anywhere: \(outcomes)")
        }
    }

    @Test("INV-05: of many requests for the same that come at the same time exactly one is opened")
    func concurrentOpenings() async throws {
        try await SharingHarness.run { harness in
            try await harness.addPerson("ONE")
            let organisation = OrganisationID.random()
            let opened = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask { (try? await harness.open(harness.form("ONE", by: organisation))) != nil }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(opened == 1)
            #expect(try await harness.all().count == 1)
        }
    }

    @Test("SHR-06: of an acceptance and a refusal that come at the same time one stands, and it alone is told")
    func concurrentAnswers() async throws {
        try await SharingHarness.run { harness in
            let person = try await harness.addPerson("ONE")
            for number in 0..<10 {
                let id = try await harness.open(harness.form("ONE", by: OrganisationID(bits: UInt128(number + 10))))
                async let accepting = harness.answer(id, of: person.person, accept: true)
                async let refusing = harness.answer(id, of: person.person, accept: false)
                let outcomes = try await [accepting, refusing]
                let done = outcomes.filter { if case .done = $0 { true } else { false } }
                #expect(done.count == 1)
                let told = try await harness.requestFacts().filter { $0.request == id }
                let now = try await harness.request(id).status
                #expect(told.count == 2 && told.last?.status == now)
            }
        }
    }
}
