// What an untrusted organisation gets of groups: statistics, and no records.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Tiers of organisations")
struct GroupTierTests {
    private static let statistics = GroupHarness.form(more: #","product":"statistics""#)

    private static func products(_ harness: GroupHarness) async throws -> [String]? {
        try await harness.call("GET", "/group-catalogue").json["products"] as? [String]
    }

    @Test("an untrusted organisation is refused records without a look at data, and given statistics; nothing is kept of the form")
    func untrusted() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            try await harness.setTier(.untrusted)
            for form in [GroupHarness.form(), GroupHarness.form(more: #","product":"records""#)] {
                let refused = try await harness.call("POST", "/group-requests", form)
                #expect(refused.status == 403 && refused.problem == "statistics-only", "\(refused.text)")
            }
            #expect(harness.world.asked.isEmpty)
            #expect(try await harness.call("GET", "/group-requests").items.isEmpty)
            #expect(try await Self.products(harness) == ["statistics"])
            _ = try await harness.call("POST", "/group-requests", Self.statistics).expect(status: 201)
            #expect(harness.world.asked.map(\.form.product) == ["statistics"] && harness.world.asked.first?.guardsAtoms == nil)
        }
    }

    @Test("records that were released before are handed out no more while their organisation is untrusted, nor windows of records")
    func released() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            let whole = try await harness.accepted()
            harness.world.subscribe()
            let subscription = try await harness.accepted(GroupHarness.form(to: "2026-12-01T00:00:00Z"))
            try await harness.closes(subscription, 1, .released)
            let paths = ["/group-requests/\(whole)/entries", "/group-requests/\(subscription)/entries?window=1"]
            for path in paths { #expect(try await harness.call("GET", path).items.count == 1) }
            let read = harness.world.reads.count
            try await harness.setTier(.untrusted)
            for path in paths {
                for form in ["application/json", "text/csv"] {
                    let refused = try await harness.call("GET", path, headers: ["Accept": form])
                    #expect(refused.status == 403 && refused.problem == "statistics-only", "\(refused.text)")
                }
            }
            #expect(harness.world.reads.count == read)
            try await harness.setTier(.goodStanding)
            for path in paths { #expect(try await harness.call("GET", path).items.count == 1) }
        }
    }

    @Test("org.tier is the tier of those of whom the operator has not decided")
    func usual() async throws {
        try await GroupHarness.run(environment: ["TRACKME_ORG_TIER": "untrusted"]) { harness in
            harness.world.release([.at(hour: 8)])
            #expect(try await harness.call("POST", "/group-requests", GroupHarness.form()).problem == "statistics-only")
            try await harness.setTier(.goodStanding)
            _ = try await harness.accepted()
            #expect(try await Self.products(harness) == ["records", "statistics"])
        }
    }

    @Test("org.untrusted_records lets untrusted organisations have records, judged by all combinations of their groups")
    func guarded() async throws {
        try await GroupHarness.run(environment: ["TRACKME_ORG_UNTRUSTED_RECORDS": "true"]) { harness in
            harness.world.release([.at(hour: 8)])
            _ = try await harness.accepted()
            try await harness.setTier(.untrusted)
            let id = try await harness.accepted(GroupHarness.form(filters: #"{"sex":["female"]}"#))
            #expect(try await harness.call("GET", "/group-requests/\(id)/entries").items.count == 1)
            #expect(harness.world.asked.map(\.guardsAtoms) == [nil, true])
        }
    }

    @Test("the operator sets a tier by a question, sees it, and it is in the log; of nobody there is none")
    func set() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            func tier() async throws -> OrganisationTier? {
                try await harness.operators.ask(ShowOrganisation(organisation: founded.id), deadline: .seconds(5)).item.tier
            }
            #expect(try await tier() == .goodStanding)
            let order = SetOrganisationTier(organisation: founded.id, tier: .untrusted)
            for _ in 1...2 { _ = try await harness.operators.ask(order, deadline: .seconds(5)) }
            #expect(try await tier() == .untrusted)
            let listed = try await harness.operators.ask(ListOrganisations(), deadline: .seconds(5))
            #expect(listed.items.map(\.tier) == [.untrusted])
            #expect(harness.log.text.contains("an organisation's tier was set"))
            await #expect(throws: Failure.self) {
                try await harness.operators.ask(SetOrganisationTier(organisation: .random(), tier: .untrusted), deadline: .seconds(5))
            }
        }
    }

    @Test("an organisation of the release before has the usual tier, until something is said")
    func migrated() async throws {
        try await withTemporaryFolder { folder in
            func open(_ count: Int) throws -> Store {
                try Store.open(
                    folder.appendingPathComponent("gateway.db"), applicationID: GatewaySchema.applicationID,
                    migrations: Array(GatewaySchema.migrations.prefix(count)), logger: Logger(label: "test"))
            }
            let id = OrganisationID.random()
            let old = try open(15)
            try await old.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO organisations (organisation, state, details, created_at, changed_at) VALUES (?, 'closed', x'00', 0, 0)
                        """, arguments: [id])
            }
            await old.close()
            let new = try open(16)
            let key = try SymmetricKey(bytes: [UInt8](repeating: 9, count: 32))
            let table = OrganisationStore(
                key: key, names: LookupKey(key, purpose: "names"), vatNumbers: LookupKey(key, purpose: "numbers"),
                addresses: LookupKey(key, purpose: "addresses"))
            #expect(try await new.read { db in try table.tier(db, id) } == nil)
            try await new.write { db in try table.setTier(db, id, .untrusted, at: .now) }
            #expect(try await new.read { db in try table.tier(db, id) } == .untrusted)
            await new.close()
        }
    }
}
