// A small country and people who live in it.

import TestKit

@testable import Anonymiser

enum Samples {
    /// 2 macro-areas × 2 regions × 2 provinces × 3 cities in Italy, one of each three large; France and Japan abroad.
    static let places: PlaceCatalogue = {
        var rows = [
            PlaceRow(code: "world", level: .world, parent: nil, population: 0),
            PlaceRow(code: "EU", level: .continent, parent: "world", population: 0),
            PlaceRow(code: "AS", level: .continent, parent: "world", population: 0),
            PlaceRow(code: "IT", level: .country, parent: "EU", population: 0),
            PlaceRow(code: "FR", level: .country, parent: "EU", population: 0),
            PlaceRow(code: "JP", level: .country, parent: "AS", population: 0),
        ]
        for area in 0..<2 {
            rows.append(PlaceRow(code: "A\(area)", level: .macroArea, parent: "IT", population: 0))
            for region in 0..<2 {
                let code = "R\(area)\(region)"
                rows.append(PlaceRow(code: code, level: .region, parent: "A\(area)", population: 0))
                for province in 0..<2 {
                    let inner = "P\(area)\(region)\(province)"
                    rows.append(PlaceRow(code: inner, level: .province, parent: code, population: 0))
                    for city in 0..<3 {
                        rows.append(
                            PlaceRow(
                                code: "C\(area)\(region)\(province)\(city)", level: .city, parent: inner,
                                population: city == 0 ? 90_000 : 5000))
                    }
                }
            }
        }
        guard let catalogue = try? PlaceCatalogue(rows) else { preconditionFailure("the sample is a tree") }
        return catalogue
    }()

    static let catalogue = RequestCatalogue(places: places, areas: ["parco-sempione"])

    /// A day of 2026, since 1970.
    static let today = 20_500

    static func row(_ generator: inout SeededGenerator) -> PersonRow {
        PersonRow(
            age: Int.random(in: 0...99, using: &generator), weight: Int.random(in: 25...210, using: &generator),
            height: Int.random(in: 95...225, using: &generator),
            sex: [.female, .male, .female, .male, .female, .male, .other, nil].randomElement(using: &generator) ?? nil,
            occupation: Occupation.allCases.randomElement(using: &generator) ?? .employed,
            residence: Int.random(in: 0..<places.leaves.count, using: &generator),
            birthPlace: Int.random(in: 0..<places.leaves.count, using: &generator),
            shares: Set(GroupDataType.allCases.filter { _ in Int.random(in: 0..<10, using: &generator) > 0 }),
            isEligible: Int.random(in: 0..<20, using: &generator) > 0)
    }

    static func request(_ change: (inout TypedGroupRequest) -> Void = { _ in }) -> TypedGroupRequest {
        let day: Int64 = 86_400_000
        var typed = TypedGroupRequest(
            age: TypedInterval(from: 20, to: 40), types: ["heart-rate"], from: Int64(today - 30) * day, to: Int64(today - 20) * day,
            granularity: "day")
        change(&typed)
        return typed
    }

    static func read(_ typed: TypedGroupRequest, _ policy: AnonymityPolicy = AnonymityPolicy()) throws(GroupRequestFaults) -> GroupRequest {
        try typed.read(catalogue, policy, closedUntil: today * TimeSpan.perDay)
    }

    static func filters(_ change: (inout TypedGroupRequest) -> Void) throws -> GroupFilters {
        try read(request(change)).filters
    }
}
