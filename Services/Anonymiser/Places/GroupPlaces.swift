// The public places of group requests, as the service holds them: their tree, where they lie, how they are called, who lives there.

import Contracts
import Foundation

/// Public facts, the same in every installation of a version.
struct GroupPlaces: Sendable {
    struct Unusable: Error, CustomStringConvertible {
        let description: String
    }

    /// Answers of a search.
    static let mostFound = 20
    private static let elsewhereCode = "WORLD-elsewhere"

    let catalogue: PlaceCatalogue
    let tree: CellTree
    /// By code of a municipality, where its centre lies.
    private let centres: [String: CentreIndex.Centre]
    /// By index of the catalogue.
    private let names: [String]
    /// Codes, names and other names in order, each with its place's index.
    private let searched: [(folded: String, index: Int)]
    /// By code of a municipality that is no more.
    private let formerLeaves: [String: Int]
    private let elsewhere: Int
    /// By number of leaf, the inhabitants of all leaves before it; one more at the end.
    private let peopleBefore: [Int]

    /// The table that travels with the executable.
    static func shipped() throws -> GroupPlaces {
        guard let file = Bundle.module.url(forResource: "group-places", withExtension: "tsv") else {
            throw Unusable(description: "group-places.tsv is missing beside the executable; install the service's resources with it")
        }
        return try GroupPlaces(PlaceTable([UInt8](Data(contentsOf: file))))
    }

    init(_ table: PlaceTable) throws {
        let catalogue = try PlaceCatalogue(table.entries.map(\.row))
        guard let elsewhere = catalogue.leaf(Self.elsewhereCode) else {
            throw Unusable(description: "the table of places has no leaf \(Self.elsewhereCode)")
        }
        formerLeaves = try table.former.mapValues { code in
            guard let leaf = catalogue.leaf(code) else { throw Unusable(description: "\(code) is no leaf of the table of places") }
            return leaf
        }
        var names = [String](repeating: "", count: catalogue.places.count)
        var searched: [(folded: String, index: Int)] = []
        for entry in table.entries {
            guard let index = catalogue.index(entry.row.code) else { continue }
            names[index] = entry.name
            for text in [entry.row.code, entry.name, entry.otherName] where !text.isEmpty {
                searched.append((Self.folded(text), index))
            }
        }
        self.searched = searched.sorted { ($0.folded, $0.index) < ($1.folded, $1.index) }
        self.names = names
        self.catalogue = catalogue
        self.elsewhere = elsewhere
        peopleBefore = catalogue.leaves.reduce(into: [0]) { $0.append(($0.last ?? 0) + catalogue.places[$1].population) }
        centres = Dictionary(table.centres.compactMap { centre in centre.municipality.map { ($0, centre) } }) { first, _ in first }
        tree = Self.cellTree(table.centres, catalogue)
    }

    private static func cellTree(_ centres: [CentreIndex.Centre], _ catalogue: PlaceCatalogue) -> CellTree {
        let index = CentreIndex(centres)
        return CellTree(
            municipality: { index.municipality(ofSquare: $0) },
            province: { code in
                catalogue.leaf(code).flatMap { catalogue.ancestor(ofLeaf: $0, at: .province) }.map { catalogue.places[$0].code }
            })
    }

    /// Of a municipality's centre, in degrees; nil where it is not known.
    func coordinates(_ code: String) -> (latitude: Double, longitude: Double)? {
        centres[code].map { ($0.latitude, $0.longitude) }
    }

    /// Where people of a profile's place are counted: a municipality, a former one, a country. Whoever comes from a list of places that is
    /// not the shipped one is elsewhere.
    func leaf(ofCity code: String) -> Int {
        catalogue.leaf(code) ?? formerLeaves[code] ?? elsewhere
    }

    /// Places whose code, name or other name begins so, higher levels first, then in the order of names; marks and case do not count.
    func find(_ text: String) -> [FindGroupPlaces.Place] {
        let wanted = Self.folded(text.trimmed)
        var low = 0
        var high = searched.count
        while low < high {
            let middle = (low + high) / 2
            if searched[middle].folded < wanted { low = middle + 1 } else { high = middle }
        }
        let found = Set(searched[low...].prefix { $0.folded.hasPrefix(wanted) }.map(\.index))
        return found.map { (index: $0, place: catalogue.places[$0], name: names[$0]) }
            .sorted { ($0.place.level, $0.name, $0.index) < ($1.place.level, $1.name, $1.index) }
            .prefix(Self.mostFound)
            .map { FindGroupPlaces.Place(code: $0.place.code, name: $0.name, level: $0.place.level.code) }
    }

    /// Inhabitants of places that do not lie within one another, as far as they are known: seldom too many. Nil where nothing is known.
    func population(of places: [PlaceChoice]) -> Int? {
        let people = places.map { peopleBefore[$0.leaves.upperBound] - peopleBefore[$0.leaves.lowerBound] }.reduce(0, +)
        return people > 0 ? people : nil
    }

    private static func folded(_ text: String) -> String {
        // Most names; the general way takes ten times as long.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        return text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil).replacing("’", with: "'")
    }
}
