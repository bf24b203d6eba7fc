// The list of places that travels with consent, and how it is searched.

import Testing

@testable import Consent

struct PlaceListTests {
    private let places: PlaceList

    init() throws {
        places = try AccountModule.shippedPlaces()
    }

    @Test("ACC-F: a municipality comes with province, region and country")
    func municipality() throws {
        let rome = try #require(places.place("H501"))
        #expect((rome.name, rome.province, rome.region, rome.country) == ("Roma", "RM", "Lazio", "Italia"))
        #expect(rome.isCurrent && !rome.isAbroad)
    }

    @Test("ACC-F: a foreign country is a place, found by its Italian and English name")
    func country() throws {
        let germany = try #require(places.place("Z112"))
        #expect(germany.isAbroad && germany.country == "Germania" && germany.region.isEmpty)
        #expect(places.search("germani", pastToo: false, limit: 10).map(\.code) == ["Z112"])
        #expect(places.search("GERMANY", pastToo: false, limit: 10).map(\.code) == ["Z112"])
    }

    @Test("ACC-F: places that are no more are offered for births alone")
    func past() {
        let names = places.search("Abbadia Alpina", pastToo: true, limit: 10).map(\.name)
        #expect(names == ["Abbadia Alpina"])
        #expect(places.search("Abbadia Alpina", pastToo: false, limit: 10).isEmpty)
        #expect(places.place("A003")?.isCurrent == false)
    }

    @Test("ACC-F: marks, case and spaces around do not count, and the limit holds")
    func searching() {
        #expect(places.search(" forlì ", pastToo: false, limit: 5).first?.name == "Forlì")
        #expect(places.search("forli", pastToo: false, limit: 5).first?.name == "Forlì")
        let many = places.search("sa", pastToo: true, limit: 7)
        #expect(many.count == 7 && many.allSatisfy { $0.name.lowercased().hasPrefix("sa") })
        #expect(places.search("zzzz", pastToo: true, limit: 5).isEmpty)
    }

    @Test("ACC-F: the whole list is there, each of its codes leads to a place, and each Italian municipality of today has a region")
    func whole() {
        #expect(places.count > 14_000)
        let all = "abcdefghijklmnopqrstuvwxyz".flatMap { places.search(String($0), pastToo: true, limit: 100_000) }
        #expect(all.count > 14_000)
        #expect(all.allSatisfy { places.place($0.code) != nil })
        #expect(all.filter { $0.isCurrent && !$0.isAbroad }.allSatisfy { !$0.region.isEmpty })
        #expect(Set(all.filter { $0.isCurrent && !$0.isAbroad }.map(\.region)).count == 20)
    }

    @Test("A damaged list is refused with its line", arguments: ["# ok\nH501\tRoma", "H501\tRoma\tRM\tLazio\t\t\t\nH-01\tX\tRM\t\t\t\t"])
    func damaged(_ text: String) {
        #expect(throws: PlaceList.Malformed.self) { try PlaceList(text) }
    }
}
