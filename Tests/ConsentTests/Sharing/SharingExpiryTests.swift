// The clock of table SHR-S: what nobody answers expires, and a subscription ends with its period.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("The clock of sharing")
struct SharingExpiryTests {
    private static let code = "RSSMRA80A01H501U"

    @Test("SHR-07: after 24 h without an answer it is EXPIRED, person and organisation are told, and an answer is no longer open")
    func expiry() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let id = try await harness.open(harness.form(Self.code, by: .random()))
            harness.world.pass(.seconds(86_399))
            #expect(try await harness.parts.expiry.expireDue() == 0)
            harness.world.pass(.seconds(1))
            // The clock has not been there yet: the answer is refused all the same, and the refusal is written down.
            guard case .refused(.noLongerOpen) = try await harness.answer(id, of: person.person, accept: true) else {
                Issue.record("it was still open")
                return
            }
            #expect(try await harness.request(id).status == .expired)
            #expect(try await harness.parts.expiry.expireDue() == 0)
            #expect(try await harness.requestFacts().map(\.status) == [.pending, .expired])
            #expect(try await harness.grantFacts().isEmpty)
            try await harness.handOver()
            #expect(Set(harness.world.messages.map(\.template)) == [.requestReceived, .requestExpired])
        }
    }

    @Test("SHR-07: the time runs on while nothing runs, and the clock wakes by itself")
    func expiryThroughRestart() async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            let id = try await SharingHarness.run(in: folder, world: world) { harness in
                try await harness.addPerson(Self.code)
                return try await harness.open(harness.form(Self.code, by: .random()))
            }
            world.pass(.seconds(100_000))
            try await SharingHarness.run(in: folder, world: world) { harness in
                let running = Task { try await harness.parts.expiry.run() }
                defer { running.cancel() }
                try await eventually("it is expired") { try await harness.request(id).status == .expired }
                #expect(try await harness.requestFacts().map(\.status) == [.pending, .expired])
            }
        }
    }

    @Test("SHR-15, SHR-10: a subscription ends by itself when its period is over and the last of it had its time to be delivered")
    func runningOut() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let subscription = try await harness.grant(harness.form(Self.code, by: .random(), days: -2..<3), to: person.person)
            let past = try await harness.grant(harness.form(Self.code, by: .random(), days: -9 ..< -2), to: person.person)
            let longer = try await harness.grant(harness.form(Self.code, by: .random(), days: -2..<30), to: person.person)
            harness.world.pass(.seconds(4 * 86_400 - 1))
            #expect(try await harness.parts.expiry.endRunOut() == 0)
            harness.world.pass(.seconds(1))
            #expect(try await harness.parts.expiry.endRunOut() == 1)
            #expect(try await harness.parts.expiry.endRunOut() == 0)
            #expect(try await harness.request(subscription.id).status == .ended)
            for running in [past, longer] { #expect(try await harness.request(running.id).status == .approved) }
            #expect(try await harness.grantFacts().filter { !$0.active }.map(\.request) == [subscription.id])
            let receipt = try #require(try await harness.requestFacts().last?.receipt)
            let event = try ReceiptReading(receipt, harness).event
            #expect(event["event_state"] as? String == "terminated" && event["entity_id"] as? String == ConsentReceipt.suiteName)
            try await harness.handOver()
            #expect(harness.world.messages.map(\.template).filter { $0 == .grantEnded }.count == 1)
        }
    }
}
