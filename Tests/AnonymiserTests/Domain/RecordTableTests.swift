// Whole tables over random populations, judged by a shadow copy that knows who everybody is.

import TestKit
import Testing

@testable import Anonymiser

@Suite("RecordTable")
struct RecordTableTests {
    private static let policy = AnonymityPolicy()

    /// A random population, some attributes, some tables.
    private struct World {
        let columns: PopulationColumns
        let rows: [PersonRow]
        let path: RecodingPath
        let tables: RecordTables
        let planned: [PlannedTable]
        let type: GroupDataType

        init(_ generator: inout SeededGenerator, people: Int, attributes: [PersonAttribute], type: GroupDataType, tables count: Int) {
            rows = (0..<people).map { _ in
                var row = Samples.row(&generator)
                row.age = min(row.age, Int.random(in: 0...99, using: &generator))
                return row
            }
            columns = PopulationColumns(rows)
            self.type = type
            let cohort = columns.cohort(GroupFilters(), for: type)
            let all = Hierarchy.all(Samples.places)
            path = RecodingPath(attributes.compactMap { all[$0] })
            let inner = columns
            let column = ClassColumn(path, cohort: cohort, columns: path.hierarchies.map { inner.codes(of: $0.attribute) })
            tables = RecordTables(policy: RecordTableTests.policy, column: column)
            let scales = type.scales(.day)
            let spread = Int.random(in: 1...20, using: &generator)
            var planned: [PlannedTable] = []
            for _ in 0..<count {
                var values = ValueColumn(scales: scales, size: columns.bitmapSize)
                let share = Int.random(in: 30...100, using: &generator)
                cohort.forEach { row in
                    guard Int.random(in: 0..<100, using: &generator) < share else { return }
                    values.set(
                        scales.map { scale in
                            let middle = scale.codes / 2
                            return min(max(middle + Int.random(in: -spread...spread, using: &generator), 0), scale.codes - 1)
                        }, at: row)
                }
                planned.append(PlannedTable(values: values, members: cohort.intersection(values.hasData)))
            }
            self.planned = planned
        }

        /// Labels of one person at a step.
        func labels(_ row: Int, step: Int) -> [String] {
            path.hierarchies.indices.map { index in
                let (hierarchy, level) = (path.hierarchies[index], path.vectors[step][index])
                let person = rows[row]
                let code =
                    switch hierarchy.attribute {
                    case .age: min(person.age, 120)
                    case .sex: Int(person.sex?.rawValue ?? 0)
                    case .residence: person.residence
                    case .birthPlace: person.birthPlace
                    case .occupation: Int(person.occupation.rawValue)
                    case .weight: min(max(person.weight, 30), 200)
                    case .height: min(max(person.height, 100), 220)
                    }
                return level == hierarchy.top ? "*" : hierarchy.label(level, Int(hierarchy.levels[level][code]))
            }
        }
    }

    @Test("every entry of every table has at least 10 people by a shadow count, every class 50, every table 1001; classes are disjoint")
    func shadow() {
        let seed: UInt64 = 0x5AD0
        var generator = SeededGenerator(seed: seed)
        var (released, withheld, smallest) = (0, 0, Int.max)
        let choices: [[PersonAttribute]] = [[.age, .sex], [], [.residence], [.age, .sex, .weight], PersonAttribute.allCases]
        for round in 0..<30 {
            let type: GroupDataType = [.heartRate, .bloodPressure, .steps, .oxygenSaturation][round % 4]
            let people = Int.random(in: 900...5000, using: &generator)
            let world = World(&generator, people: people, attributes: choices[round % choices.count], type: type, tables: 3)
            for (plan, table) in zip(world.planned, world.tables.release(world.planned)) {
                let label: Comment = "seed \(seed), round \(round)"
                let behind = plan.members.members
                guard let table else {
                    withheld += 1
                    #expect(behind.count < 1001, label)
                    continue
                }
                released += 1
                // Who is behind each class, counted one by one.
                var shadow: [[String]: [Int]] = [:]
                for row in behind { shadow[world.labels(row, step: table.step), default: []].append(row) }
                #expect(Set(table.classes.map(\.labels)).count == table.classes.count, label)
                var represented = 0
                for one in table.classes {
                    let members = shadow[one.labels] ?? []
                    represented += members.count
                    #expect(members.count >= 50 && one.entries.reduce(0) { $0 + $1.people } == members.count, label)
                    // No person is in two entries: entries hold as many places as the class has people, each at least ten.
                    #expect(one.entries.allSatisfy { $0.people >= 10 }, label)
                    #expect(one.entries.count == members.count / 10 || one.entries.count == 1, label)
                    smallest = min(smallest, one.entries.map(\.people).min() ?? .max)
                    let isSingle = table.step == world.path.last && one.entries.count == 1
                    #expect(isSingle || MicroCohorts.isDiverse(one.entries, Self.policy), label)
                }
                #expect(represented >= 1001 && represented == table.represented, label)
                let kept = Set(table.classes.map(\.labels))
                #expect(shadow.allSatisfy { kept.contains($0.key) || $0.value.count < 50 }, label)
            }
        }
        #expect(released > 40 && withheld > 3 && smallest == 10)
    }

    @Test("the order of people changes nothing: tables depend on who is in them alone")
    func permutation() {
        var generator = SeededGenerator(seed: 11)
        let world = World(&generator, people: 3000, attributes: [.age, .sex], type: .heartRate, tables: 1)
        let order = Array(world.rows.indices).shuffled(using: &generator)
        let columns = PopulationColumns(order.map { world.rows[$0] })
        var values = ValueColumn(scales: world.planned[0].values.scales, size: columns.bitmapSize)
        var members = Bitmap(size: columns.bitmapSize)
        for (new, old) in order.enumerated() where world.planned[0].members[old] {
            values.set([Int(world.planned[0].values.columns[0][old]) - 1], at: new)
            members[new] = true
        }
        let column = ClassColumn(world.path, cohort: members, columns: world.path.hierarchies.map { columns.codes(of: $0.attribute) })
        let other = RecordTables(policy: Self.policy, column: column).release([PlannedTable(values: values, members: members)])

        #expect(other == world.tables.release(world.planned) && other[0] != nil)
    }

    @Test("1000 people with values are withheld and 1001 released")
    func boundary() {
        let scales = GroupDataType.heartRate.scales(.day)
        for people in [1000, 1001] {
            let members = Bitmap(size: 2000, members: 0..<people)
            var values = ValueColumn(scales: scales, size: 2000)
            for row in 0..<people { values.set([row % 100], at: row) }
            let column = ClassColumn(RecodingPath([]), cohort: members, columns: [])
            let tables = RecordTables(policy: Self.policy, column: column).release([PlannedTable(values: values, members: members)])
            #expect(tables.map { $0?.represented } == [people == 1001 ? 1001 : nil])
        }
    }

    @Test(
        "a class of 49 people is left out and one of 50 is shown, of one component or of two",
        arguments: [GroupDataType.heartRate, .bloodPressure])
    func classes(type: GroupDataType) throws {
        let scales = type.scales(.day)
        for people in [49, 50] {
            let size = 2000 + people
            let members = Bitmap(size: size, members: 0..<size)
            var values = ValueColumn(scales: scales, size: size)
            for row in 0..<size { values.set(scales.map { _ in row % 50 }, at: row) }
            let column = ClassColumn(
                RecodingPath([.sex]), cohort: members, columns: [(0..<size).map { UInt16($0 < 2000 ? 1 : 2) }])
            let table = try #require(
                RecordTables(policy: Self.policy, column: column).release([PlannedTable(values: values, members: members)])[0])

            #expect(table.step == 0 && table.classes.count == (people == 50 ? 2 : 1), "\(people)")
            #expect(table.represented == (people == 50 ? 2050 : 2000), "\(people)")
        }
    }

    @Test("a table in which everybody has the same value is one entry for all, at the end of the path")
    func homogeneous() throws {
        let people = 3000
        let scales = GroupDataType.steps.scales(.hour)
        let members = Bitmap(size: people, members: 0..<people)
        var values = ValueColumn(scales: scales, size: people)
        for row in 0..<people { values.set([0], at: row) }
        let column = ClassColumn(
            RecodingPath([.sex]), cohort: members, columns: [(0..<people).map { UInt16(1 + $0 % 2) }])
        let table = try #require(
            RecordTables(policy: Self.policy, column: column).release([PlannedTable(values: values, members: members)])[0])

        #expect(table.classes == [RecordTable.Class(labels: ["*"], entries: [MicroCohort(value: 0, people: people)])])
    }
}

extension RecordTables {
    /// All tables of one release of records, at one common level of classes; nil for those that are withheld.
    fileprivate func release(_ planned: [PlannedTable]) -> [RecordTable?] {
        let first = column.step(sizes: planned.map(\.members.count), policy) { column.counts(planned[$0].members) }
        return planned.map { table($0.values, members: $0.members, from: first) }
    }
}
