// Cells of positions: enough people in each, none within another.

import Contracts
import TestKit
import Testing

@testable import Anonymiser

@Suite("LocationTable")
struct LocationTableTests {
    private static let policy = AnonymityPolicy()
    /// Municipalities are 2 × 2 squares of 5 km, provinces 4 × 4 of them; there is none left of 0.
    private static let tree = CellTree(
        municipality: { $0.x < 0 ? nil : "M\(Int($0.x).flooredQuotient(2)).\(Int($0.y).flooredQuotient(2))" },
        province: { code in
            let parts = code.dropFirst().split(separator: ".").compactMap { Int($0) }
            return "P\(parts[0] / 4).\(parts[1].flooredQuotient(4))"
        })

    /// Which kept cell, if any, a visit falls into.
    private static func place(_ cell: GridCell, _ table: LocationTable) -> LocationCell? {
        let kept = Set(table.cells.map(\.cell))
        var at: LocationCell? = .kilometre(cell)
        while let place = at, !kept.contains(place) { at = tree.parent(place) }
        return at
    }

    @Test("each cell has at least 50 distinct people by a shadow count, who are there and in no finer cell")
    func shadow() {
        let seed: UInt64 = 0x6E0
        var generator = SeededGenerator(seed: seed)
        var levels: Set<CellLevel> = []
        var dropped = 0
        for round in 0..<40 {
            let people = 60 << Int.random(in: 0...5, using: &generator)
            let side = Int32.random(in: 2...120, using: &generator)
            let visits = (0..<people).flatMap { row in
                (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                    // Denser towards the corner.
                    let x = Int32.random(in: -3...side, using: &generator), y = Int32.random(in: 0...side, using: &generator)
                    return CellVisit(row: UInt32(row), cell: GridCell(x: min(x, Int32.random(in: -3...side, using: &generator)), y: y / 2))
                }
            }
            let table = LocationTable(visits, Self.tree, Self.policy)
            var shadow: [LocationCell: Set<UInt32>] = [:]
            for visit in visits {
                guard let place = Self.place(visit.cell, table) else {
                    dropped += 1
                    continue
                }
                shadow[place, default: []].insert(visit.row)
            }
            #expect(Set(table.cells.map(\.cell)).count == table.cells.count)
            for cell in table.cells {
                levels.insert(cell.cell.level)
                #expect(cell.people >= 50 && shadow[cell.cell]?.count == cell.people, "seed \(seed), round \(round)")
            }
            #expect(table.represented == shadow.values.reduce(into: Set()) { $0.formUnion($1) }.count)
        }
        #expect(levels == Set(CellLevel.allCases) && dropped > 0, "\(levels)")
    }

    @Test("49 people in a cell are not shown by themselves, nor as the rest of what is shown around them", arguments: [49, 50])
    func rest(people: Int) {
        let visits =
            (0..<60).map { CellVisit(row: UInt32($0), cell: GridCell(x: 0, y: 0)) }
            + (0..<people).map { CellVisit(row: UInt32(100 + $0), cell: GridCell(x: 1, y: 0)) }
        let table = LocationTable(visits, Self.tree, Self.policy)

        #expect(table.cells.map(\.people) == (people == 50 ? [60, 50] : [60]))
        #expect(table.represented == 60 + (people == 50 ? 50 : 0))
        #expect(LocationTable.reported(59, Self.policy) == 50)
    }

    @Test("nothing finer is shown than the area's level")
    func finest() {
        let visits = (0..<200).map { CellVisit(row: UInt32($0), cell: GridCell(x: Int32($0 % 3), y: 0)) }

        #expect(LocationTable(visits, Self.tree, Self.policy).cells.map(\.cell.level) == [.kilometre, .kilometre, .kilometre])
        #expect(LocationTable(visits, Self.tree, Self.policy, finest: .municipality).cells.map(\.cell) == [.municipality("M0.0")])
    }

    @Test("a person counts in at most four cells a day, the same ones whatever the order")
    func choice() {
        var generator = SeededGenerator(seed: 5)
        let cells = (0..<30).map { GridCell(x: $0, y: 0) }
        func hash(_ cell: GridCell) -> UInt64 { testHash([UInt8(cell.x)]) }
        let chosen = CellChoice.chosen(cells, Self.policy, hash: hash)

        #expect(chosen.count == 4 && chosen == CellChoice.chosen((cells + cells).shuffled(using: &generator), Self.policy, hash: hash))
        #expect(CellChoice.chosen([cells[0], cells[0]], Self.policy, hash: hash) == [cells[0]])
    }
}
