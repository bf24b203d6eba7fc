// Squares of a closed day: the same as its hours say, through starts, opt-ins and erasures.

import Contracts
import Foundation
import Sealing
import Storage
import TestKit
import Testing

@testable import Anonymiser

@Suite("Squares of closed days")
struct SquareTests {
    private static let midnight = CohortStage.midnight
    private let anna = PersonID.random()
    private let bruno = PersonID.random()

    private static func whole(_ day: Int) -> TimeSpan { TimeSpan(day * TimeSpan.perDay, (day + 1) * TimeSpan.perDay) }

    private static func fact(_ person: PersonID, _ hour: Int, _ cells: [GridCell]) -> CohortHourSummed {
        CohortHourSummed(person: person, hour: CohortStage.time(hour), sums: [], cells: cells.sorted())
    }

    /// What the day's hours say, as for a day that is not closed; and that the closed day says the same, whole, by hour and by square.
    private static func compare(_ stage: CohortStage, day: Int) async throws -> Set<CellVisit> {
        let data = await stage.population.current()
        func byHours(_ bucket: TimeSpan) throws -> Set<CellVisit> {
            try Set(data.buckets.visits(bucket, data.counting, rows: data.columns.count, closedUntil: nil))
        }
        let all = try byHours(whole(day))
        #expect(Dictionary(grouping: all, by: \.row).values.allSatisfy { $0.count <= 4 }, "of a person and day at most four squares")
        #expect(try Set(data.visits(whole(day))) == all)
        for quarter in stride(from: day * TimeSpan.perDay, to: (day + 1) * TimeSpan.perDay, by: 6 * TimeSpan.perHour) {
            for length in [TimeSpan.perHour, 6 * TimeSpan.perHour] {
                let bucket = TimeSpan(quarter, quarter + length)
                #expect(try Set(data.visits(bucket)) == byHours(bucket))
            }
        }
        for cell in Set(all.map(\.cell)) {
            let rows = Set(all.filter { $0.cell == cell }.map { Int($0.row) })
            #expect(try data.presence(in: cell, day: day).members == rows.sorted())
        }
        return all
    }

    @Test("a closed day says of squares what its hours say, also with a start after every hour", arguments: [false, true])
    func closed(startsAnew: Bool) async throws {
        try await CohortStage.with { folder, key in
            var generator = SeededGenerator(seed: 5)
            var stage = try await CohortStage(folder, key: key)
            let people = (0..<12).map { _ in PersonID.random() }
            for person in people { try await stage.say(person, CohortStage.profile(since: Self.midnight, [.position])) }
            for hour in Self.midnight..<Self.midnight + 48 {
                for person in people {
                    let count = Int.random(in: 0..<3, using: &generator)
                    let cells = (0..<count).map { _ in
                        GridCell(x: Int32.random(in: -2..<3, using: &generator), y: Int32.random(in: 0..<3, using: &generator))
                    }
                    if count > 0 { try await stage.say(Self.fact(person, hour, Array(Set(cells)))) }
                }
                try await stage.close(through: hour + 1)
                guard startsAnew else { continue }
                await stage.store.close()
                stage = try await CohortStage(folder, key: key)
            }
            for day in [Samples.today, Samples.today + 1] {
                let all = try await Self.compare(stage, day: day)
                #expect(!all.isEmpty)
                let most = AnonymityPolicy().cellsPerPersonDay
                #expect(Dictionary(grouping: all, by: \.row).values.allSatisfy { $0.count <= most })
            }
            await stage.store.close()
        }
    }

    @Test("who is in a square of a closed day is read without any of its hours")
    func alone() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            try await stage.say(anna, CohortStage.profile(since: Self.midnight, [.position]))
            try await stage.say(Self.fact(anna, Self.midnight + 3, [GridCell(x: 1, y: 1)]))
            try await stage.close(through: Self.midnight + 24)
            try await stage.store.write { [chunks = stage.stores.chunks] db in
                for hour in Self.midnight..<Self.midnight + 24 {
                    try chunks.write(db, ChunkPlace(chunk: 0, kind: .cells, start: hour), nil)
                }
            }
            let data = await stage.population.current()
            #expect(try data.presence(in: GridCell(x: 1, y: 1), day: Samples.today).members == [0])
            #expect(try data.visits(Self.whole(Samples.today)) == [CellVisit(row: 0, cell: GridCell(x: 1, y: 1))])
            await stage.store.close()
        }
    }

    @Test("ANO-14: squares of a closed day from before an opt-in anew count no more, where consent is slower than ingest")
    func slowConsent() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            for person in [anna, bruno] { try await stage.say(person, CohortStage.profile(since: Self.midnight, [.position])) }
            for hour in 0..<24 {
                for person in [anna, bruno] {
                    try await stage.say(Self.fact(person, Self.midnight + hour, [GridCell(x: Int32(hour / 4), y: 0)]))
                }
            }
            try await stage.close(through: Self.midnight + 24)
            // Four squares are admitted, of the first 16 hours.
            #expect(try await Self.compare(stage, day: Samples.today).count == 8)
            try await stage.say(anna, CohortStage.profile(since: Self.midnight + 12, [.position]))
            let all = try await Self.compare(stage, day: Samples.today)
            #expect(all.filter { $0.row == 0 }.map(\.cell).sorted() == [3, 4, 5].map { GridCell(x: $0, y: 0) })
            #expect(all.filter { $0.row == 1 }.map(\.cell).sorted() == [0, 1, 2, 3].map { GridCell(x: $0, y: 0) })
            await stage.store.close()
        }
    }

    @Test("ACC-29: of a day that was closed before an order of its noon to erase data came, squares of the morning are gone")
    func lateOrder() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            for person in [anna, bruno] { try await stage.say(person, CohortStage.profile(since: Self.midnight - 24, [.position])) }
            for hour in stride(from: -24, to: 24, by: 8) {
                for person in [anna, bruno] {
                    try await stage.say(Self.fact(person, Self.midnight + hour, [GridCell(x: Int32(hour), y: 0)]))
                }
            }
            try await stage.close(through: Self.midnight + 24)
            try await stage.erase(anna, .data, at: Self.midnight + 12)
            let yesterday = try await Self.compare(stage, day: Samples.today - 1)
            #expect(!yesterday.isEmpty && yesterday.allSatisfy { $0.row == 1 })
            let today = try await Self.compare(stage, day: Samples.today)
            #expect(today.filter { $0.row == 0 }.map(\.cell) == [GridCell(x: 16, y: 0)])
            #expect(today.filter { $0.row == 1 }.count == 3)
            // In the store as well.
            let kept = try await stage.store.read { [squares = stage.stores.squares] db in
                try [Samples.today - 1, Samples.today].flatMap { day in try squares.entries(db, chunk: 0, day: day) }
            }
            #expect(kept.filter { $0.rows.contains(0) }.map(\.cell) == [GridCell(x: 16, y: 0)])
            await stage.store.close()
        }
    }
}
