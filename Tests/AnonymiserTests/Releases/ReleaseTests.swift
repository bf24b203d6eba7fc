// Who is released, and that what was released once is the same for ever and for everybody.

import Contracts
import Storage
import TestKit
import Testing

@testable import Anonymiser

@Suite("Releases of groups")
struct ReleaseTests {
    private static func counted(_ entries: [GroupEntry]) -> [GroupEntry: Int] {
        entries.reduce(into: [:]) { $0[$1.shared, default: 0] += 1 }
    }

    // MARK: Size

    @Test(
        "ANO-06, ANO-07, ANO-08: 1000 are refused, 1001 released; wanted sizes told the exact one: they go in steps of 50",
        arguments: [
            (1000, nil, false), (1001, nil, true), (1001, 1000, true), (1001, 1002, false), (1049, 1002, false), (1050, 1002, true),
            (1050, 1050, true), (1099, 1051, false), (1100, 1051, true),
        ] as [(Int, Int?, Bool)])
    func boundary(people: Int, wanted: Int?, isReleased: Bool) async throws {
        try await withReleaseStage(PlayedPeople([(30, people), (60, 500)])) { stage async throws in
            let reply = try await stage.ask(ReleaseStage.form(30...30) { $0.minIndividuals = wanted }, .random())
            #expect((reply.release != nil) == isReleased && reply.faults == nil)
            #expect(reply.refusal == (isReleased ? nil : .tooFewIndividuals))
            if let release = reply.release {
                #expect(release.individuals == people / 50 * 50)
                #expect(release.tables == 2 && release.granularity == "day" && release.entries >= 150)
            }
        }
    }

    @Test("ANO-16: 1001 people of whom one has no data, one has no data of the second type, or one shares nothing are refused")
    func contributors() async throws {
        var silent = PlayedPeople([(30, 1001)])
        silent.sharing[.heartRate]?[7] = false
        var halfSilent = PlayedPeople([(30, 1001)])
        halfSilent.sharing[.glucose]?[7] = false
        var optedOut = PlayedPeople([(30, 1001)])
        var person = optedOut.rows[7]
        person.shares = []
        optedOut.change(7, person)
        for people in [silent, halfSilent, optedOut] {
            try await withReleaseStage(people) { stage async throws in
                let reply = try await stage.ask(ReleaseStage.form(30...30) { $0.types = ["heart-rate", "glucose"] }, .random())
                #expect(reply.refusal == .tooFewIndividuals)
            }
        }
    }

    @Test("a group that is half of a place's inhabitants is released, and one that is more is not")
    func presence() async throws {
        var people = PlayedPeople([(30, 2501)])
        let small = try #require(Samples.places.leaf("C0001"))
        people.rows = people.rows.map { row in
            var row = row
            row.residence = small
            return row
        }
        for (count, isReleased) in [(2500, true), (2501, false)] {
            var cut = people
            cut.rows = Array(people.rows.prefix(count))
            cut.columns = PopulationColumns(cut.rows)
            cut.changes = Bitmap(size: count)
            cut.sharing = cut.sharing.mapValues { _ in Bitmap.full(size: count) }
            try await withReleaseStage(cut) { stage async throws in
                let reply = try await stage.ask(ReleaseStage.form(30...30) { $0.residence = ["C0001"] }, .random())
                #expect((reply.release != nil) == isReleased, "\(count) of 5000")
            }
        }
    }

    @Test("what is wrong with a form is named by its field, judges nothing and leaves nothing")
    func faults() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1001)])) { stage async throws in
            let steps = try await stage.ask(ReleaseStage.form(30...30) { $0.types = ["heart-rate", "steps"] }, .random())
            #expect(steps.faults == [GroupFormFault(pointer: "/types/1", code: "not-offered", numbers: [])])
            let weight = try await stage.ask(ReleaseStage.form(30...30) { $0.weight = .init(from: 52, to: 90) }, .random())
            #expect(weight.faults == [GroupFormFault(pointer: "/filters/weight/from", code: "not-a-multiple", numbers: [5, 50, 55])])
            let long = try await stage.ask(
                ReleaseStage.form(30...30) {
                    $0.product = "statistics"
                    $0.from = Timestamp(quarter: (Samples.today - 400) * TimeSpan.perDay)
                }, .random())
            #expect(long.faults == [GroupFormFault(pointer: "/to", code: "too-long", numbers: [366])])
            #expect(try await stage.rowCounts().values.allSatisfy { $0 == 0 })
        }
    }

    // MARK: The same for ever

    @Test("the same request is the same bytes: repeated, rewritten, under its own id and after a start")
    func sameBytes() async throws {
        try await withTemporaryFolder { folder in
            let stage = try ReleaseStage(folder, PlayedPopulation(PlayedPeople([(30, 1500), (60, 1500)])))
            let organisation = OrganisationID.random()
            let request = GroupRequestID.random()
            let form = ReleaseStage.form(30...30) { $0.residence = ["R00"] }
            stage.population.change { people in
                people.rows = people.rows.map { row in
                    var row = row
                    row.residence = Samples.places.leaf("C0000") ?? 0
                    return row
                }
                people.columns = PopulationColumns(people.rows)
            }
            let first = try await stage.ask(form, organisation, request)
            let entries = try await stage.entries(request, organisation)
            #expect(!entries.isEmpty && entries.count == first.release?.entries)
            let counts = try await stage.rowCounts()

            #expect(try await stage.ask(ReleaseStage.form(0...99), organisation, request) == first, "the id keeps its answer")
            let provinces = ReleaseStage.form(30...30) {
                $0.residence = ["P001", "P000"]
                $0.weight = .init(from: 0, to: 300)
                $0.sex = ["other", "male", "female"]
            }
            #expect(try await stage.released(provinces, organisation) == entries)

            let again = try await stage.reopened()
            #expect(try await again.entries(request, organisation) == entries)
            #expect(try await again.released(form, organisation) == entries)
            #expect(try await again.ask(form, organisation, request) == first)
            var later = try await again.rowCounts()
            #expect(later.removeValue(forKey: "group_requests") == 3)
            #expect(later == counts.filter { $0.key != "group_requests" }, "a repetition costs nothing")
            await again.store.close()
        }
    }

    @Test("another organisation is given the same values under other handles and in another order")
    func organisations() async throws {
        try await withReleaseStage(PlayedPeople([(30, 2000), (60, 1500)])) { stage async throws in
            let one = try await stage.released(ReleaseStage.form(30...30), .random())
            let other = try await stage.released(ReleaseStage.form(30...30), .random())
            #expect(!one.isEmpty && Self.counted(one) == Self.counted(other))
            let ids = one.compactMap(\.id)
            #expect(Set(ids).count == one.count && ids.allSatisfy { $0.count == 32 })
            #expect(Set(ids).isDisjoint(with: other.compactMap(\.id)))
            #expect(one.map(\.shared) != other.map(\.shared))
        }
    }

    @Test("somebody who comes, leaves or changes does not change what was released, for the same organisation or another")
    func churn() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1500), (60, 1500)])) { stage async throws in
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            _ = try await stage.ask(ReleaseStage.form(30...30), organisation, request)
            let entries = try await stage.entries(request, organisation)
            let changes: [@Sendable (inout PlayedPeople) -> Void] = [
                { $0.change(nil, PlayedPeople.person(age: 30, number: 1)) }, { $0.change(3, PlayedPeople.person(age: 90, number: 3)) },
                { people in
                    var left = people.rows[4]
                    left.isEligible = false
                    people.change(4, left)
                },
            ]
            for change in changes {
                stage.population.change(change)
                #expect(try await stage.released(ReleaseStage.form(30...30), organisation) == entries)
                #expect(Self.counted(try await stage.released(ReleaseStage.form(30...30), .random())) == Self.counted(entries))
            }
        }
    }

    @Test("classes of other days are as coarse as those that were released first, whoever has come since and whoever asks")
    func coarseness() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1300), (42, 45), (47, 45)])) { stage async throws in
            func classes(daysAgo: Int) async throws -> Set<String> {
                let form = ReleaseStage.form(30...60) {
                    $0.attributes = ["age"]
                    $0.from = Timestamp(quarter: (Samples.today - daysAgo) * TimeSpan.perDay)
                    $0.to = Timestamp(quarter: (Samples.today - daysAgo + 2) * TimeSpan.perDay)
                }
                return try await Set(stage.released(form, .random()).compactMap { $0.classes["age"] })
            }
            // Of five years there would be two classes of 45, which are too many people to leave out.
            #expect(try await classes(daysAgo: 30) == ["30-39", "40-49"])
            stage.population.change { people in
                for number in 0..<10 {
                    for age in [42, 47] { people.change(nil, PlayedPeople.person(age: age, number: number)) }
                }
            }
            #expect(try await classes(daysAgo: 20) == ["30-39", "40-49"])
        }
    }

    // MARK: Pages

    @Test("pages of any size are the same entries in the same order, for their organisation alone")
    func paging() async throws {
        try await withReleaseStage(PlayedPeople([(30, 1500)])) { stage async throws in
            let (organisation, request) = (OrganisationID.random(), GroupRequestID.random())
            _ = try await stage.ask(ReleaseStage.form(30...30), organisation, request)
            let all = try await stage.entries(request, organisation)
            #expect(try await stage.entries(request, organisation, limit: 7) == all)
            await #expect(throws: Failure(.notFound, "there is no such release")) {
                try await stage.entries(request, .random())
            }
            let isThere = ReadGroupRelease(request: request, organisation: organisation, after: nil, limit: 0)
            #expect(try await stage.pages.page(isThere) == .init(entries: [], next: nil), "no entry leaves to say that it is there")
            for (after, limit) in [("1", 10), ("-1.0", 10), ("0.99999999999999999999", 10), ("0.0", -1), ("0.0", 2001)] {
                await #expect(throws: Failure.self) {
                    try await stage.pages.page(
                        ReadGroupRelease(request: request, organisation: organisation, after: after, limit: limit))
                }
            }
        }
    }

    @Test("positions are people by place, floored to tens, and never fewer than 50")
    func positions() async throws {
        var people = PlayedPeople([(30, 1200)])
        people.cells = (0..<1200).map { CellVisit(row: UInt32($0), cell: GridCell(x: $0 < 49 ? 100 : 3, y: 7)) }
        try await withReleaseStage(people) { stage async throws in
            let entries = try await stage.released(ReleaseStage.form(30...30) { $0.types = ["position"] }, .random())
            #expect(Set(entries.map(\.place)) == ["1km:3:7"])
            #expect(entries.allSatisfy { $0.individuals == 1150 && $0.values.isEmpty && $0.id != nil && $0.isRest == false })
        }
    }

    @Test("the catalogue offers what can be asked for, and no steps")
    func catalogue() {
        let reply = ReadGroupCatalogue.Reply(AnonymityPolicy(), closedUntil: 8)
        #expect(
            reply.types.map(\.code) == ["heart-rate", "oxygen-saturation", "blood-pressure", "body-temperature", "glucose", "position"])
        #expect(reply.types.map(\.components) == [1, 1, 2, 1, 1, 0] && reply.types.last?.unit == "")
        #expect(reply.granularities.first == "hour" && reply.minIndividuals == 1000)
        #expect(reply.closedThrough == Timestamp(milliseconds: 7_200_000))
    }
}
