// The public tree of places: world, continents, countries, macro-areas, regions, provinces, cities.

/// From the root down; a place's parent is of an earlier level.
enum PlaceLevel: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    case world, continent, country, macroArea, region, province, city

    static func < (one: PlaceLevel, other: PlaceLevel) -> Bool {
        one.rawValue < other.rawValue
    }
}

/// A line of the table from which the catalogue is made.
struct PlaceRow: Hashable, Sendable {
    let code: String
    let level: PlaceLevel
    /// Nil for the world alone.
    let parent: String?
    /// Inhabitants; 0 where nobody knows.
    let population: Int
}

/// Places in the order of a walk down the tree, so that every place is one range of leaves. People live and were born in leaves.
struct PlaceCatalogue: Sendable {
    /// Leaves must fit into a column of 16 bits.
    static let mostLeaves = 65_536

    enum Fault: Error, Hashable, Sendable {
        case notOneWorld
        case namedTwice(String)
        case parentMissing(String)
        /// A parent must be of an earlier level, so that there are no cycles.
        case levelsReversed(String)
        case tooManyLeaves
    }

    struct Place: Hashable, Sendable {
        let code: String
        let level: PlaceLevel
        /// Its own index for the world.
        let parent: Int
        let population: Int
        fileprivate(set) var leaves: Range<Int>
        fileprivate(set) var children: [Int]
    }

    let places: [Place]
    /// By number of leaf, the place.
    let leaves: [Int]
    private let byCode: [String: Int]

    /// The order of rows does not matter; children are sorted by code.
    init(_ rows: [PlaceRow]) throws(Fault) {
        var rowByCode: [String: PlaceRow] = [:]
        var children: [String: [PlaceRow]] = [:]
        for row in rows {
            guard rowByCode.updateValue(row, forKey: row.code) == nil else { throw .namedTwice(row.code) }
            if let parent = row.parent { children[parent, default: []].append(row) }
        }
        let roots = rows.filter { $0.parent == nil }
        guard roots.count == 1, roots[0].level == .world else { throw .notOneWorld }
        for row in rows {
            guard let parent = row.parent else { continue }
            guard let above = rowByCode[parent] else { throw .parentMissing(row.code) }
            guard above.level < row.level else { throw .levelsReversed(row.code) }
        }
        var (places, leaves): ([Place], [Int]) = ([], [])
        func add(_ row: PlaceRow, below parent: Int) -> Int {
            let index = places.count
            places.append(
                Place(
                    code: row.code, level: row.level, parent: parent, population: row.population,
                    leaves: leaves.count..<leaves.count, children: []))
            let below = (children[row.code] ?? []).sorted { $0.code < $1.code }
            if below.isEmpty { leaves.append(index) }
            // At most as deep as there are levels.
            let indices = below.map { add($0, below: index) }
            places[index].children = indices
            places[index].leaves = places[index].leaves.lowerBound..<leaves.count
            return index
        }
        _ = add(roots[0], below: 0)
        guard leaves.count <= Self.mostLeaves else { throw .tooManyLeaves }
        (self.places, self.leaves) = (places, leaves)
        byCode = Dictionary(uniqueKeysWithValues: places.indices.map { (places[$0].code, $0) })
    }

    func index(_ code: String) -> Int? {
        byCode[code]
    }

    /// The number of the leaf that has this code; nil for an unknown place and for one that holds others.
    func leaf(_ code: String) -> Int? {
        guard let index = byCode[code], places[index].children.isEmpty else { return nil }
        return places[index].leaves.lowerBound
    }

    /// The place of a level that holds a leaf; nil where the leaf's branch has none of that level.
    func ancestor(ofLeaf leaf: Int, at level: PlaceLevel) -> Int? {
        var index = leaves[leaf]
        while places[index].level > level { index = places[index].parent }
        return places[index].level == level ? index : nil
    }

    /// The one way to write a set of places: nothing that lies within another of them, and a place in the stead of all its children. Sorted
    /// in the order of the tree. Nil for the whole world.
    func reduced(_ chosen: Set<Int>) -> [Int]? {
        // Children have higher indices than their parents.
        var whole = [Bool](repeating: false, count: places.count)
        for index in places.indices.reversed() {
            let children = places[index].children
            whole[index] = chosen.contains(index) || (!children.isEmpty && children.allSatisfy { whole[$0] })
        }
        guard !whole[0] else { return nil }
        var kept: [Int] = []
        var covered = 0
        for index in places.indices where whole[index] && places[index].leaves.lowerBound >= covered {
            kept.append(index)
            covered = places[index].leaves.upperBound
        }
        return kept
    }
}
