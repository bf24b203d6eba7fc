// Whose values count: late facts, opt-outs, opt-ins anew, snapshots.

import Contracts
import Foundation
import Sealing
import Storage
import TestKit
import Testing

@testable import Anonymiser
@testable import ServiceKit

@Suite("Whose values count")
struct OptInTests {
    private static let midnight = CohortStage.midnight
    private let anna = PersonID.random()
    private let bruno = PersonID.random()

    @Test("what ingest says of an hour that it has closed is dropped")
    func late() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await stage.say(anna, CohortStage.profile(since: Self.midnight))
            try await stage.say(CohortStage.rate(anna, Self.midnight, 60))
            try await stage.close(through: Self.midnight + 1)
            try await stage.say(CohortStage.rate(anna, Self.midnight, 90))
            try await stage.close(through: Self.midnight + 24)
            let data = await stage.population.current()
            #expect(try data.rate(of: 0, from: Self.midnight) == 30)
            #expect(try data.rate(of: 0, .day, from: Self.midnight) == 30)
            await stage.store.close()
        }
    }

    @Test("ANO-14: who opts out is in no group at once, and the hours before count no more when they opt in again")
    func anew() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            for person in [anna, bruno] { try await stage.say(person, CohortStage.profile(since: Self.midnight - 24)) }
            for hour in [Self.midnight - 1, Self.midnight, Self.midnight + 1] {
                for person in [anna, bruno] { try await stage.say(CohortStage.rate(person, hour, 60)) }
            }
            try await stage.close(through: Self.midnight + 1)
            try await stage.say(anna, nil)
            #expect(await stage.population.current().columns.eligible(for: .heartRate).members == [1])

            try await stage.say(anna, CohortStage.profile(since: Self.midnight + 3))
            try await stage.say(CohortStage.rate(anna, Self.midnight + 4, 80))
            try await stage.close(through: Self.midnight + 24)
            let data = await stage.population.current()
            #expect(data.columns.eligible(for: .heartRate).members == [0, 1])
            for hour in [Self.midnight - 1, Self.midnight, Self.midnight + 1] { #expect(try data.rate(of: 0, from: hour) == nil) }
            #expect(try data.rate(of: 0, from: Self.midnight + 4) == 50)
            #expect(try data.rate(of: 0, .day, from: Self.midnight) == 50, "nothing from before is in the mean of the day")
            #expect(try data.rate(of: 1, .day, from: Self.midnight) == 30)
            #expect(data.hasData(.heartRate, day: Samples.today - 1).members == [1])
            #expect(data.hasData(.heartRate, day: Samples.today).members == [0, 1])
            await stage.store.close()
        }
    }

    @Test("a day that was closed before consent said of an opt-in anew holds nothing from before it")
    func slowConsent() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await stage.say(anna, CohortStage.profile(since: Self.midnight))
            try await stage.say(CohortStage.rate(anna, Self.midnight, 60))
            try await stage.close(through: Self.midnight + 24)
            try await stage.say(anna, CohortStage.profile(since: Self.midnight + 3))
            let data = await stage.population.current()
            for granularity in [Granularity.hour, .sixHours, .day] {
                #expect(try data.rate(of: 0, granularity, from: Self.midnight) == nil)
                #expect(try data.countedRates(granularity, from: Self.midnight) == 0)
            }
            #expect(data.hasData(.heartRate, day: Samples.today).isEmpty)
            await stage.store.close()
        }
    }

    @Test("hours that ingest said before consent said who shares them count once it has")
    func slowProfile() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await stage.say(CohortStage.rate(anna, Self.midnight, 60))
            try await stage.close(through: Self.midnight + 24)
            #expect(await stage.population.current().columns.eligible(for: .heartRate).isEmpty)
            try await stage.say(anna, CohortStage.profile(since: Self.midnight))
            let data = await stage.population.current()
            #expect(try data.rate(of: 0, .day, from: Self.midnight) == 30)
            #expect(data.hasData(.heartRate, day: Samples.today).members == [0])
            await stage.store.close()
        }
    }

    @Test("ANO-14: whom a snapshot of profiles lacks shares nothing any more; whom it repeats is not changed")
    func snapshot() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            for person in [anna, bruno] { try await stage.say(person, CohortStage.profile(since: Self.midnight)) }
            let changed = await stage.population.current().changedAt
            try await stage.say(bruno, CohortStage.profile(since: Self.midnight))
            let ending = try #require(stage.profiles.snapshot.ending)
            let kept = stage.stores.people.snapshotKey(bruno)
            try await stage.store.write { db in
                let known = try ending.known(db, "consent.cohort", [], 10)
                #expect(known.count == 2)
                for key in known where key != kept { _ = try ending.forget(db, key) }
            }
            let data = await stage.population.current()
            #expect(data.columns.eligible(for: .heartRate).members == [1])
            #expect(data.changedAt[1] == changed[1])
            await stage.store.close()
        }
    }

    @Test("a person counts in at most four squares of a day, the same ones whichever of its hours is asked for")
    func squares() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await stage.say(anna, CohortStage.profile(since: Self.midnight, [.position]))
            for hour in 0..<6 {
                let cells = (0..<3).map { GridCell(x: Int32(hour), y: Int32($0)) }
                try await stage.say(
                    CohortHourSummed(person: anna, hour: CohortStage.time(Self.midnight + hour), sums: [], cells: cells))
                try await stage.close(through: Self.midnight + hour + 1)
            }
            let data = await stage.population.current()
            let start = Self.midnight * TimeSpan.perHour
            let all = Set(try data.visits(TimeSpan(start, start + TimeSpan.perDay)).map(\.cell))
            #expect(all.count == 4)
            let byHour = try (0..<6).flatMap { hour in
                try data.visits(TimeSpan(start + hour * TimeSpan.perHour, start + (hour + 1) * TimeSpan.perHour)).map(\.cell)
            }
            #expect(Set(byHour) == all && byHour.count == 4)
            for cell in all { #expect(try data.presence(in: cell, day: Samples.today).members == [0]) }
            #expect(try data.presence(in: GridCell(x: 5, y: 0), day: Samples.today).isEmpty)
            #expect(data.hasData(.position, day: Samples.today).members == [0])
            await stage.store.close()
        }
    }
}
