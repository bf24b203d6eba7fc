// The country in which people are made up, out of the public table of places.

import Contracts

struct SyntheticCountry: Sendable {
    let towns: SyntheticTowns
    /// Codes of the places in which a code of a profile lies, from the city up to the world, and whether the city stands for itself.
    let around: @Sendable (String) -> (codes: [String], isLarge: Bool)

    /// - Parameters:
    ///   - leaf: of a code that profiles hold.
    ///   - coordinates: of a municipality, in degrees; one without them is left out.
    init(
        _ catalogue: PlaceCatalogue, leaf: @escaping @Sendable (String) -> Int,
        coordinates: (String) -> (latitude: Double, longitude: Double)?
    ) {
        towns = SyntheticTowns(
            catalogue.leaves.enumerated().compactMap { number, index in
                let place = catalogue.places[index]
                // A leaf that profiles name otherwise, or that stands for many, is nobody's home.
                guard place.level == .city, leaf(place.code) == number, let found = coordinates(place.code),
                    let middle = GridCell(latitude: found.latitude, longitude: found.longitude)
                else { return nil }
                return SyntheticTown(code: place.code, inhabitants: place.population, middle: middle)
            })
        around = { code in
            var index = catalogue.leaves[leaf(code)]
            let city = catalogue.places[index]
            var codes = [city.code]
            while catalogue.places[index].parent != index {
                index = catalogue.places[index].parent
                codes.append(catalogue.places[index].code)
            }
            return (codes, city.level == .city && city.population >= Hierarchy.largeCity)
        }
    }

    init(_ places: GroupPlaces) {
        self.init(places.catalogue, leaf: { places.leaf(ofCity: $0) }, coordinates: { places.coordinates($0) })
    }
}
