// What an organisation cannot learn by asking again: differences of groups, quotas, and what is forgotten of an erased person.

import Contracts
import Foundation
import Storage
import TestKit
import Testing

@testable import Anonymiser

@Suite("Guarded releases")
struct GuardedReleaseTests {
    @Test(
        "ANO-11: after one group another one that differs in nobody, in one person or in 900 is refused alike, and one in thousands is not",
        arguments: [(29...30, false), (30...32, false), (30...33, false), (30...60, true), (60...60, true)])
    func differences(ages: ClosedRange<Int>, isReleased: Bool) async throws {
        try await withReleaseStage(PlayedPeople([(30, 1500), (32, 1), (33, 899), (60, 1500)])) { stage async throws in
            let organisation = OrganisationID.random()
            let first = ReleaseStage.form(30...30)
            let entries = try await stage.released(first, organisation)
            #expect(!entries.isEmpty)

            let reply = try await stage.ask(ReleaseStage.form(ages), organisation)
            #expect((reply.release != nil) == isReleased)
            if !isReleased { #expect(reply == ReleaseGroup.Reply(refusal: .tooSimilar)) }
            // To others it is a group like any other, and the first one is still the organisation's.
            #expect(try await stage.ask(ReleaseStage.form(ages), .random()).release != nil)
            #expect(try await stage.released(first, organisation) == entries)
        }
    }

    @Test("ANO-11: a group that was refused counts like one that was released, also after a start; who changed since does not count")
    func refusedCount() async throws {
        try await withTemporaryFolder { folder in
            var people = PlayedPeople([(30, 900), (31, 150), (60, 1400)])
            let stage = try ReleaseStage(folder, PlayedPopulation(people))
            let organisation = OrganisationID.random()
            #expect(try await stage.ask(ReleaseStage.form(30...30), organisation).refusal == .tooFewIndividuals)
            let again = try await stage.reopened()
            #expect(try await again.ask(ReleaseStage.form(30...31), organisation).refusal == .tooSimilar)
            // It differs in 1400 people from the last group, of whom 400 have changed since.
            people.changes = Bitmap(size: people.columns.bitmapSize, members: 1050..<1450)
            again.population.change { [people] in $0 = people }
            #expect(try await again.ask(ReleaseStage.form(30...60), organisation).refusal == .tooSimilar)
            again.population.change { $0.changes = Bitmap(size: $0.columns.bitmapSize) }
            #expect(try await again.ask(ReleaseStage.form(30...60), organisation).release != nil)
            await again.store.close()
        }
    }

    /// Both groups have 1505 people, of whom five are the same: each two differ in thousands.
    @Test(
        "ANO-11: two groups that overlap in five people and differ in thousands isolate nobody for an untrusted organisation that gets records",
        arguments: [(false, nil, true), (false, true, false), (true, nil, false)] as [(Bool, Bool?, Bool)])
    func combinations(ofEverybody: Bool, guardsAtoms: Bool?, isReleased: Bool) async throws {
        var policy = AnonymityPolicy()
        policy.guardsAtoms = ofEverybody
        try await withTemporaryFolder { folder in
            let stage = try ReleaseStage(folder, PlayedPopulation(PlayedPeople([(30, 1500), (40, 5), (60, 1500), (90, 2000)])), policy)
            let organisation = OrganisationID.random()
            func ask(_ stage: ReleaseStage, _ ages: ClosedRange<Int>) async throws -> ReleaseGroup.Reply {
                try await stage.ask(ReleaseStage.form(ages), organisation, guardsAtoms: guardsAtoms)
            }
            #expect(try await ask(stage, 30...40).release != nil)
            let again = try await stage.reopened()
            let reply = try await ask(again, 40...60)
            #expect(isReleased ? reply.release != nil : reply == ReleaseGroup.Reply(refusal: .tooSimilar))
            // Filters say that it overlaps with neither, and all cells are large, unless the five are a cell already.
            #expect(try await ask(again, 90...90).release != nil)
            await again.store.close()
        }
    }

    @Test("groups from before an organisation was untrusted count: one in which few were isolated gets no further one")
    func before() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1500), (40, 5), (60, 1500), (90, 2000)])) { stage async throws in
            let organisation = OrganisationID.random()
            for ages in [30...40, 40...60] { #expect(try await stage.ask(ReleaseStage.form(ages), organisation).release != nil) }
            #expect(try await stage.ask(ReleaseStage.form(90...90), organisation, guardsAtoms: true).refusal == .tooSimilar)
            #expect(try await stage.ask(ReleaseStage.form(90...90), organisation).release != nil)
            #expect(try await stage.ask(ReleaseStage.form(30...40), organisation, guardsAtoms: true).release != nil)
        }
    }

    @Test("groups of other days are not compared, and the same group of other days is no other group")
    func otherDays() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1500), (32, 1)])) { stage async throws in
            let organisation = OrganisationID.random()
            let later: (inout GroupRequestForm) -> Void = {
                $0.from = Timestamp(quarter: (Samples.today - 20) * TimeSpan.perDay)
                $0.to = Timestamp(quarter: (Samples.today - 18) * TimeSpan.perDay)
            }
            #expect(try await stage.ask(ReleaseStage.form(30...30), organisation).release != nil)
            #expect(try await stage.ask(ReleaseStage.form(30...32, later), organisation).release != nil)
            let rows = try await stage.repository.cohorts(of: organisation, today: 0)
            #expect(rows.count == 2)
            #expect(try await stage.ask(ReleaseStage.form(30...30, later), organisation).refusal == .tooSimilar)
        }
    }

    @Test("an organisation asks about so many groups and no more, and about those that it knows as often as it likes")
    func quota() async throws {
        var policy = AnonymityPolicy()
        policy.admittedCohorts = 2
        try await withReleaseStage(PlayedPeople([(30, 1100), (40, 1100), (50, 1100)]), policy) { stage async throws in
            let organisation = OrganisationID.random()
            for age in [30, 40] { #expect(try await stage.ask(ReleaseStage.form(age...age), organisation).release != nil) }
            #expect(try await stage.ask(ReleaseStage.form(50...50), organisation).refusal == .budgetExhausted)
            #expect(try await stage.ask(ReleaseStage.form(30...30) { $0.granularity = "hour" }, organisation).release != nil)
            #expect(try await stage.ask(ReleaseStage.form(50...50), .random()).release != nil)
            stage.clock.advance(.seconds(366 * 86_400))
            #expect(try await stage.ask(ReleaseStage.form(50...50), organisation).release != nil)
            while try await stage.repository.expire(today: Int.max / 2) > 0 {}
            let left = try await stage.rowCounts()
            #expect(left["group_cohorts"] == 0 && left["group_cohort_chunks"] == 0 && left["group_requests"] == 6)
        }
    }

    @Test("a refusal is the same bytes for every size, and holds no number")
    func refusalBytes() async throws {
        var bytes: Set<Data> = []
        for count in [0, 1, 500, 1000] {
            try await withReleaseStage(PlayedPeople([(30, count), (60, 1200)])) { stage async throws in
                let reply = try await stage.ask(ReleaseStage.form(30...30), .random())
                bytes.insert(try JSONEncoder().encode(reply))
            }
        }
        #expect(bytes.count == 1)
        #expect(bytes.allSatisfy { bytes in !String(decoding: bytes, as: UTF8.self).contains { $0.isNumber } })
    }

    @Test("ANO-16: a group that falls apart into days of too few people is released as one bucket of all days")
    func coarser() async throws {
        var people = PlayedPeople([(30, 1100)])
        let size = people.columns.bitmapSize
        people.present = [
            Samples.today - 30: Bitmap(size: size, members: 0..<600), Samples.today - 29: Bitmap(size: size, members: 500..<1100),
        ]
        try await withReleaseStage(people) { stage async throws in
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            let form = ReleaseStage.form(30...30) { $0.area = GridCell(x: 1, y: 1) }
            let release = try #require(try await stage.ask(form, organisation, request).release)
            #expect(release.granularity == "window" && release.tables == 1 && release.individuals == 1100)
            let entries = try await stage.entries(request, organisation)
            #expect(entries.count == 110 && entries.allSatisfy { $0.to.milliseconds - $0.from.milliseconds == 2 * 86_400_000 })
        }
        people.present[Samples.today - 29] = Bitmap(size: size, members: 500..<1000)
        try await withReleaseStage(people) { stage async throws in
            let form = ReleaseStage.form(30...30) { $0.area = GridCell(x: 1, y: 1) }
            #expect(try await stage.ask(form, .random()).refusal == .tooFewIndividuals)
        }
    }

    @Test("an erased person's row is in no earlier group and no counter, and everybody else's still is")
    func erasure() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1100), (60, 1200)])) { stage async throws in
            let organisation = OrganisationID.random()
            _ = try await stage.ask(ReleaseStage.form(30...30) { $0.product = "statistics" }, organisation)
            _ = try await stage.ask(ReleaseStage.form(30...60), organisation)
            try await stage.service.erase(row: 5)
            let rows = try await stage.repository.cohorts(of: organisation, today: 0)
            #expect(rows.count == 2)
            for row in rows {
                let members = try await stage.repository.members(of: row)
                #expect(!members[5] && members[4] && members[6])
            }
            let budgets = stage.repository.budgets
            let counters = try await stage.store.read { db in try budgets.counters(db, Samples.today - 30) }
            #expect(counters?.count(of: 5) == 0 && counters?.count(of: 6) == 1 && counters?.additions == 1)
            try await stage.service.erase(row: 200_000)
        }
    }
}
