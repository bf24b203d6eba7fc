// Sharing on the bus: the gateway that asks, and those who follow grants and requests.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Consent

@Suite("Sharing on the bus")
struct SharingStreamTests {
    private static let code = "RSSMRA80A01H501U"

    /// What a follower knows of grants after each fact.
    private final class Grants: Sendable {
        private let known = Mutex<[GrantID: GrantState]>([:])

        var inForce: Set<GrantID> { known.withLock { Set($0.values.filter(\.active).map(\.grant)) } }

        func take(_ events: [StreamEvent]) throws {
            for event in events {
                let state = try JSONDecoder().decode(GrantState.self, from: Data(event.payload))
                known.withLock { $0[state.grant] = state }
            }
        }
    }

    @Test("SHR-01: the gateway opens, reads and ends a request by questions; a peer without the right is refused")
    func questions() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let gateway = try await harness.peer(.thirdPartyGateway).client(of: .consent)
            let form = harness.form(Self.code, by: .random())
            let opened = try await gateway.ask(form, deadline: .seconds(5))
            _ = try await harness.answer(opened.request, of: person.person, accept: true)
            let read = try await gateway.ask(ReadRequest(organisation: form.organisation, request: opened.request), deadline: .seconds(5))
            #expect(read.status == .approved && read.grant != nil)
            let ended = try await gateway.ask(EndRequest(organisation: form.organisation, request: opened.request), deadline: .seconds(5))
            #expect(ended.status == .ended)
            let ingest = try await harness.peer(.ingest).client(of: .consent)
            await #expect(throws: Failure.self) { _ = try await ingest.ask(form, deadline: .seconds(5)) }
            #expect(try await harness.all().count == 1)
        }
    }

    @Test("a newcomer takes the snapshot of the grants in force, and then hears every change in order")
    func snapshotAndChanges() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let gone = try await harness.grant(harness.form(Self.code, by: .random()), to: person.person)
            _ = try await harness.parts.service.withdraw(try #require(gone.grant).id, of: person.person, trace: "")
            let first = try #require(try await harness.grant(harness.form(Self.code, by: .random()), to: person.person).grant)
            let grants = Grants()
            let consumer = try await harness.peer(.ingest).consumer(of: .grants)
            let following = Task {
                try await consumer.run(from: []) { events, _ in
                    try grants.take(events)
                } restart: { page in
                    try grants.take(page.facts)
                }
            }
            defer { following.cancel() }
            try await eventually("the snapshot came") { grants.inForce == [first.id] }
            let second = try #require(try await harness.grant(harness.form(Self.code, by: .random()), to: person.person).grant)
            try await eventually("the new grant came") { grants.inForce == [first.id, second.id] }
            _ = try await harness.parts.service.withdraw(first.id, of: person.person, trace: "")
            try await eventually("the withdrawal came") { grants.inForce == [second.id] }
        }
    }

    @Test("followers wrote all over their files while grants came: a snapshot comes in the order of ids, and goes on after any")
    func snapshotInOrder() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            var given: [GrantID] = []
            for _ in 0..<6 {
                given.append(try #require(try await harness.grant(harness.form(Self.code, by: .random()), to: person.person).grant).id)
            }
            let ingest = try await harness.peer(.ingest).client(of: .consent)
            func grants(after: String?) async throws -> [GrantID] {
                try await ingest.snapshot(SnapshotStream(stream: "consent.grants", after: after), deadline: .seconds(5)).facts
                    .map { try JSONDecoder().decode(GrantState.self, from: Data($0.payload.utf8)).grant }
            }
            let sorted = given.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            #expect(try await grants(after: nil) == sorted)
            #expect(try await grants(after: sorted[2].description) == Array(sorted[3...]))
        }
    }

    @Test("SHR-08, SHR-15: whoever follows requests hears each transition once, with its receipt, also what was said before a restart")
    func requestFacts() async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            try await SharingHarness.run(in: folder, world: world) { harness in
                let person = try await harness.addPerson(Self.code)
                let granted = try await harness.grant(harness.form(Self.code, by: .random()), to: person.person)
                _ = try await harness.parts.service.withdraw(try #require(granted.grant).id, of: person.person, trace: "")
            }
            try await SharingHarness.run(in: folder, world: world) { harness in
                let epoch = harness.opened.epoch
                let gateway = try await harness.peer(.thirdPartyGateway).client(of: .consent)
                let page = try await gateway.replay(
                    ReplayStream(stream: "consent.requests", epoch: epoch, from: 1, through: 10), deadline: .seconds(5))
                let states = try page.facts.map { try JSONDecoder().decode(RequestState.self, from: Data($0.payload.utf8)) }
                #expect(states.map(\.status) == [.pending, .approved, .revoked])
                #expect(page.facts.map(\.header.sequence) == [1, 2, 3])
                #expect(
                    try states.map { try ReceiptReading($0.receipt ?? "", harness).event["event_state"] as? String } == [
                        "requested", "given", "withdrawn",
                    ])
                let snapshot = try await gateway.snapshot(SnapshotStream(stream: "consent.requests", after: nil), deadline: .seconds(5))
                #expect(snapshot.sequence == 3 && snapshot.facts.count == 1)
                await #expect(throws: Failure.self) {
                    _ = try await gateway.snapshot(SnapshotStream(stream: "consent.people", after: nil), deadline: .seconds(5))
                }
            }
        }
    }
}
