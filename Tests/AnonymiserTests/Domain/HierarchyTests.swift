// Levels of classes, and the public order in which they are made coarser.

import TestKit
import Testing

@testable import Anonymiser

@Suite("Hierarchy")
struct HierarchyTests {
    @Test("each level is made of whole classes of the one below")
    func nested() {
        for hierarchy in Hierarchy.all(Samples.places).values {
            #expect(hierarchy.isNested, "\(hierarchy.attribute)")
            let counts = (0...hierarchy.top).map(hierarchy.classCount)
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 >= $1 } && counts.last == 1)
        }
    }

    @Test(
        "bands of age, weight and height end where the public hierarchies say",
        arguments: [
            (Hierarchy.age, 0, 17, "15-19"), (.age, 0, 84, "80-84"), (.age, 0, 85, "85+"), (.age, 1, 79, "70-79"), (.age, 1, 80, "80+"),
            (.age, 2, 59, "40-59"), (.age, 2, 60, "60+"), (.age, 3, 39, "0-39"), (.age, 3, 40, "40+"), (.age, 4, 40, "*"),
            (.weight, 0, 49, "<50"), (.weight, 0, 50, "50-59"), (.weight, 0, 109, "100-109"), (.weight, 0, 110, "110+"),
            (.weight, 1, 69, "50-69"), (.weight, 1, 200, "110+"), (.height, 0, 149, "<150"), (.height, 0, 190, "190+"),
            (.height, 1, 171, "170-189"),
        ] as [(Hierarchy, Int, Int, String)])
    func bands(hierarchy: Hierarchy, level: Int, value: Int, label: String) {
        let code = level == hierarchy.top ? 0 : Int(hierarchy.levels[level][value])
        #expect(hierarchy.label(level, code) == label)
    }

    @Test(
        "places go up from large cities to macro-areas and abroad",
        arguments: [
            ("C0000", ["C0000", "P000", "R00", "A0"], ["P000", "R00", "A0", "IT"]),
            ("C0001", ["P000", "P000", "R00", "A0"], ["P000", "R00", "A0", "IT"]),
            ("FR", ["FR", "FR", "EU", "abroad"], ["EU", "EU", "EU", "abroad"]),
            ("JP", ["JP", "JP", "AS", "abroad"], ["AS", "AS", "AS", "abroad"]),
        ])
    func places(code: String, residence: [String], birth: [String]) throws {
        let leaf = try #require(Samples.places.leaf(code))
        for (hierarchy, labels) in [(Hierarchy.residence(Samples.places), residence), (.birthPlace(Samples.places), birth)] {
            #expect((0..<4).map { hierarchy.label($0, Int(hierarchy.levels[$0][leaf])) } == labels)
        }
    }

    @Test("a table that is no tree is refused")
    func catalogue() {
        func rows(_ more: PlaceRow...) -> [PlaceRow] { [PlaceRow(code: "w", level: .world, parent: nil, population: 0)] + more }
        #expect(throws: PlaceCatalogue.Fault.notOneWorld) { try PlaceCatalogue([]) }
        #expect(throws: PlaceCatalogue.Fault.namedTwice("w")) {
            try PlaceCatalogue(rows(PlaceRow(code: "w", level: .country, parent: "w", population: 0)))
        }
        #expect(throws: PlaceCatalogue.Fault.parentMissing("a")) {
            try PlaceCatalogue(rows(PlaceRow(code: "a", level: .country, parent: "b", population: 0)))
        }
        #expect(throws: PlaceCatalogue.Fault.levelsReversed("a")) {
            try PlaceCatalogue(
                rows(
                    PlaceRow(code: "a", level: .country, parent: "b", population: 0),
                    PlaceRow(code: "b", level: .region, parent: "w", population: 0)))
        }
    }
}

@Suite("RecodingPath")
struct RecodingPathTests {
    @Test("levels rise one each, round robin, in the public order, until everything is one")
    func order() {
        let path = RecodingPath([.sex, .age, .weight])
        // Sorted: age, sex, weight. The order of steps: weight, age, sex.
        #expect(path.vectors == [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [1, 1, 2], [2, 1, 2], [3, 1, 2], [4, 1, 2]])
        #expect(RecodingPath([]).vectors == [[]])
    }

    @Test("classes at each step are those of the labels, by hashing as by table")
    func classes() {
        let seed: UInt64 = 0x9A7
        var generator = SeededGenerator(seed: seed)
        let rows = (0..<3000).map { _ in Samples.row(&generator) }
        let columns = PopulationColumns(rows)
        let members = columns.matching(GroupFilters()).intersection(columns.eligible)
        for attributes in [[PersonAttribute.age, .sex], PersonAttribute.allCases, []] {
            let all = Hierarchy.all(Samples.places)
            let path = RecodingPath(attributes.compactMap { all[$0] })
            let codes = path.hierarchies.map { columns.codes(of: $0.attribute) }
            let column = ClassColumn(path, cohort: members, columns: codes)
            for step in path.vectors.indices {
                let classes = column.classes(at: step)
                #expect(Set(classes.labels).count == classes.labels.count)
                var wanted: [[String]: Int] = [:]
                members.forEach { row in
                    let labels = path.hierarchies.indices.map { index in
                        let (hierarchy, level) = (path.hierarchies[index], path.vectors[step][index])
                        let code = Int(codes[index][row])
                        return hierarchy.label(level, level == hierarchy.top ? 0 : Int(hierarchy.levels[level][code]))
                    }
                    wanted[labels, default: 0] += 1
                }
                let joined = classes.joined(column.counts(members))
                let found = Dictionary(uniqueKeysWithValues: zip(classes.labels, joined))
                #expect(found == wanted, "seed \(seed), step \(step)")
            }
        }
    }
}

extension Hierarchy {
    /// Whether each level is made of whole classes of the one below: what recoding relies on.
    var isNested: Bool {
        zip(levels, levels.dropFirst()).allSatisfy { finer, coarser in
            var above: [UInt16: UInt16] = [:]
            return zip(finer, coarser).allSatisfy { fine, coarse in
                defer { above[fine] = coarse }
                return above[fine, default: coarse] == coarse
            }
        }
    }
}
