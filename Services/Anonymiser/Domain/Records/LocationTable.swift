// People per cell: the one way in which positions are released.

import Contracts

/// From fine to coarse.
enum CellLevel: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    case kilometre, fiveKilometres, municipality, province

    static func < (one: CellLevel, other: CellLevel) -> Bool { one.rawValue < other.rawValue }
}

/// A place of people counts: a square, or a code of the catalogue.
enum LocationCell: Hashable, Comparable, Sendable {
    case kilometre(GridCell)
    /// A square of 5 km, by its number in units of 5 km.
    case fiveKilometres(GridCell)
    case municipality(String)
    case province(String)

    static func < (one: LocationCell, other: LocationCell) -> Bool {
        switch (one, other) {
        case (.kilometre(let one), .kilometre(let other)), (.fiveKilometres(let one), .fiveKilometres(let other)): one < other
        case (.municipality(let one), .municipality(let other)), (.province(let one), .province(let other)): one < other
        default: one.level < other.level
        }
    }

    var level: CellLevel {
        switch self {
        case .kilometre: .kilometre
        case .fiveKilometres: .fiveKilometres
        case .municipality: .municipality
        case .province: .province
        }
    }
}

/// A person's presence in a cell within one bucket. Personal.
struct CellVisit: Hashable, Sendable {
    let row: UInt32
    let cell: GridCell
}

/// What is public about which cell lies where.
struct CellTree: Sendable {
    /// Of the square of 5 km: the code of the municipality that holds its middle; nil at sea and abroad.
    let municipality: @Sendable (GridCell) -> String?
    /// Of a municipality; nil where it is unknown.
    let province: @Sendable (String) -> String?

    func parent(_ cell: LocationCell) -> LocationCell? {
        switch cell {
        case .kilometre(let cell):
            .fiveKilometres(GridCell(x: Int32(Int(cell.x).flooredQuotient(5)), y: Int32(Int(cell.y).flooredQuotient(5))))
        case .fiveKilometres(let cell): municipality(cell).map { .municipality($0) }
        case .municipality(let code): province(code).map { .province($0) }
        case .province: nil
        }
    }
}

/// One table of positions.
struct LocationTable: Hashable, Sendable {
    struct Cell: Hashable, Sendable {
        let cell: LocationCell
        /// Whether finer cells within it stand in the table by themselves, so that this is the rest.
        let isRest: Bool
        /// Distinct people; floored to tens where it is released.
        let people: Int
    }

    let cells: [Cell]
    /// Distinct people in at least one of the cells.
    let represented: Int

    /// Cells of too few people are joined to the next coarser one together with all others of it that were too small, until there are
    /// enough; what is too small at the end is dropped. Cells in the table never overlap, so that no difference of two shows a smaller one.
    /// - Parameters:
    ///   - visits: of the people of S alone, bounded by `CellChoice`. Repeated ones count once.
    ///   - finest: nothing finer is shown; with an area filter, the level of the area.
    init(_ visits: [CellVisit], _ tree: CellTree, _ policy: AnonymityPolicy, finest: CellLevel = .kilometre) {
        var open: [LocationCell: [UInt32]] = Self.byCell(visits)
        var split: Set<LocationCell> = []
        var kept: [Cell] = []
        var everybody = Bitmap(size: Int(visits.lazy.map(\.row).max() ?? 0) + 1)
        for level in CellLevel.allCases {
            var next: [LocationCell: [UInt32]] = [:]
            for (cell, rows) in open {
                let people = Self.distinct(rows)
                if level >= finest, people.count >= policy.fewestPerClass {
                    kept.append(Cell(cell: cell, isRest: split.contains(cell), people: people.count))
                    for row in people { everybody[Int(row)] = true }
                    var above = tree.parent(cell)
                    while let parent = above, split.insert(parent).inserted { above = tree.parent(parent) }
                } else if let parent = tree.parent(cell) {
                    next[parent, default: []].append(contentsOf: people)
                }
            }
            open = next
        }
        cells = kept.sorted { $0.cell < $1.cell }
        represented = everybody.count
    }

    /// Rows in each square, repeated as they come. Squares are numbered first, since hashing is what costs.
    private static func byCell(_ visits: [CellVisit]) -> [LocationCell: [UInt32]] {
        var numbers: [UInt64: Int] = [:]
        var (cells, rows): ([GridCell], [[UInt32]]) = ([], [])
        for visit in visits {
            let key = UInt64(UInt32(bitPattern: visit.cell.x)) << 32 | UInt64(UInt32(bitPattern: visit.cell.y))
            if let number = numbers[key] {
                rows[number].append(visit.row)
            } else {
                numbers[key] = cells.count
                cells.append(visit.cell)
                rows.append([visit.row])
            }
        }
        return Dictionary(uniqueKeysWithValues: zip(cells.map { LocationCell.kilometre($0) }, rows))
    }

    private static func distinct(_ rows: [UInt32]) -> [UInt32] {
        var sorted = rows
        sorted.sort()
        var kept: [UInt32] = []
        kept.reserveCapacity(sorted.count)
        for row in sorted where kept.last != row { kept.append(row) }
        return kept
    }

    /// What is served of a cell.
    static func reported(_ people: Int, _ policy: AnonymityPolicy) -> Int {
        people / policy.entrySize * policy.entrySize
    }
}

/// In which cells a person counts on one day: at most a few, the same ones for ever and for everybody.
enum CellChoice {
    /// - Parameters:
    ///   - cells: where the person was on that day, once each or more.
    ///   - hash: keyed, of the person, the day and the cell; the smallest are chosen.
    static func chosen(_ cells: [GridCell], _ policy: AnonymityPolicy, hash: (GridCell) -> UInt64) -> Set<GridCell> {
        Set(Set(cells).map { (hash($0), $0) }.sorted { $0 < $1 }.prefix(policy.cellsPerPersonDay).map(\.1))
    }
}
