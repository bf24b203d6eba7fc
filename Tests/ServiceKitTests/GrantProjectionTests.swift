// The copy of what people allow, by which services decide: it only ever becomes less.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import Storage
import TestKit
import Testing

@testable import ServiceKit

@Suite("GrantProjection", .timeLimit(.minutes(1)))
struct GrantProjectionTests {
    private static let day: Int64 = 1_789_000_000_000
    private let grants = GrantProjection()

    private static func grant(
        _ person: PersonID = .random(), types: [Metric] = [.heartRate, .oxygenSaturation], from: Int64 = day, to: Int64 = day + 10_000,
        _ granularity: GrantGranularity = .seconds
    ) -> GrantState {
        GrantState(
            grant: .random(), request: .random(), person: person, organisation: .random(), types: types,
            from: Timestamp(milliseconds: from), to: Timestamp(milliseconds: to), granularity: granularity, active: true, version: 1)
    }

    private static func logger() -> Logger { Running.quiet }

    private static func open(_ folder: URL) throws -> Store {
        try Store.open(
            folder.appendingPathComponent("service.db"), applicationID: 7,
            migrations: [
                Migration(1, "grants") { db in try GrantProjection.create(in: db) },
                Migration(2, "missing ones") { db in try GrantProjection.addMissing(to: db) },
            ], settings: StoreSettings(), logger: logger())
    }

    private static func run(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let store = try open(folder)
            do {
                try await store.write(body)
                await store.close()
            } catch {
                await store.close()
                throw error
            }
        }
    }

    @Test("INV-03: the projection takes each version once, forgets none for an older one, and a snapshot is everything")
    func versions() async throws {
        try await Self.run { [grants] db in
            let first = Self.grant()
            var second = first
            (second.active, second.version) = (false, 2)
            let (other, missing) = (Self.grant(), Self.grant())
            #expect(try grants.save(db, second) == second)
            #expect(try grants.save(db, first) == second)
            #expect(try grants.find(db, first.grant) == second, "a late fact gives nothing back")
            try grants.save(db, missing)
            try grants.replace(db, by: [other])
            #expect(try grants.find(db, missing.grant)?.active == false)
            #expect(try grants.find(db, other.grant) == other)
            #expect(try grants.active(db) == [other])
            #expect(try grants.find(db, .random()) == nil)
        }
    }

    @Test("SHR-16: a consent that was put back from a copy brings back nothing that was withdrawn since; what it says next counts")
    func putBack() async throws {
        let copied = Self.grant()
        var (revoked, narrowed, next) = (copied, copied, copied)
        (revoked.active, revoked.version) = (false, 2)
        (narrowed.types, narrowed.version) = ([.heartRate], 3)
        // Withdrawn after the restore, in a version that had been given to something else.
        (next.types, next.version) = ([.oxygenSaturation], 2)
        for known in [revoked, narrowed] {
            try await Self.run { [grants, next] db in
                try grants.save(db, known)
                // Once more, as where the service is killed and hears it again.
                for _ in 0..<2 { try grants.replace(db, by: [copied]) }
                #expect(try grants.find(db, copied.grant) == known)
                let told = try grants.save(db, next)
                #expect(told.active == known.active && told.types == (known.active ? [] : [.oxygenSaturation]))
            }
        }
    }

    @Test("SHR-16, INV-04: a snapshot without a grant ends it; published again it counts within what was left, unless it was withdrawn")
    func missing() async throws {
        try await Self.run { [grants] db in
            let wide = Self.grant()
            var narrow = wide
            (narrow.types, narrow.version) = ([.heartRate], 2)
            try grants.save(db, wide)
            try grants.save(db, narrow)
            // A copy of consent from before the grant, and then one from when it was wide.
            try grants.replace(db, by: [])
            #expect(try grants.find(db, wide.grant)?.active == false)
            #expect(try grants.active(db).isEmpty)
            try grants.replace(db, by: [])
            try grants.replace(db, by: [wide])
            #expect(try grants.find(db, wide.grant) == narrow, "in force again, and no wider than it was left")
            var over = narrow
            (over.active, over.version) = (false, 3)
            try grants.save(db, over)
            try grants.replace(db, by: [])
            try grants.replace(db, by: [wide])
            #expect(try grants.find(db, wide.grant) == over, "what was withdrawn stays so")
        }
    }

    @Test("many grants that a snapshot does not have end, page by page, and those that it has stay")
    func largeSnapshot() async throws {
        try await Self.run { [grants] db in
            let all = (0..<2500).map { _ in Self.grant() }
            for state in all { try grants.save(db, state) }
            let stay = all.enumerated().filter { $0.offset.isMultiple(of: 7) }.map(\.element)
            try grants.replace(db, by: stay)
            #expect(Set(try grants.active(db)) == Set(stay))
            #expect(try grants.end(db, stay[0].grant)?.active == false)
            #expect(try grants.end(db, stay[0].grant) == nil, "once")
        }
    }

    /// What a random fact about the grant may say: anything that a publisher could get wrong, or say late.
    private static func variant(of grant: GrantState, _ dice: inout SeededGenerator) -> GrantState {
        var state = grant
        state.types = [.heartRate, .oxygenSaturation, .bodyTemperature, .position].filter { _ in Bool.random(using: &dice) }
        state.from = Timestamp(milliseconds: day + Int64.random(in: 0...5000, using: &dice))
        state.to = Timestamp(milliseconds: day + Int64.random(in: 5000...10_000, using: &dice))
        state.granularity = GrantGranularity.allCases.randomElement(using: &dice) ?? .hours
        state.active = Int.random(in: 0..<8, using: &dice) > 0
        state.version = Int64.random(in: 1...4, using: &dice)
        return state
    }

    @Test(
        "SHR-11, SHR-12, SHR-16: whatever is published, twice and in any order, allows no type, time or step that any of it did not allow",
        arguments: UInt64(1)...20)
    func onlyNarrows(seed: UInt64) async throws {
        try await Self.run { [grants] db in
            var dice = SeededGenerator(seed: seed)
            let steps: [GrantGranularity] = [.seconds, .minutes, .hours]
            for _ in 0..<20 {
                let one = Self.grant()
                let facts = (0..<5).map { _ in Self.variant(of: one, &dice) }
                for fact in facts { try grants.save(db, fact) }
                let held = try #require(try grants.find(db, one.grant))
                for fact in facts {
                    #expect(held.types.allSatisfy(fact.types.contains) && held.from >= fact.from && held.to <= fact.to)
                    let (kept, said) = (steps.firstIndex(of: held.granularity) ?? 0, steps.firstIndex(of: fact.granularity) ?? 9)
                    #expect(kept >= said)
                    #expect(fact.active || !held.active)
                }
                var another = facts + facts
                another.shuffle(using: &dice)
                try db.execute(sql: "DELETE FROM granted")
                for fact in another { try grants.save(db, fact) }
                let other = try #require(try grants.find(db, one.grant))
                #expect(Set(other.types) == Set(held.types) && other.from == held.from && other.to == held.to)
                #expect(other.granularity == held.granularity && other.active == held.active && other.version == held.version)
            }
        }
    }

    @Test("INV-04: what was written before a kill is read after it, and a row that has not changed need not be decoded again")
    func restart() async throws {
        try await withTemporaryFolder { [grants] folder in
            let state = Self.grant()
            let first = try Self.open(folder)
            _ = try await first.write { db in try grants.save(db, state) }
            let before = try await first.read { db in try grants.row(db, state.grant) }
            await first.close()
            let second = try Self.open(folder)
            let after = try await second.read { db in try grants.row(db, state.grant) }
            #expect(after != nil && after == before)
            #expect(try after?.decoded() == state)
            try await second.write { db in try grants.replace(db, by: []) }
            let missing = try await second.read { db in try grants.row(db, state.grant) }
            #expect(missing != after)
            #expect(try missing?.decoded().active == false)
            await second.close()
        }
    }

    @Test("a store that has had the table since before keeps every row, in force and over")
    func migration() async throws {
        try await withTemporaryFolder { [grants] folder in
            let (stays, file) = (Self.grant(), folder.appendingPathComponent("service.db"))
            var over = Self.grant()
            over.active = false
            let old = try Store.open(
                file, applicationID: 7, migrations: [Migration(1, "grants") { db in try GrantProjection.create(in: db) }],
                settings: StoreSettings(), logger: Self.logger())
            try await old.write { [over] db in
                for state in [stays, over] {
                    try db.execute(
                        sql: "INSERT INTO granted (grant_id, person, version, state) VALUES (?, ?, ?, ?)",
                        arguments: [Data(state.grant.bytes), Data(state.person.bytes), state.version, try JSONEncoder().encode(state)])
                }
            }
            await old.close()
            let new = try Self.open(folder)
            let found = try await new.read { [over] db in [try grants.find(db, stays.grant), try grants.find(db, over.grant)] }
            #expect(found == [stays, over])
            await new.close()
        }
    }

    @Test("ACC-31: with the account its rows go, in slices; with the data alone they stay, so that nothing brings one back")
    func erasure() async throws {
        try await Self.run { [grants] db in
            let (anna, other) = (PersonID.random(), Self.grant())
            for _ in 0..<DeletionSlice.rows + 10 { try grants.save(db, Self.grant(anna)) }
            try grants.save(db, other)
            #expect(try grants.erase(db, anna, scope: .data) == 0)
            #expect(try grants.active(db).count == DeletionSlice.rows + 11)
            var slices: [Int] = []
            while case let count = try grants.erase(db, anna, scope: .account), count > 0 { slices.append(count) }
            #expect(slices == [DeletionSlice.rows, 10])
            #expect(try grants.active(db) == [other])
        }
    }

    @Test("facts of other types say nothing of grants, one about an erased person is not taken, and one that cannot be read is a fault")
    func facts() async throws {
        try await withTemporaryFolder { folder in
            let keys = try PersonKeys(
                folder.appendingPathComponent("keys.db"), wrappedBy: KeyEncryptionKey(bytes: [UInt8](repeating: 7, count: 32)),
                settings: StoreSettings(), logger: Self.logger())
            let (state, gone) = (Self.grant(), Self.grant())
            _ = try await keys.makeKey(for: gone.person)
            try await keys.destroyKey(of: gone.person)
            func event(_ type: String, _ payload: [UInt8]) -> StreamEvent {
                StreamEvent(
                    header: StreamHeader(
                        stream: StreamFamily.grants.streams[0], epoch: "e", sequence: 1, head: 1, type: type, subject: "",
                        at: Timestamp(milliseconds: 0), trace: ""), payload: payload)
            }
            func said(_ state: GrantState) throws -> [UInt8] { Array(try JSONEncoder().encode(state)) }
            #expect(try GrantProjection.fact(of: event(GrantState.type, try said(state)), keys: keys) == state)
            #expect(try GrantProjection.fact(of: event("another.v1", try said(state)), keys: keys) == nil)
            #expect(try GrantProjection.fact(of: event(GrantState.type, try said(gone)), keys: keys) == nil)
            #expect(throws: (any Error).self) { try GrantProjection.fact(of: event(GrantState.type, Array("{}".utf8)), keys: keys) }
            await keys.close()
        }
    }
}

extension GrantProjection {
    /// As a follower takes a snapshot.
    fileprivate func replace(_ db: Database, by snapshot: [GrantState]) throws {
        let named = Set(snapshot.map(\.grant))
        for state in snapshot { try save(db, state) }
        for grant in try known(db, after: [], limit: .max) where !named.contains(grant) { _ = try end(db, grant) }
    }
}
