// What consent still has to be told: one that it refuses keeps no other waiting.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("What consent still has to be told")
struct OrganisationJobTests {
    private static func add(_ harness: OrganisationHarness, _ members: [MemberID]) async throws {
        try await harness.opened.store.write { [queues = harness.parts.jobs.queues] db in
            for member in members { try queues.remove(db, member) }
        }
    }

    private static func waiting(_ harness: OrganisationHarness) async throws -> [String] {
        try await harness.opened.store.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM jobs WHERE kind IN ('remove-member', 'close-organisation') ORDER BY number")
        }
    }

    @Test("ORG-16, ORG-23: one member whom consent refuses to remove keeps no later one, and no organisation's end, from being told")
    func refusedAlone() async throws {
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder, runsJobs: false) { harness in
                let members = (0..<120).map { _ in MemberID.random() }
                let refused = Array(members.prefix(60))
                for member in refused { harness.consent.refuse(member, Failure(.invalid, "no")) }
                try await Self.add(harness, members)
                let closed = OrganisationID.random()
                try await harness.opened.store.write { [queues = harness.parts.jobs.queues] db in try queues.close(db, closed) }
                #expect(try await harness.parts.jobs.runDue())
                #expect(Set(harness.consent.removed) == Set(members.dropFirst(60)) && harness.consent.closed == [closed])
                #expect(try await Self.waiting(harness) == refused.map { "\($0)" })
                // Not asked at each round, and asked again in time.
                for member in refused { harness.consent.refuse(member, nil) }
                #expect(try await harness.parts.jobs.runDue())
                #expect(try await Self.waiting(harness).count == 60)
                harness.clock.advance(.seconds(31))
                #expect(try await harness.parts.jobs.runDue())
                #expect(try await Self.waiting(harness).isEmpty)
            }
        }
    }

    @Test("ORG-16: what consent does not know any more is done; where consent is silent everything waits")
    func unknownAndSilent() async throws {
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder, runsJobs: false) { harness in
                let (gone, other) = (MemberID.random(), MemberID.random())
                harness.consent.refuse(gone, Failure(.notFound, "there is no such member"))
                try await Self.add(harness, [gone])
                #expect(try await harness.parts.jobs.runDue())
                #expect(try await Self.waiting(harness).isEmpty)
                harness.consent.fail(Failure(.unavailable, "starting"))
                try await Self.add(harness, [other])
                #expect(try await harness.parts.jobs.runDue() == false)
                #expect(try await Self.waiting(harness) == ["\(other)"])
                harness.consent.fail(nil)
                try await eventually("consent is asked again", isTrue: { try await harness.parts.jobs.runDue() })
                #expect(harness.consent.removed == [other])
            }
        }
    }

    @Test("An operator sees over the bus what waits and what was given up, and has it tried again; neither content nor people are shown")
    func operators() async throws {
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder, runsJobs: false) { harness in
                let (member, store) = (MemberID.random(), harness.opened.store)
                try await Self.add(harness, [member])
                try await store.write { [at = harness.clock.now] db in
                    let job = try #require(try JobTable().find(db, "remove-member", id: "\(member)"))
                    try JobTable().deadLetter(db, job, error: "invalid", keepsBody: true, at: at)
                }
                let asked = try await harness.operators.ask(method: ListJobs.method, body: Methods.encode(ListJobs()))
                #expect(!String(decoding: asked, as: UTF8.self).contains("\(member)"))
                let listed = try Methods.decode(ListJobs.Reply.self, asked)
                #expect(listed.kinds.map(\.kind) == ["remove-member", "close-organisation", "message"])
                #expect(listed.kinds.map(\.dead) == [1, 0, 0] && listed.dead.map(\.error) == ["invalid"])
                let answer = try await harness.operators.ask(method: ResendJobs.method, body: Methods.encode(ResendJobs(job: nil)))
                #expect(try Methods.decode(ResendJobs.Reply.self, answer).resent == 1)
                // Resent by the machine's own clock.
                harness.clock.advance(.seconds(60))
                #expect(try await harness.parts.jobs.runDue())
                #expect(harness.consent.removed == [member])
            }
        }
    }

    @Test("ORG-16, ORG-23: what an earlier version had still to tell consent is told once by this one")
    func migrated() async throws {
        try await withTemporaryFolder { folder in
            let (member, organisation) = (MemberID.random(), OrganisationID.random())
            let file = folder.appendingPathComponent("store/thirdparty-gateway.db")
            try await OrganisationHarness.run(in: folder, runsJobs: false) { _ in }
            // Its keys stay.
            for name in ["thirdparty-gateway.db", "thirdparty-gateway.db-wal", "thirdparty-gateway.db-shm", "thirdparty-gateway.life"] {
                try? FileManager.default.removeItem(at: file.deletingLastPathComponent().appendingPathComponent(name))
            }
            let old = try Store.open(
                file, applicationID: GatewaySchema.applicationID, migrations: Array(GatewaySchema.migrations.prefix(9)),
                logger: RecordingLog().logger)
            try await old.write { db in
                for (kind, subject) in [("remove-member", member.bytes), ("close-organisation", organisation.bytes)] {
                    try db.execute(
                        sql: "INSERT INTO organisation_duties (kind, subject) VALUES (?, ?)", arguments: [kind, Data(subject)])
                }
            }
            await old.close()
            let consent = TestConsent()
            for _ in 1...2 {
                try await OrganisationHarness.run(in: folder, consent: consent, runsJobs: false) { harness in
                    let isHeard = try await harness.parts.jobs.runDue()
                    let waiting = try await Self.waiting(harness)
                    #expect(isHeard && waiting.isEmpty)
                }
            }
            #expect(consent.removed == [member] && consent.closed == [organisation])
        }
    }
}
