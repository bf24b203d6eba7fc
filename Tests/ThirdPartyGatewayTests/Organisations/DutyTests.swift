// What consent still has to be told: one that it refuses keeps no other waiting.

import Contracts
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("What consent still has to be told")
struct DutyTests {
    private static func add(_ house: OrganisationHouse, _ members: [MemberID]) async throws {
        try await house.opened.store.write { db in
            for member in members { try DutyTable().add(db, .removeMember(member)) }
        }
    }

    private static func waiting(_ house: OrganisationHouse) async throws -> [OrganisationDuty.Task] {
        try await house.opened.store.read { db in try DutyTable().waiting(db, limit: 1000) }.map(\.task)
    }

    @Test("ORG-16, ORG-23: one member whom consent refuses to remove keeps no later one, and no organisation's end, from being told")
    func refusedAlone() async throws {
        try await withTemporaryFolder { folder in
            try await OrganisationHouse.run(in: folder, runsDuties: false) { house in
                let members = (0..<120).map { _ in MemberID.random() }
                let refused = Array(members.prefix(60))
                for member in refused { house.consent.refuse(member, Failure(.invalid, "no")) }
                try await Self.add(house, members)
                let closed = OrganisationID.random()
                try await house.opened.store.write { db in try DutyTable().add(db, .closeOrganisation(closed)) }
                #expect(try await house.parts.duties.work())
                #expect(Set(house.consent.removed) == Set(members.dropFirst(60)) && house.consent.closed == [closed])
                #expect(try await Self.waiting(house) == refused.map { .removeMember($0) })
                // Not asked at each round, and asked again in time.
                for member in refused { house.consent.refuse(member, nil) }
                #expect(try await house.parts.duties.work())
                #expect(try await Self.waiting(house).count == 60)
                house.clock.advance(.seconds(31))
                #expect(try await house.parts.duties.work())
                #expect(try await Self.waiting(house).isEmpty)
            }
        }
    }

    @Test("ORG-16: what consent does not know any more is done; where consent is silent everything waits")
    func unknownAndSilent() async throws {
        try await withTemporaryFolder { folder in
            try await OrganisationHouse.run(in: folder, runsDuties: false) { house in
                let (gone, other) = (MemberID.random(), MemberID.random())
                house.consent.refuse(gone, Failure(.notFound, "there is no such member"))
                try await Self.add(house, [gone])
                #expect(try await house.parts.duties.work())
                #expect(try await Self.waiting(house).isEmpty)
                house.consent.fail(Failure(.unavailable, "starting"))
                try await Self.add(house, [other])
                #expect(try await house.parts.duties.work() == false)
                #expect(try await Self.waiting(house) == [.removeMember(other)])
                house.consent.fail(nil)
                #expect(try await house.parts.duties.work())
                #expect(house.consent.removed == [other])
            }
        }
    }
}
