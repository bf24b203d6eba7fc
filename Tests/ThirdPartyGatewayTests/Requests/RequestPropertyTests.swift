// Random histories of one organisation and a few people, with restarts: the invariants hold after every step.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Invariants of requests")
struct RequestPropertyTests {
    private static let codes = ["RSSMRA80A01H501U", "VRDLGI75C12F205U", "BNCNNA90D41L219R"]
    private static let types: [Metric] = [.heartRate, .glucose, .position]

    @Test(
        "INV-03 to INV-08, INV-20: whatever is asked, answered, withdrawn, paid, read and killed, only paid and approved scopes give data",
        arguments: [11, 12, 13] as [UInt64])
    func histories(seed: UInt64) async throws {
        try await withTemporaryFolder { folder in
            var generator = SeededGenerator(seed: seed)
            let (world, organisation) = (RequestWorld(), OrganisationID.random())
            for code in Self.codes { _ = world.add(code) }
            for type in Self.types {
                world.put([
                    Sample(
                        type: type, at: world.now - .seconds(5 * 86_400), value: type == .position ? nil : 61,
                        position: type == .position ? Position(latitude: 45, longitude: 9) : nil)
                ])
            }
            for _ in 0..<4 {
                try await RequestHarness.run(in: folder, world: world, of: organisation) { harness in
                    for _ in 0..<12 { try await Self.step(harness, &generator) }
                    try await Self.check(harness)
                }
            }
        }
    }

    private static func step(_ harness: RequestHarness, _ generator: inout SeededGenerator) async throws {
        let before = try await all(harness)
        let some = before.randomElement(using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0, 1, 2:
            let code = codes.randomElement(using: &generator) ?? codes[0]
            let type = types.randomElement(using: &generator) ?? .heartRate
            let start = Int.random(in: -30 ..< -6, using: &generator)
            let answer = try await harness.call("POST", "/requests", harness.form(code, types: [type], days: start..<(start + 5)))
            let after = try await all(harness)
            // INV-07: exactly one more, PENDING, and nothing else has changed; or nothing at all.
            #expect(after.count == before.count + (answer.status == 201 ? 1 : 0))
            #expect(after.filter { $0.status == .approved }.map(\.id) == before.filter { $0.status == .approved }.map(\.id))
        case 3 where some?.status == .pending:
            guard let some else { return }
            try await harness.become(.approved, some.id)
            let after = try await all(harness)
            // INV-08: only its status, and its grant.
            #expect(after.filter { $0.id != some.id } == before.filter { $0.id != some.id })
            #expect(after.first { $0.id == some.id }?.grant != nil)
        case 4 where some?.status == .pending:
            if let some { try await harness.become(.declined, some.id) }
        case 5 where some?.status == .approved:
            if let some { try await harness.become(Bool.random(using: &generator) ? .revoked : .ended, some.id) }
        case 6:
            // Where nothing is due, nothing is paid.
            if let some { do { try await harness.pay(some.id) } catch is PaymentRefusal {} }
        default:
            guard let some else { return }
            let type = types.randomElement(using: &generator) ?? .heartRate
            let answer = try await harness.call("GET", "/requests/\(some.id)/data?type=\(type.code)")
            let mayHave = some.status == .approved && some.paidAt != nil && some.types.contains(type)
            #expect((answer.status == 200) == mayHave, "INV-04, INV-20: \(some.status) \(answer.status)")
        }
    }

    private static func all(_ harness: RequestHarness) async throws -> [MadeRequest] {
        try await harness.opened.store.read { db in
            try RequestStore().page(db, of: harness.organisation, RequestFilter(), before: nil, limit: 10_000).map(\.request)
        }
    }

    private static func check(_ harness: RequestHarness) async throws {
        let requests = try await all(harness)
        for request in requests {
            let known = try harness.world.current(request.id)
            // INV-03, INV-06: one status, consent's; a grant in force exactly where it is APPROVED.
            #expect(request.status == known.state.status)
            #expect((request.grantInForce != nil) == (request.status == .approved))
            #expect(request.person == nil || request.person == known.person)
            #expect(request.organisation == harness.organisation)
        }
        // INV-05: no two open ones of one person meet.
        for (place, one) in requests.enumerated() where one.isOpen {
            for other in requests[(place + 1)...] where other.isOpen {
                let samePerson = try harness.world.current(one.id).person == harness.world.current(other.id).person
                let meets = !Set(one.asked).isDisjoint(with: other.asked) && one.from < other.to && other.from < one.to
                #expect(!(samePerson && meets))
            }
        }
    }
}
