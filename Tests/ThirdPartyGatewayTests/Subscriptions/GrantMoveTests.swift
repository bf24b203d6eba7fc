// What the gateway knew of grants before it kept them as every service does.

import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions: grants of the release before")
struct GrantMoveTests {
    private static func open(_ file: URL, _ count: Int) throws -> Store {
        try Store.open(
            file, applicationID: GatewaySchema.applicationID, migrations: Array(GatewaySchema.migrations.prefix(count)),
            logger: Logger(label: "test"))
    }

    private static func add(_ db: Database, _ grant: GrantID, _ person: PersonID, types: [Metric], isActive: Bool) throws {
        try db.execute(
            sql: "INSERT INTO known_grants (grant_id, person, version, active, types) VALUES (?, ?, 3, ?, ?)",
            arguments: [Data(grant.bytes), Data(person.bytes), isActive, Data(types.map(\.number))])
    }

    private static func add(_ db: Database, _ request: RequestID, _ organisation: OrganisationID, _ grant: GrantID) throws {
        try db.execute(
            sql: """
                INSERT INTO requests (request, organisation, asked, types, from_at, to_at, granularity, is_subscription, status, grant_id,
                    answer_by, created_at, changed_at, change)
                VALUES (?, ?, x'', x'0102', 1000, 9000, 'minutes', 1, 'APPROVED', ?, 0, 0, 0, 1)
                """, arguments: [Data(request.bytes), Data(organisation.bytes), Data(grant.bytes)])
    }

    /// - Returns: the grants of the new table, and whether consent is asked for all of them again.
    private static func moved(
        _ grants: [GrantID], _ fill: @escaping @Sendable (Database) throws -> Void
    ) async throws -> (found: [GrantState?], isAskedAgain: Bool) {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("gateway.db")
            let old = try open(file, 9)
            try await old.write { db in
                try fill(db)
                try ConsumerPositions().save(db, [StreamPosition(stream: "consent.grants", epoch: "e", next: 7)])
            }
            await old.close()
            let new = try open(file, 10)
            let moved = try await new.read { db in
                (found: try grants.map { try GrantProjection().find(db, $0) }, isAskedAgain: try ConsumerPositions().load(db).isEmpty)
            }
            await new.close()
            return moved
        }
    }

    @Test("SHR-16: what was known of each grant is kept, with what its request says of it; what was withdrawn stays withdrawn")
    func kept() async throws {
        let (request, organisation, person) = (RequestID.random(), OrganisationID.random(), PersonID.random())
        let (narrowed, over) = (GrantID.random(), GrantID.random())
        let moved = try await Self.moved([narrowed, over]) { db in
            try Self.add(db, narrowed, person, types: [.heartRate], isActive: true)
            try Self.add(db, request, organisation, narrowed)
            try Self.add(db, over, person, types: [.heartRate], isActive: false)
        }
        let kept = GrantState(
            grant: narrowed, request: request, person: person, organisation: organisation, types: [.heartRate],
            from: Timestamp(milliseconds: 1000), to: Timestamp(milliseconds: 9000), granularity: .minutes, active: true, version: 3)
        #expect(moved.found[0] == kept)
        #expect(moved.found[1]?.active == false && moved.found[1]?.version == 3)
        #expect(!moved.isAskedAgain)
    }

    @Test("a grant whose request has not come yet is asked for again")
    func unknownRequest() async throws {
        let grant = GrantID.random()
        let moved = try await Self.moved([grant]) { db in
            try Self.add(db, grant, .random(), types: [.heartRate], isActive: true)
        }
        #expect(moved.found == [nil] && moved.isAskedAgain)
    }
}
