// The record of accesses in its store: as fast as data are read, once each, by the hour after a day, and no longer than it is to be kept.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("The record of accesses", .timeLimit(.minutes(3)))
struct AccessTests {
    /// Ingest as far as it tells of reads.
    private struct Reader: Sendable {
        let runtime: Runtime
        let store: Store
        let facts: FactStream

        init(beside harness: SharingHarness) async throws {
            runtime = try harness.peer(.ingest)
            store = try runtime.openStore(
                applicationID: 1,
                migrations: [
                    Migration(1, "streams") { db in
                        try StreamLog.create(in: db)
                        try Confirmations.create(in: db)
                        try AnswerTable.create(in: db)
                    }
                ])
            let (relay, epoch) = try await runtime.relay(of: .accesses, in: store)
            facts = FactStream(stream: StreamFamily.accesses.streams[0], epoch: epoch, relay: relay)
            var methods = Methods(memory: try runtime.answers(in: store))
            StreamSource(families: [.accesses], store: store, render: { [facts] in try facts.render($1) }).register(in: &methods)
            try await runtime.answer(methods)
        }

        /// Reads of these grants, of one value each, one after the other.
        func read(_ count: Int, under grants: [GrantID], of person: PersonID, at: Timestamp) async throws {
            try await store.write { [facts] db in
                var appending = StreamLog.Appending()
                for number in 0..<count {
                    try facts.publish(
                        db, in: &appending, type: DataRead.type, subject: person,
                        body: AccessTests.read(under: grants[number % grants.count], number), at: at, trace: "")
                }
                try appending.finish(db)
            }
        }
    }

    private static let organisation = OrganisationID.random()

    private static func read(under grant: GrantID, _ second: Int, metric: Metric = .heartRate, count: Int = 1) -> DataRead {
        let from = Timestamp(milliseconds: 1_700_000_000_000) + .seconds(second)
        return DataRead(
            grant: grant, organisation: organisation, metric: metric, from: from, to: from + .seconds(1), count: count)
    }

    private static func number(_ sql: String, in store: Store) async throws -> Int {
        try await store.read { db in try Int.fetchOne(db, sql: sql) ?? 0 }
    }

    private static func isPlaced(_ harness: SharingHarness) async throws -> Bool {
        try await harness.accesses.read { db in try !ConsumerPositions().load(db).isEmpty }
    }

    // MARK: Recording

    @Test("S2, SHR-24: of 2,004 reads a second consent recorded 1,024, and fell behind for good: it keeps up, and each counts once")
    func pace() async throws {
        try await SharingHarness.run { harness in
            let person = try await harness.addPerson("ONE").person
            let reader = try await Reader(beside: harness)
            let following = Task { try await harness.parts.accessFollower.run() }
            try await eventually("it follows") { try await Self.isPlaced(harness) }
            let grants = (0..<1002).map { _ in GrantID.random() }
            let pace = MachinePace()
            let begun = ContinuousClock.now
            // What comes within four seconds, at once: whoever records as much in less keeps up.
            let count = 4 * 2 * grants.count
            for _ in 0..<8 { try await reader.read(count / 8, under: grants, of: person, at: harness.world.now) }
            try await eventually("all are recorded", within: .seconds(60)) {
                try await Self.number("SELECT count(*) FROM accesses", in: harness.accesses) >= count
            }
            let took = ContinuousClock.now - begun
            pace.end()
            #expect(took < pace.allowed(.seconds(4)), "\(took) for \(count) reads, slowness \(pace.slowness)")
            print("figure: S2: \(count) reads recorded in \(took), slowness \(pace.slowness)")
            #expect(try await Self.number("SELECT count(*) FROM accesses", in: harness.accesses) == count)
            #expect(try await Self.number("SELECT count(DISTINCT from_at) FROM accesses", in: harness.accesses) == count / 8)
            following.cancel()
            _ = await following.result
            await reader.store.close()
        }
    }

    @Test("SHR-24: a read counts once, however often the follower is stopped: its place in the stream stands in the store of the rows")
    func once() async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            try await SharingHarness.run(in: folder, world: world) { harness in
                let person = try await harness.addPerson("ONE").person
                let reader = try await Reader(beside: harness)
                let first = Task { try await harness.parts.accessFollower.run() }
                try await eventually("it follows") { try await Self.isPlaced(harness) }
                first.cancel()
                _ = await first.result
                let grant = GrantID.random()
                for round in 1...5 {
                    let following = Task { try await harness.parts.accesses.follower(on: harness.runtime).run() }
                    try await reader.read(300, under: [grant], of: person, at: world.now)
                    // Stopped somewhere in the middle.
                    try await eventually("some are recorded") {
                        try await Self.number("SELECT count(*) FROM accesses", in: harness.accesses) > (round - 1) * 300
                    }
                    following.cancel()
                    _ = await following.result
                }
                let last = Task { try await harness.parts.accesses.follower(on: harness.runtime).run() }
                try await eventually("all are recorded") {
                    try await Self.number("SELECT next FROM consumer_positions", in: harness.accesses) == 1501
                }
                #expect(try await Self.number("SELECT count(*) FROM accesses", in: harness.accesses) == 1500)
                #expect(try await Self.number("SELECT count(*) FROM consumer_positions", in: harness.opened.store) == 0)
                last.cancel()
                _ = await last.result
                await reader.store.close()
            }
        }
    }

    // MARK: By the hour

    @Test(
        "SHR-24: reads of more than a day ago become counts by grant, type and hour, with the sum of the reads; the list pages through both"
    )
    func folded() async throws {
        try await SharingHarness.run { harness in
            let (one, other) = (try await harness.addPerson("ONE").person, try await harness.addPerson("TWO").person)
            let grants = [GrantID.random(), .random()]
            let table = AccessStore(beside: harness.opened.store)
            let hour = Timestamp(milliseconds: harness.world.now.milliseconds / 3_600_000 * 3_600_000)
            // 3 hours × 2 grants × 2 types × 110 reads of 2 values, and some of another person.
            try await harness.accesses.write { db in
                // As they come, the oldest first.
                try table.add(db, Self.read(under: grants[0], 0), of: other, at: hour)
                for index in 0..<3 {
                    for second in 0..<110 {
                        for grant in grants {
                            for metric in [Metric.heartRate, .position] {
                                let at = hour + .seconds(3600 * index + second)
                                try table.add(db, Self.read(under: grant, second, metric: metric, count: 2), of: one, at: at)
                            }
                        }
                    }
                }
            }
            harness.world.pass(.seconds(24 * 3600) + (hour + .seconds(3600 + 55) - harness.world.now))
            let service = harness.parts.accesses
            var folded: [Int] = []
            repeat {
                folded.append(try await harness.accesses.write { [now = harness.world.now] db in try table.fold(db, at: now) })
            } while folded.last == DeletionSlice.rows
            // Those of one hour with the other person's, and half of those of the next.
            let sum: Int = folded.reduce(0, +)
            #expect(sum == 661)
            let again = try await harness.accesses.write { [now = harness.world.now] db in try table.fold(db, at: now) }
            #expect(again == 0)

            var (listed, place): ([RecordedAccess], AccessPlace?) = ([], nil)
            repeat {
                let page = try await service.page(of: one, after: place, limit: 97)
                listed += page.items.map(\.0)
                place = page.next.flatMap { AccessPlace($0.description) }
            } while place != nil
            #expect(listed.count == 220 + 440 + 8, "no item twice, none missing")
            let values = listed.map(\.read.count).reduce(0, +)
            #expect(values == 2640)
            let times = listed.map(\.at)
            #expect(times == times.sorted(by: >), "newest first")
            let full = listed.filter { $0.at == hour && $0.reads != nil }
            #expect(full.count == 4 && full.allSatisfy { $0.reads == 110 && $0.read.count == 220 })
            let whole = Self.read(under: grants[0], 0).from..<Self.read(under: grants[0], 109).to
            #expect(full.allSatisfy { $0.read.from == whole.lowerBound && $0.read.to == whole.upperBound })

            // The rest of the second hour is added to what is there of it.
            harness.world.pass(.seconds(7200))
            try await service.fold()
            let counts = try await service.page(of: one, after: nil, limit: 1000).items.map(\.0)
            #expect(counts.count == 12 && counts.allSatisfy { $0.reads == 110 && $0.read.count == 220 })
            #expect(try await service.page(of: other, after: nil, limit: 10).items.map(\.0.reads) == [1])
        }
    }

    @Test("SHR-24: counts are kept for as many days as the setting says, and what a wrong clock dated ahead stops nothing behind it")
    func pruned() async throws {
        try await SharingHarness.run(environment: ["TRACKME_SHR_ACCESS_DAYS": "2"]) { harness in
            let person = try await harness.addPerson("ONE").person
            let table = AccessStore(beside: harness.opened.store)
            let (now, service) = (harness.world.now, harness.parts.accesses)
            try await harness.accesses.write { db in
                for _ in 0..<600 { try table.add(db, Self.read(under: .random(), 0), of: person, at: now + .seconds(400 * 86_400)) }
                for _ in 0..<600 { try table.add(db, Self.read(under: .random(), 0), of: person, at: now) }
            }
            harness.world.pass(.seconds(86_400 + 3600))
            try await service.fold()
            #expect(try await Self.number("SELECT count(*) FROM accesses", in: harness.accesses) == 0)
            try await service.prune()
            #expect(try await Self.number("SELECT count(*) FROM access_hours", in: harness.accesses) == 1200)
            harness.world.pass(.seconds(86_400))
            try await service.prune()
            #expect(try await Self.number("SELECT count(*) FROM access_hours", in: harness.accesses) == 600, "those that are dated ahead")
        }
    }

    @Test("S2: recording, folding, pruning and erasing find their rows by an index, whatever the table has grown to")
    func byIndex() async throws {
        try await SharingHarness.run { harness in
            let plans = try await harness.accesses.read { db in
                try [
                    "SELECT 1 FROM access_hours WHERE hour <= 1 LIMIT 500",
                    "SELECT 1 FROM accesses WHERE person = 1 LIMIT 500",
                    "SELECT 1 FROM accesses WHERE person = 1 AND number < 9 ORDER BY number DESC LIMIT 9",
                    "SELECT 1 FROM access_hours WHERE person = 1 AND (hour, access_grant, metric) < (1, 1, 1) ORDER BY hour DESC LIMIT 9",
                    "SELECT 1 FROM access_grants WHERE person = 1", "SELECT 1 FROM access_people WHERE person = x'01'",
                ].flatMap { try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \($0)").map { $0["detail"] as String } }
            }
            #expect(!plans.isEmpty && plans.allSatisfy { $0.hasPrefix("SEARCH") }, "\(plans)")
        }
    }

    // MARK: What earlier versions kept

    @Test(
        "SHR-24: what an earlier version kept beside the accounts is moved in slices, once, also where it is killed between the two stores")
    func moved() async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            // The store that an earlier version left behind, with its place in the stream.
            let person = try await SharingHarness.run(in: folder, world: world) { harness in
                let person = try await harness.addPerson("ONE").person
                try await harness.opened.store.write { db in
                    for number in 1...1200 {
                        try db.execute(
                            sql: """
                                INSERT INTO data_accesses (number, person, grant_id, organisation, metric, from_at, to_at, count, at)
                                VALUES (?, ?, ?, ?, 1, 0, 1, 1, ?)
                                """,
                            arguments: [
                                number, Data(person.bytes), Data(GrantID.random().bytes), Data(Self.organisation.bytes),
                                world.now.milliseconds,
                            ])
                    }
                    try ConsumerPositions().save(db, [StreamPosition(stream: "ingest.accesses", epoch: "e", next: 1201)])
                    try db.execute(sql: "DELETE FROM access_store")
                }
                return person
            }
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: folder.appendingPathComponent("store/consent-accesses.db\(suffix)").path)
            }
            try await SharingHarness.run(in: folder, world: world) { harness in
                #expect(harness.runtime.faults.remarks.isEmpty)
                #expect(try await Self.number("SELECT next FROM consumer_positions", in: harness.accesses) == 1201)
                // What comes meanwhile is listed before what is moved later.
                let table = AccessStore(beside: harness.opened.store)
                try await harness.accesses.write { db in try table.add(db, Self.read(under: .random(), 0), of: person, at: world.now) }
                let move = AccessMoveStore(from: harness.opened.store, to: harness.accesses)
                #expect(try await move.step())
                // Killed before the rows went out of the old store: they are still there.
                try await harness.opened.store.write { db in
                    for number in 1...500 {
                        try db.execute(
                            sql: """
                                INSERT INTO data_accesses (number, person, grant_id, organisation, metric, from_at, to_at, count, at)
                                VALUES (?, ?, ?, ?, 1, 0, 1, 1, 0)
                                """,
                            arguments: [number, Data(person.bytes), Data(GrantID.random().bytes), Data(Self.organisation.bytes)])
                    }
                }
                while try await move.step() {}
                #expect(try await Self.number("SELECT count(*) FROM data_accesses", in: harness.opened.store) == 0)
                let listed = try await harness.parts.accesses.page(of: person, after: nil, limit: 2000).items.map(\.0.place)
                #expect(listed == (1...1201).reversed().map { AccessPlace.read($0) })
            }
        }
    }

    @Test("NFR-08: whoever was erased came back with a copy of the file of accesses, and could not be erased again")
    func strangers() async throws {
        try await SharingHarness.run { harness in
            let known = try await harness.addPerson("ONE").person
            let table = AccessStore(beside: harness.opened.store)
            let at = harness.world.now
            try await harness.accesses.write { db in
                try table.add(db, Self.read(under: .random(), 1), of: known, at: at)
                // As it stands in the copy.
                try db.execute(sql: "INSERT INTO access_people (person) VALUES (?)", arguments: [Data(PersonID.random().bytes)])
                try db.execute(
                    sql: """
                        INSERT INTO accesses (number, person, access_grant, metric, from_at, to_at, count, at)
                        SELECT 99, (SELECT max(number) FROM access_people), access_grant, metric, from_at, to_at, count, at FROM accesses
                        """)
            }
            #expect(try await Self.number("SELECT count(*) FROM accesses", in: harness.accesses) == 2)
            try await harness.parts.accesses.eraseStrangers()
            #expect(try await Self.number("SELECT count(*) FROM accesses", in: harness.accesses) == 1)
            #expect(try await Self.number("SELECT count(*) FROM access_people", in: harness.accesses) == 1)
        }
    }

    @Test("A store of accesses that is gone is begun anew, so that everybody can log in, and readiness names the file")
    func missing() async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            try await SharingHarness.run(in: folder, world: world) { harness in #expect(harness.runtime.faults.remarks.isEmpty) }
            let file = folder.appendingPathComponent("store/consent-accesses.db").path
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) }
            try await SharingHarness.run(in: folder, world: world) { harness in
                #expect(harness.runtime.faults.remarks.count == 1 && harness.runtime.faults.remarks[0].contains(file))
            }
            try await SharingHarness.run(in: folder, world: world) { harness in #expect(harness.runtime.faults.remarks.isEmpty) }
        }
    }
}
