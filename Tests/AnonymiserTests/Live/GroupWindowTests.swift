// Windows of subscriptions from the question to what is told: each once, none with too few people, and none that could be taken apart.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Anonymiser

@Suite("Windows of subscriptions to groups", .timeLimit(.minutes(5)))
struct GroupWindowTests {
    private static let start = Samples.today * TimeSpan.perDay

    private static func form(days: Int = 3, _ change: (inout GroupRequestForm) -> Void = { _ in }) -> GroupRequestForm {
        ReleaseStage.form(30...30) {
            $0.granularity = "hour"
            $0.subscribe = true
            $0.from = Timestamp(quarter: start)
            $0.to = Timestamp(quarter: start + days * TimeSpan.perDay)
            change(&$0)
        }
    }

    /// Its clock stands at the beginning of the day up to which everything is closed.
    private static func with(_ people: PlayedPeople, _ body: (ReleaseStage) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let clock = TestClock()
            clock.advance(Timestamp(quarter: start) - clock.now)
            let stage = try ReleaseStage(folder, PlayedPopulation(people), clock: clock)
            try await body(stage)
            await stage.store.close()
        }
    }

    /// Hours from the first to before the second are closed, and what is due is judged.
    /// - Parameter present: who has values in them; everybody where it is nil.
    private static func close(_ stage: ReleaseStage, _ hours: Range<Int>, present: Range<Int>? = nil) async throws {
        stage.population.change { people in
            for hour in hours {
                let everybody = 0..<people.rows.count
                people.inHour[start + hour * TimeSpan.perHour] = Bitmap(
                    size: people.columns.bitmapSize, members: present?.clamped(to: everybody) ?? everybody)
            }
            people.closedUntil = start + hours.upperBound * TimeSpan.perHour
        }
        // The watermark is over.
        let end = Timestamp(quarter: start + hours.upperBound * TimeSpan.perHour)
        stage.clock.advance(end + .seconds(600) - stage.clock.now)
        while try await stage.windows.round() == .atOnce {}
    }

    private static func hour(_ time: Timestamp) -> Int {
        (Int(time.milliseconds / 900_000) - start) / TimeSpan.perHour
    }

    private static func hours(_ window: GroupWindowClosed) -> Range<Int> { hour(window.from)..<hour(window.to) }

    @Test(
        "ANO-13: of 72 windows with dips each released one has 1001 people, joined ones are disjoint, and numbers have no gap over starts",
    )
    func dips() async throws {
        let seed: UInt64 = 0x7124
        var chance = SeededGenerator(seed: seed)
        try await Self.with(PlayedPeople([(30, 1400)])) { first in
            var stage = first
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            let opened = try await stage.ask(Self.form(), organisation, request)
            #expect(opened.subscription?.from == Timestamp(quarter: Self.start) && opened.subscription?.granularity == "hour")
            var present: [Range<Int>] = []
            var read: [Int: [GroupEntry]] = [:]
            for hour in 0..<72 {
                let sizes = Bool.random(using: &chance) ? 1001...1400 : 0...1000
                let size = Int.random(in: sizes, using: &chance)
                let from = Int.random(in: 0...1400 - size, using: &chance)
                present.append(from..<from + size)
                stage = try await stage.reopened()
                try await Self.close(stage, hour..<hour + 1, present: present[hour])
                // Once more, as after an answer that got lost.
                #expect(try await stage.windows.round() == .whenWoken)
                for window in stage.said.all where window.status == .released {
                    let entries = try await stage.entries(request, organisation, window: window.sequence)
                    #expect(read[window.sequence].map { $0 == entries } ?? true, "hour \(hour): what was released changed")
                    read[window.sequence] = entries
                }
            }
            let said = stage.said.all
            #expect(said.map(\.sequence) == Array(1...said.count), "seed \(seed)")
            #expect(zip(said, said.dropFirst()).allSatisfy { $0.to == $1.from } && Self.hours(said[0]).lowerBound == 0)
            for window in said {
                let people = Self.hours(window).reduce(into: Set<Int>()) { $0.formUnion(present[$1]) }
                #expect((people.count >= 1001) == (window.status == .released), "seed \(seed), window \(window.sequence)")
                guard let entries = read[window.sequence] else { continue }
                #expect(!entries.isEmpty && entries.allSatisfy { $0.from == window.from && $0.to == window.to && $0.individuals >= 10 })
                // One at a time was too few, and all but the last of them together.
                let before = Self.hours(window).dropLast().reduce(into: Set<Int>()) { $0.formUnion(present[$1]) }
                #expect(before.count < 1001, "seed \(seed), window \(window.sequence)")
            }
            await stage.store.close()
        }
    }

    @Test("A window of too few people for seven days is withheld and told, and its entries are nobody's to read")
    func withheld() async throws {
        try await Self.with(PlayedPeople([(30, 1100)])) { stage async throws in
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            _ = try await stage.ask(Self.form(days: 9) { $0.granularity = "six-hours" }, organisation, request)
            try await Self.close(stage, 0..<168, present: 0..<1000)
            try await Self.close(stage, 168..<174)
            #expect(stage.said.all.map(\.status) == [.withheld, .released])
            #expect(stage.said.all.map(Self.hours) == [0..<168, 168..<174])
            #expect(try await !stage.entries(request, organisation, window: 2).isEmpty)
            for (window, whose) in [(1, organisation), (3, organisation), (2, OrganisationID.random())] {
                await #expect(throws: Failure(.notFound, "there is no such release")) {
                    try await stage.entries(request, whose, window: window)
                }
            }
            await #expect(throws: Failure(.notFound, "there is no such release")) { try await stage.entries(request, organisation) }
        }
    }

    @Test("ANO-14, T23: who opts out or is erased is in no window that closes later, and who joins in none that had begun")
    func optOut() async throws {
        try await Self.with(PlayedPeople([(30, 1002)])) { stage async throws in
            _ = try await stage.ask(Self.form(), .random())
            try await Self.close(stage, 0..<1)
            let nobody = PersonRow(
                age: 0, weight: 0, height: 0, sex: nil, occupation: .student, residence: 0, birthPlace: 0, shares: [], isEligible: false)
            stage.population.change { people in
                people.change(5, nobody)
                people.changes = Bitmap(size: people.columns.bitmapSize)
            }
            // 1001 are left.
            try await Self.close(stage, 1..<2)
            #expect(stage.said.all.map(\.status) == [.released, .released])
            stage.population.change { people in
                people.change(6, nobody)
                people.changes = Bitmap(size: people.columns.bitmapSize)
            }
            try await Self.close(stage, 2..<4)
            #expect(stage.said.all.count == 2, "1000 are too few, whatever they had measured before")
            // Two come back, and are not counted in what had begun when they did.
            stage.population.change { people in
                people.change(5, PlayedPeople.person(age: 30, number: 5))
                people.change(6, PlayedPeople.person(age: 30, number: 6))
            }
            try await Self.close(stage, 4..<5)
            #expect(stage.said.all.map(Self.hours) == [0..<1, 1..<2])
        }
    }

    @Test("The windows of a day of statistics cost one release: of the organisation's budget, and of everybody's day")
    func statistics() async throws {
        try await Self.with(PlayedPeople([(30, 1100)])) { first in
            var stage = first
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            _ = try await stage.ask(Self.form { $0.product = "statistics" }, organisation, request)
            for hour in 0..<30 {
                stage = try await stage.reopened()
                try await Self.close(stage, hour..<hour + 1)
            }
            #expect(stage.said.all.count == 30 && stage.said.all.allSatisfy { $0.status == .released })
            let budgets = stage.repository.budgets
            let (spent, counted) = try await stage.store.read { db in
                (
                    try budgets.spent(db, by: organisation, 0..<100_000),
                    try (Samples.today...Samples.today + 1).map { try budgets.counters(db, $0)?.count(of: 7) }
                )
            }
            #expect(spent == [Samples.today: 50_000, Samples.today + 1: 50_000])
            #expect(counted == [1, 1])
            #expect(try await stage.rowCounts()["group_charged_days"] == 1, "a day that is over is forgotten")
            try await stage.service.erase(row: 7)
            let (subscriptions, size) = (stage.repository.subscriptions, stage.population.current.columns.bitmapSize)
            let charged = try await stage.store.read { db in
                try subscriptions.charged(db, of: request, day: Samples.today + 1, size: size)
            }
            #expect(charged.count == 1099 && !charged[7], "an erased person stands in no set of rows")
            await stage.store.close()
        }
    }

    @Test("History over windows that were released has their entries, whoever asks")
    func history() async throws {
        try await Self.with(PlayedPeople([(30, 1100)])) { stage async throws in
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            _ = try await stage.ask(Self.form(days: 1), organisation, request)
            try await Self.close(stage, 0..<24)
            #expect(stage.said.all.count == 24)
            var told: Set<GroupEntry> = []
            for window in 1...24 {
                told.formUnion(try await stage.entries(request, organisation, window: window).map(\.shared))
            }
            let form = Self.form(days: 1) { $0.subscribe = nil }
            #expect(try await Set(stage.released(form, .random()).map(\.shared)) == told)
            #expect(try await stage.ask(Self.form(days: 1), organisation).faults?.map(\.code) == ["outside-period"])
        }
    }

    @Test("Ending withholds what waits; the next one of the same group goes on behind it, and two at a time cannot be")
    func ending() async throws {
        try await Self.with(PlayedPeople([(30, 1100)])) { stage async throws in
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            _ = try await stage.ask(Self.form(), organisation, request)
            #expect(try await stage.ask(Self.form(days: 2) { $0.minIndividuals = 1050 }, organisation).refusal == .tooSimilar)
            try await Self.close(stage, 0..<1)
            try await Self.close(stage, 1..<3, present: 0..<1000)
            await #expect(throws: Failure(.notFound, "there is no such subscription")) {
                try await stage.windows.end(EndGroupSubscription(request: request, organisation: .random()))
            }
            for _ in 0..<2 { try await stage.windows.end(EndGroupSubscription(request: request, organisation: organisation)) }
            try await Self.close(stage, 3..<5)
            #expect(stage.said.all.map(\.status) == [.released, .withheld] && Self.hours(stage.said.all[1]) == 1..<3)
            let again = try await stage.ask(Self.form(days: 2), organisation)
            #expect(again.subscription?.from == Timestamp(quarter: Self.start + 6 * TimeSpan.perHour), "the hour that has begun is history")
            try await Self.close(stage, 5..<7)
            #expect(stage.said.all.last.map(Self.hours) == 6..<7)
        }
    }

    @Test("A subscription counts in the guard: a group that differs from it in too few people is refused")
    func guarded() async throws {
        try await Self.with(PlayedPeople([(30, 1100), (31, 40)])) { stage async throws in
            let organisation = OrganisationID.random()
            #expect(try await stage.ask(Self.form(), organisation).subscription != nil)
            let wider = Self.form { $0.age = .init(from: 30, to: 31) }
            #expect(try await stage.ask(wider, organisation).refusal == .tooSimilar)
            #expect(try await stage.ask(wider, .random()).subscription != nil)
        }
    }

    @Test(
        "What no window can be made of is named: quarter hours, the whole period, and weeks in less than one",
        arguments: ["quarter-hour", "window", "week"])
    func faults(granularity: String) async throws {
        try await Self.with(PlayedPeople([(30, 1100)])) { stage async throws in
            let reply = try await stage.ask(Self.form { $0.granularity = granularity }, .random())
            #expect(reply.faults?.map(\.pointer) == ["/granularity"])
            #expect(try await stage.rowCounts().values.allSatisfy { $0 == 0 })
        }
    }

    @Test(
        "A square in a subscription was refused without a word of what to do: it takes days that are over, and of them it is released",
        arguments: ["hour", "day", "week"])
    func area(granularity: String) async throws {
        try await Self.with(PlayedPeople([(30, 1100)])) { stage async throws in
            let square = GridCell(x: 716, y: 5055)
            let refused = try await stage.ask(Self.form(days: 15) { ($0.area, $0.granularity) = (square, granularity) }, .random())
            #expect(refused.faults == [GroupFormFault(pointer: "/filters/area", code: "closed-days-only", numbers: [])])
            #expect(try await stage.rowCounts().values.allSatisfy { $0 == 0 })
            #expect(try await stage.ask(ReleaseStage.form(30...30) { $0.area = square }, .random()).release != nil)
        }
    }
}
