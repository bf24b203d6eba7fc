// Erasure out of columns over many people.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage
import TestKit
import Testing

@testable import Anonymiser
@testable import ServiceKit

@Suite("Erasure in the anonymiser")
struct AnonymiserErasureTests {
    private static let midnight = CohortStage.midnight
    private let anna = PersonID.random()
    private let bruno = PersonID.random()

    /// Two people with two days behind them and an open hour.
    private func fill(_ stage: CohortStage) async throws {
        for person in [anna, bruno] {
            try await stage.say(
                person, CohortStage.profile(since: Self.midnight, [.heartRate, .position], birthDate: "1971-07-17"))
        }
        for hour in Self.midnight..<Self.midnight + 50 {
            for (person, rate) in [(anna, 90), (bruno, 60)] {
                var fact = CohortStage.rate(person, hour, rate)
                fact.cells = [GridCell(x: Int32(rate), y: 1)]
                try await stage.say(fact)
            }
            if hour < Self.midnight + 49 { try await stage.close(through: hour + 1) }
        }
    }

    /// Everything that chunks hold of a row, by places.
    private static func held(_ stage: CohortStage, _ row: Int) async throws -> [ChunkPlace] {
        try await stage.store.read { [chunks = stage.stores.chunks] db in
            try chunks.places(db, chunk: 0, after: nil, limit: 100_000).filter { place in
                guard let bytes = try chunks.read(db, place) else { return false }
                return try ChunkStore.removing(row, place.kind, from: bytes) != .absent
            }
        }
    }

    @Test("ACC-29: of an erased account no chunk, no open hour and no digest is left, and other people's values stay")
    func account() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await fill(stage)
            let before = try await Self.held(stage, 1)
            #expect(before.count > 100)
            #expect(try await Self.held(stage, 0).count == before.count, "the check bites")
            // As it lay in the file.
            let fragments = try await stage.store.read { db in
                try Data.fetchAll(
                    db,
                    sql: """
                        SELECT sealed FROM cohort_open_hours WHERE row = 0
                        UNION ALL SELECT sealed FROM cohort_chunks WHERE kind = ?
                        UNION ALL SELECT sealed FROM cohort_rows WHERE row = 0
                        UNION ALL SELECT pseudonym FROM cohort_rows WHERE row = 0
                        """, arguments: [ChunkKind.values(.heartRate, .hour).number])
            }
            try await stage.erase(anna, .account, at: Self.midnight + 49)
            #expect(try await Self.held(stage, 0) == [])
            #expect(try await Self.held(stage, 1) == before)
            #expect(try await stage.row(anna) == nil)

            // What was said before ingest heard of it comes later.
            try await stage.say(CohortStage.rate(anna, Self.midnight + 49, 90))
            try await stage.say(anna, CohortStage.profile(since: Self.midnight))
            try await stage.close(through: Self.midnight + 72)
            #expect(try await Self.held(stage, 0) == [])
            #expect(try await stage.row(anna) == nil)
            let data = await stage.population.current()
            #expect(data.columns.eligible(for: .heartRate).members == [1])
            #expect(try data.rate(of: 1, .day, from: Self.midnight) == 30)
            #expect(try data.visits(TimeSpan(Self.midnight * 4, Self.midnight * 4 + TimeSpan.perDay)).allSatisfy { $0.row == 1 })
            #expect(data.changed(since: Timestamp(milliseconds: 0))[0])
            try await stage.store.emptyLog()
            await stage.store.close()

            let hunt = CanaryHunt(texts: ["\(anna)", "1971-07-17"], numbers: [], fragments: fragments + [Data(anna.bytes)])
            let found = hunt.findings(in: folder).found
            #expect(found.isEmpty, "\(found)")
        }
    }

    @Test("ACC-29: with the data alone erased the opt-ins stay, nothing from before counts, and what comes later does")
    func data() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await fill(stage)
            try await stage.erase(anna, .data, at: Self.midnight + 49)
            #expect(try await Self.held(stage, 0) == [])
            try await stage.say(CohortStage.rate(anna, Self.midnight + 49, 90))
            try await stage.say(CohortStage.rate(anna, Self.midnight + 60, 100))
            try await stage.close(through: Self.midnight + 72)
            let data = await stage.population.current()
            #expect(data.columns.eligible(for: .heartRate).members == [0, 1])
            #expect(try data.rate(of: 0, .day, from: Self.midnight + 48) == 70)
            #expect(!data.hasData(.heartRate, day: Samples.today)[0] && data.hasData(.heartRate, day: Samples.today + 2)[0])
            await stage.store.close()
        }
    }

    @Test("ACC-29: of somebody whose data were erased before anything was known of them a fact that was under way is not taken")
    func underWay() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await stage.erase(anna, .data, at: Self.midnight + 1)
            for hour in [0, 1, 3] { try await stage.say(CohortStage.rate(anna, Self.midnight + hour, 60 + hour)) }
            try await stage.say(anna, CohortStage.profile(since: Self.midnight))
            try await stage.close(through: Self.midnight + 24)
            let data = await stage.population.current()
            for hour in [0, 1] { #expect(try data.rate(of: 0, from: Self.midnight + hour) == nil) }
            #expect(try data.rate(of: 0, from: Self.midnight + 3) == 33)
            #expect(try data.rate(of: 0, .day, from: Self.midnight) == 33)
            #expect(data.hasData(.heartRate, day: Samples.today).members == [0])
            await stage.store.close()
        }
    }

    @Test("an erasure that was broken off goes on where it was after a start")
    func brokenOff() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await fill(stage)
            let order = PersonErased(
                erasure: .random(), person: anna, scope: .account, orderedAt: CohortStage.time(Self.midnight + 49))
            // Nothing is overwritten yet.
            _ = try await stage.store.write { [profiles = stage.profiles] db in try profiles.shut(db, order) }
            await stage.store.close()

            let again = try await CohortStage(folder, key: key)
            try await again.say(anna, CohortStage.profile(since: Self.midnight))
            #expect(await again.population.current().columns.eligible(for: .heartRate).members == [1])
            #expect(try await !Self.held(again, 0).isEmpty)
            try await again.erase(anna, .account, at: Self.midnight + 49)
            #expect(try await Self.held(again, 0) == [])
            #expect(try await again.row(anna) == nil)
            await again.store.close()
        }
    }

    @Test("ACC-29: who was erased after a copy was made is overwritten once it is restored, and nothing is closed until consent was heard")
    func restored() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await fill(stage)
            let before = try await Self.held(stage, 1)
            // Both are in the copy. Anna's account was erased since: consent does not know her, and says nothing of her.
            try await stage.store.write { db in
                try ConsumerPositions().save(db, [StreamPosition(stream: "consent.cohort", epoch: "e", next: 7)])
                try RestoredPeople.begin(db)
            }
            await stage.store.close()

            let again = try await CohortStage(folder, key: key)
            #expect(try await again.store.read { db in try ConsumerPositions().load(db) }.isEmpty, "a snapshot is asked for")
            #expect(try await again.restored.round() == .whenWoken)
            #expect(await again.population.current().closedUntil == nil)
            #expect(try await !Self.held(again, 0).isEmpty)

            let ending = try #require(again.profiles.snapshot.ending)
            let annas = again.stores.people.snapshotKey(anna)
            try await again.store.write { db in
                _ = try ending.forget(db, annas)
                try ConsumerPositions().save(db, [StreamPosition(stream: "consent.cohort", epoch: "e", next: 9)])
                // A start that was broken off in the midst of it.
                _ = try again.profiles.end(db, row: 0)
            }
            #expect(try await again.restored.round() == .whenWoken)
            #expect(try await Self.held(again, 0) == [])
            #expect(try await Self.held(again, 1) == before)
            #expect(try await again.row(anna) == nil)
            let left = try await again.store.read { [hours = again.stores.hours] db in try hours.state(db).restoredRows }
            #expect(left == nil)
            #expect(await again.population.current().closedUntil == (Self.midnight + 49) * TimeSpan.perHour)

            // Had she only ended sharing, she is somebody new.
            try await again.say(anna, CohortStage.profile(since: Self.midnight + 49))
            #expect(try await again.row(anna) == 2)
            await again.store.close()
        }
    }
}
