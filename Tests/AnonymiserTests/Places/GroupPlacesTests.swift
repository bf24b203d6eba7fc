// The shipped table of places: that every profile finds a leaf, and squares and searches the right place.

import Contracts
import Foundation
import Testing

@testable import Anonymiser

@Suite("Places of groups")
struct GroupPlacesTests {
    private static let shipped: Result<GroupPlaces, any Error> = Result { try GroupPlaces.shipped() }

    private let places: GroupPlaces
    private var catalogue: PlaceCatalogue { places.catalogue }

    init() throws {
        places = try Self.shipped.get()
    }

    private func choice(_ code: String) throws -> PlaceChoice {
        let index = try #require(catalogue.index(code))
        return PlaceChoice(code: code, leaves: catalogue.places[index].leaves)
    }

    /// Of the leaf, with what holds it, from the world down.
    private func path(_ leaf: Int) -> [String] {
        PlaceLevel.allCases.compactMap { level in
            catalogue.ancestor(ofLeaf: leaf, at: level).map { catalogue.places[$0].code }
        }
    }

    /// Lines of the list from which people choose, each with at least code, name, province, region, from, until.
    private static func consentPlaces() throws -> [[String]] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Services/Consent/Resources/places.tsv")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
    }

    @Test("every place that a profile can hold has a leaf, and today's municipality lies in its province")
    func profiles() throws {
        let lines = try Self.consentPlaces()
        let nowhere = places.leaf(ofCity: "no such place")
        #expect(path(nowhere) == ["WORLD", "WORLD-elsewhere"])
        var current = 0
        for line in lines {
            let leaf = places.leaf(ofCity: line[0])
            if leaf == nowhere { Issue.record("\(line[0]) is nowhere") }
            guard line[5].isEmpty else { continue }
            let held = path(leaf)
            if held.last != line[0] { Issue.record("\(line[0]) is \(held)") }
            guard line[2] != "EE" else { continue }
            current += 1
            if held.count != 7 || held[5] != "IT-\(line[2])" { Issue.record("\(line[0]) of \(line[2]) is in \(held)") }
        }
        #expect(current == 7894)
        #expect(path(places.leaf(ofCity: "F205")) == ["WORLD", "EU", "IT", "ITC", "IT-25", "IT-MI", "F205"])
    }

    @Test("a municipality that is no more counts in its last province, or where that was ceded in Italy alone")
    func former() {
        #expect(path(places.leaf(ofCity: "E608")).last == "IT-PV-past")
        // Abbazia, in the province of Fiume.
        #expect(path(places.leaf(ofCity: "A009")) == ["WORLD", "EU", "IT", "IT-past", "IT-past-region", "IT-past-province"])
        #expect(path(places.leaf(ofCity: "Z105")) == ["WORLD", "EU", "Z105"])
    }

    @Test("Italy has 20 regions and 107 provinces, and a region's provinces together are the region")
    func regions() {
        let regions = catalogue.places.indices.filter {
            catalogue.places[$0].level == .region && catalogue.places[$0].code != "IT-past-region"
        }
        #expect(regions.count == 20)
        #expect(regions.map { catalogue.places[$0].children.count }.reduce(0, +) == 107)
        for region in regions {
            #expect(catalogue.reduced(Set(catalogue.places[region].children)) == [region], "\(catalogue.places[region].code)")
        }
    }

    @Test(
        "inhabitants are about as many as are known to be",
        arguments: [
            ("IT", 50_000_000...60_000_000), ("IT-25", 8_500_000...10_300_000), ("IT-62", 4_500_000...5_900_000),
            ("IT-72", 4_800_000...5_900_000), ("IT-82", 4_300_000...5_100_000), ("IT-57", 1_000_000...1_550_000),
            ("IT-67", 220_000...320_000), ("IT-23", 100_000...130_000), ("F205", 1_200_000...1_450_000),
            ("Z110", 60_000_000...75_000_000),
        ])
    func inhabitants(code: String, range: ClosedRange<Int>) throws {
        let place = try choice(code)
        let people = try #require(places.population(of: [place]))
        #expect(range.contains(people), "\(people)")
    }

    @Test("inhabitants of several places are added, and nobody knows those of places that are no more")
    func sums() throws {
        let (milan, rome) = (try choice("F205"), try choice("H501"))
        let inMilan = try #require(places.population(of: [milan]))
        let inRome = try #require(places.population(of: [rome]))
        #expect(places.population(of: [milan, rome]) == inMilan + inRome)
        let (former, abroad) = (try choice("IT-MI-past"), try choice("Z105"))
        #expect(places.population(of: [former, abroad]) == nil)
        #expect(places.population(of: [former, milan]) == inMilan)
        #expect(places.population(of: []) == nil)
    }

    @Test("Milan's squares are Milan's; the sea and what lies abroad is no municipality's")
    func squares() throws {
        func cells(_ latitude: Double, _ longitude: Double) throws -> [LocationCell] {
            var cells = [LocationCell.kilometre(try #require(GridCell(latitude: latitude, longitude: longitude)))]
            while let last = cells.last, let next = places.tree.parent(last) { cells.append(next) }
            return Array(cells.dropFirst(2))
        }
        #expect(try cells(45.464, 9.19) == [.municipality("F205"), .province("IT-MI")])
        #expect(try cells(40.852, 14.268) == [.municipality("F839"), .province("IT-NA")])
        // The Tyrrhenian Sea, Lugano, San Marino, Paris, the Fiji Islands.
        for (latitude, longitude) in [(40.5, 12.0), (46.005, 8.953), (43.94, 12.45), (48.86, 2.35), (-17.0, 179.99)] {
            #expect(try cells(latitude, longitude) == [])
        }
        // Beyond the Earth.
        #expect(places.tree.municipality(GridCell(x: .max, y: .min)) == nil)
    }

    @Test("a search finds the beginning of a name or a code, higher levels first, whatever its case and marks")
    func searches() {
        let found = places.find("mila")
        #expect(found.first == FindGroupPlaces.Place(code: "IT-MI", name: "Milano", level: "province"))
        #expect(found.contains(FindGroupPlaces.Place(code: "F205", name: "Milano", level: "city")))
        #expect(places.find("MILÀNO").map(\.code).starts(with: ["IT-MI", "F205"]))
        #expect(places.find("it-25").map(\.code) == ["IT-25"])
        #expect(places.find("lombardy").map(\.code) == ["IT-25"])
        #expect(places.find("forli").map(\.code).contains("D704"))
        #expect(places.find("a").count == GroupPlaces.mostFound)
        #expect(places.find("no such place") == [])
    }

    @Test("a text that is empty or has 101 characters is invalid", arguments: ["", " ", String(repeating: "a", count: 101)])
    func lengths(text: String) {
        #expect(throws: Failure.self) { try GroupPlaceRoutes(places: places).find(FindGroupPlaces(text: text)) }
    }

    @Test("classes of residence and birth are made of whole finer ones, and small towns go with their province")
    func hierarchies() {
        let residence = Hierarchy.residence(catalogue)
        let birth = Hierarchy.birthPlace(catalogue)
        #expect(residence.isNested)
        #expect(birth.isNested)
        func labels(_ hierarchy: Hierarchy, _ code: String) -> [String] {
            let leaf = places.leaf(ofCity: code)
            return (0..<hierarchy.top).map { hierarchy.label($0, Int(hierarchy.levels[$0][leaf])) }
        }
        #expect(labels(residence, "F205") == ["F205", "IT-MI", "IT-25", "ITC"])
        #expect(labels(residence, "A010") == ["IT-MI", "IT-MI", "IT-25", "ITC"])
        #expect(labels(residence, "Z110") == ["Z110", "Z110", "EU", "abroad"])
        #expect(labels(birth, "E608") == ["IT-PV", "IT-25", "ITC", "IT"])
        #expect(labels(birth, "A009").last == "IT")
    }

    @Test(
        "a table with a broken line is not taken",
        arguments: [
            "AF\tcontinent\tWORLD\tAfrica\t\t\t", "AF\tisland\tWORLD\tAfrica\t\t\t\t", "AF\tcontinent\tWORLD\tAfrica\t\t-1\t\t",
            "AF\tcontinent\tWORLD\tAfrica\t\t\t91\t0", "\tabroad\tZ110\t\t\t\t\t",
        ])
    func brokenLines(line: String) {
        let table = "# comment\nWORLD\tworld\t\tMondo\t\t\t\t\n\(line)\n"
        #expect(throws: PlaceTable.Malformed(line: 3)) { try PlaceTable(Array(table.utf8)) }
    }
}
