// Statistics are charged before they are told, once, and never without being kept.

import Contracts
import GRDB
import Storage
import TestKit
import Testing

@testable import Anonymiser

@Suite("Charged releases")
struct ChargedReleaseTests {
    private static func form(_ ages: ClosedRange<Int>, daysAgo: Int = 30) -> GroupRequestForm {
        ReleaseStage.form(ages) {
            $0.product = "statistics"
            $0.from = Timestamp(quarter: (Samples.today - daysAgo) * TimeSpan.perDay)
            $0.to = Timestamp(quarter: (Samples.today - daysAgo + 2) * TimeSpan.perDay)
        }
    }

    /// By day, what the organisation has spent.
    private static func spent(_ stage: ReleaseStage, _ organisation: OrganisationID) async throws -> [Int: Int] {
        let budgets = stage.repository.budgets
        return try await stage.store.read { db in try budgets.spent(db, by: organisation, 0..<100_000) }
    }

    private static func additions(_ stage: ReleaseStage) async throws -> [Int] {
        let budgets = stage.repository.budgets
        return try await stage.store.read { db in
            try (Samples.today - 30..<Samples.today - 28).map { try budgets.counters(db, $0)?.additions ?? 0 }
        }
    }

    @Test("a day's budget is spent exactly, repetitions cost nothing, other days are not touched, and no year refreshes it")
    func budget() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1100), (40, 1100), (50, 1100)])) { stage async throws in
            let organisation = OrganisationID.random()
            let first = try await stage.released(Self.form(30...30), organisation)
            #expect(first.count == 2 && first.allSatisfy { abs($0.individuals - 1100) < 60 && $0.id == nil })
            #expect(first.allSatisfy { $0.values.count == 1 && $0.valueErrors?.count == 1 && ($0.countError ?? 0) >= 1000 })
            #expect(try await stage.ask(Self.form(40...40), organisation).release != nil)
            let full = [Samples.today - 30: 100_000, Samples.today - 29: 100_000]
            #expect(try await Self.spent(stage, organisation) == full)

            #expect(try await stage.ask(Self.form(50...50), organisation).refusal == .budgetExhausted)
            #expect(try await stage.released(Self.form(30...30), organisation) == first)
            #expect(try await Self.spent(stage, organisation) == full)
            #expect(try await stage.ask(Self.form(50...50, daysAgo: 20), organisation).release != nil)
            stage.clock.advance(.seconds(400 * 86_400))
            #expect(try await stage.ask(Self.form(50...50), organisation).refusal == .budgetExhausted)
        }
    }

    @Test(
        "a store that was put back from a copy had forgotten what was charged since, and drew new noise for the same days: they are closed",
        arguments: ["statistics", "records"])
    func putBack(product: String) async throws {
        try await withReleaseStage(PlayedPeople([(30, 1100), (40, 1100)])) { stage async throws in
            func form(_ age: Int, daysAgo: Int) -> GroupRequestForm {
                var form = Self.form(age...age, daysAgo: daysAgo)
                form.product = product
                return form
            }
            let organisation = OrganisationID.random()
            let before = try await stage.released(form(30, daysAgo: 30), organisation)
            try await stage.store.write { db in try HourStore.noteRestored(db, on: Samples.today - 20) }
            #expect(try await stage.ask(form(40, daysAgo: 30), organisation).refusal == .budgetExhausted)
            #expect(try await stage.ask(form(40, daysAgo: 20), .random()).refusal == .budgetExhausted)
            #expect(try await stage.ask(form(40, daysAgo: 19), .random()).release != nil)
            #expect(try await stage.released(form(30, daysAgo: 30), organisation) == before, "what the copy knows is given again")
        }
    }

    @Test("another organisation is charged for what it sees first, and nobody's day a second time, for the same noise")
    func shared() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1100)])) { stage async throws in
            let organisations = (0..<3).map { _ in OrganisationID.random() }
            var seen: [[GroupEntry]] = []
            for organisation in organisations { seen.append(try await stage.released(Self.form(30...30), organisation)) }
            #expect(Set(seen).count == 1 && seen[0].count == 2)
            #expect(try await Self.additions(stage) == [1, 1])
            for organisation in organisations {
                #expect(try await Self.spent(stage, organisation) == [Samples.today - 30: 50_000, Samples.today - 29: 50_000])
            }
        }
    }

    @Test("tables that were made one by one cost whoever sees them together as much as all of them")
    func together() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1100)])) { stage async throws in
            let types = ["heart-rate", "oxygen-saturation", "glucose"]
            for type in types {
                var form = Self.form(30...30)
                form.types = [type]
                #expect(try await stage.ask(form, .random()).release != nil)
            }
            let organisation = OrganisationID.random()
            var form = Self.form(30...30)
            form.types = types
            #expect(try await stage.ask(form, organisation).refusal == .budgetExhausted)
            form.types = Array(types.prefix(2))
            #expect(try await stage.ask(form, organisation).release?.tables == 4)
            #expect(try await Self.spent(stage, organisation).values.allSatisfy { $0 == 100_000 })
            #expect(try await Self.additions(stage) == [3, 3])
        }
    }

    @Test("who has no budget left is in no new statistics of that day, and what exists is still given to everybody")
    func individuals() async throws {
        var policy = AnonymityPolicy()
        (policy.organisationDayMicroRho, policy.everybodyDayMicroRho) = (50_000, 50_000)
        #expect(policy.faults.isEmpty)
        try await withReleaseStage(PlayedPeople([(30, 1100), (40, 1100)]), policy) { stage async throws in
            let first = try await stage.released(Self.form(30...30), .random())
            let both = try await stage.released(Self.form(30...40), .random())
            #expect(both.count == 2 && both.allSatisfy { abs($0.individuals - 1100) < 60 }, "the others alone")
            #expect(try await stage.ask(Self.form(29...30), .random()).refusal == .tooFewIndividuals)
            #expect(try await stage.released(Self.form(30...30), .random()) == first)
        }
    }

    @Test("an end of the process before the commit leaves nothing: no request, no table, no charge")
    func beforeCommit() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1100)])) { stage async throws in
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            // The last row of the transaction fails, which undoes all of it as an end would.
            try await stage.store.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER planted BEFORE INSERT ON group_table_keys BEGIN SELECT RAISE(ABORT, 'planted'); END
                        """)
            }
            await #expect(throws: (any Error).self) { try await stage.ask(Self.form(30...30), organisation, request) }
            #expect(try await stage.rowCounts().values.allSatisfy { $0 == 0 })
            try await stage.store.write { db in try db.execute(sql: "DROP TRIGGER planted") }

            #expect(try await stage.ask(Self.form(30...30), organisation, request).release != nil)
            #expect(try await Self.spent(stage, organisation).values.allSatisfy { $0 == 50_000 })
        }
    }

    @Test("an end of the process after the commit is charged once, and the answer that nobody heard is given again")
    func afterCommit() async throws {
        try await withTemporaryFolder { folder in
            let stage = try ReleaseStage(folder, PlayedPopulation(PlayedPeople([(30, 1100)])))
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            let unheard = try await stage.ask(Self.form(30...30), organisation, request)
            let entries = try await stage.entries(request, organisation)
            let again = try await stage.reopened()
            #expect(try await again.ask(Self.form(30...30), organisation, request) == unheard)
            #expect(try await again.entries(request, organisation) == entries)
            #expect(try await Self.spent(again, organisation) == [Samples.today - 30: 50_000, Samples.today - 29: 50_000])
            #expect(try await Self.additions(again) == [1, 1])
            await #expect(throws: Failure(.conflict, "the id is that of another request")) {
                try await again.ask(Self.form(30...30), .random(), request)
            }
            await again.store.close()
        }
    }

    @Test("fifteen questions at once are judged one after the other: no day is charged more than it holds")
    func atOnce() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1100), (40, 1100), (50, 1100)])) { stage async throws in
            let organisation = OrganisationID.random()
            let replies = try await withThrowingTaskGroup(of: ReleaseGroup.Reply.self) { group in
                for number in 0..<15 {
                    group.addTask { try await stage.ask(Self.form([30...30, 40...40, 50...50][number % 3]), organisation) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let released = replies.count { $0.release != nil }
            #expect(released == 10 && replies.count { $0.refusal == .budgetExhausted } == 5)
            #expect(try await Self.spent(stage, organisation).values.allSatisfy { $0 == 100_000 })
            #expect(try await Self.additions(stage) == [2, 2])
        }
    }
}
