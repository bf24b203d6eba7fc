// Columns and bitmaps against a plain look at each person.

import TestKit
import Testing

@testable import Anonymiser

@Suite("PopulationColumns")
struct PopulationColumnsTests {
    /// What the filters say of one person, without any column.
    private static func selects(_ filters: GroupFilters, _ row: PersonRow) -> Bool {
        func within(_ value: Int, _ range: ClosedRange<Int>?, _ domain: ClosedRange<Int>) -> Bool {
            range.map { $0.contains(min(max(value, domain.lowerBound), domain.upperBound)) } ?? true
        }
        func within(_ leaf: Int, _ places: [PlaceChoice]) -> Bool { places.isEmpty || places.contains { $0.leaves.contains(leaf) } }
        return within(row.age, filters.age, 0...120) && within(row.weight, filters.weight, 30...200)
            && within(row.height, filters.height, 100...220)
            && (filters.sexes.isEmpty || row.sex.map(filters.sexes.contains) == true)
            && (filters.occupations.isEmpty || filters.occupations.contains(row.occupation))
            && within(row.residence, filters.residence) && within(row.birthPlace, filters.birth)
    }

    private static func randomFilters(_ generator: inout SeededGenerator) throws -> GroupFilters {
        var typed = Samples.request()
        let low = Int.random(in: 0...60, using: &generator)
        typed.age = TypedInterval(from: low, to: low + Int.random(in: 0...60, using: &generator))
        if Bool.random(using: &generator) { typed.weight = TypedInterval(from: 5 * Int.random(in: 6...20, using: &generator), to: nil) }
        if Bool.random(using: &generator) { typed.height = TypedInterval(from: nil, to: 5 * Int.random(in: 25...44, using: &generator)) }
        if Bool.random(using: &generator) { typed.sex = ["female", "other"] }
        if Bool.random(using: &generator) { typed.occupation = ["student"] }
        if Bool.random(using: &generator) { typed.residence = ["R00", "C1000", "JP"] }
        if Bool.random(using: &generator) { typed.birth = ["A0", "FR"] }
        return try Samples.read(typed).filters
    }

    @Test("a cohort is exactly the eligible people who share the type and whom all predicates select; so it is after changes")
    func cohorts() throws {
        let seed: UInt64 = 0xC0107
        var generator = SeededGenerator(seed: seed)
        for count in [0, 1, 63, 64, 65, 3001] {
            var rows = (0..<count).map { _ in Samples.row(&generator) }
            var columns = PopulationColumns(rows)
            for round in 0..<20 {
                if round >= 10 {
                    let new = Samples.row(&generator)
                    #expect(columns.append(new) == rows.count)
                    rows.append(new)
                    let place = Int.random(in: 0..<rows.count, using: &generator)
                    rows[place] = Samples.row(&generator)
                    columns.update(rows[place], at: place)
                }
                let filters = try Self.randomFilters(&generator)
                for type in [GroupDataType.heartRate, .position] {
                    let found = columns.cohort(filters, for: type)
                    let wanted = rows.indices.filter {
                        rows[$0].isEligible && rows[$0].shares.contains(type) && Self.selects(filters, rows[$0])
                    }
                    #expect(found.members == wanted, "seed \(seed), \(count) people, round \(round)")
                }
            }
        }
    }

    @Test("who is erased or opts out is in no cohort from then on, and nothing is left in the columns")
    func erasure() throws {
        var generator = SeededGenerator(seed: 7)
        var columns = PopulationColumns((0..<500).map { _ in Samples.row(&generator) })
        columns.erase(at: 123)
        var silent = Samples.row(&generator)
        (silent.shares, silent.isEligible) = ([], true)
        columns.update(silent, at: 124)

        #expect(columns.ages[123] == 0 && columns.weights[123] == 30 && columns.residences[123] == 0 && columns.sexes[123] == 0)
        #expect(!columns.matching(GroupFilters()).isEmpty && !columns.eligible[123])
        for type in GroupDataType.allCases {
            #expect(!columns.eligible(for: type)[123] && !columns.eligible(for: type)[124])
            #expect(!columns.cohort(GroupFilters(), for: type)[123] && !columns.cohort(GroupFilters(), for: type)[124])
        }
        #expect(columns.eligible[124] && !columns.cohort(GroupFilters())[123] && !columns.cohort(GroupFilters())[124])
    }

    @Test("a new day's ages replace the old ones")
    func birthdays() {
        var generator = SeededGenerator(seed: 8)
        let rows = (0..<200).map { _ in Samples.row(&generator) }
        var columns = PopulationColumns(rows)
        columns.replaceAges { rows[$0].age + 1 }

        var filters = GroupFilters()
        filters.age = 50...50
        #expect(columns.matching(filters).members == rows.indices.filter { rows[$0].age == 49 })
    }

    @Test("scanning a column finds who is in its ranges, at every length around a vector")
    func scan() {
        let seed: UInt64 = 0x5CA4
        var generator = SeededGenerator(seed: seed)
        for count in [0, 1, 15, 16, 63, 64, 65, 200, 5000] {
            let wide = (0..<count).map { _ in UInt16.random(in: 0...300, using: &generator) }
            let ranges = [0..<1, 40..<90, 250..<65_536]
            let many = (0..<20).map { 3 * $0..<3 * $0 + 2 }
            #expect(
                ColumnScan.members(of: wide, in: many).members
                    == wide.indices.filter { row in many.contains { $0.contains(Int(wide[row])) } })
            #expect(
                ColumnScan.members(of: wide, in: ranges).members
                    == wide.indices.filter { row in ranges.contains { $0.contains(Int(wide[row])) } })
            #expect(ColumnScan.members(of: wide, in: [1..<65_536]).members == wide.indices.filter { wide[$0] > 0 })
        }
    }
}

@Suite("Contributors")
struct ContributorsTests {
    @Test("distinct people over a window agree with sets; with an area, people count on the days on which they were there")
    func union() {
        let seed: UInt64 = 0xDA75
        var generator = SeededGenerator(seed: seed)
        for size in [100, 65_536 + 300, 150_000] {
            func some(_ people: Int) -> Set<Int> { Set((0..<people).map { _ in Int.random(in: 0..<size, using: &generator) }) }
            let cohort = some(size / 3)
            let days = (0..<7).map { day in (data: some(size / 9), area: day % 2 == 0 ? some(size / 5) : nil) }
            let contributors = Contributors(
                cohort: Bitmap(size: size, members: cohort),
                presences: days.map { day in
                    Presence(hasData: Bitmap(size: size, members: day.data), inArea: day.area.map { Bitmap(size: size, members: $0) })
                })
            let each = days.map { $0.data.intersection($0.area ?? $0.data).intersection(cohort) }
            let wanted = each.reduce(into: Set<Int>()) { $0.formUnion($1) }

            #expect(Set(contributors.members.members) == wanted && contributors.count == wanted.count, "seed \(seed)")
            #expect(contributors.reaches(wanted.count) && !contributors.reaches(wanted.count + 1))
            for (day, people) in each.enumerated() { #expect(Set(contributors.members(in: day).members) == people) }
        }
    }

    @Test("one who was in the area on one day and has data of another is in no group")
    func areaByDay() {
        let one = Bitmap(size: 10, members: [3])
        let none = Bitmap(size: 10)
        let contributors = Contributors(
            cohort: .full(size: 10), presences: [Presence(hasData: one, inArea: none), Presence(hasData: none, inArea: one)])

        #expect(contributors.count == 0)
    }
}
