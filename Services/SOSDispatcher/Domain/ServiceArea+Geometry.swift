// Whether a place lies in an area, how large the area is and how far away: good enough to choose whom to call, nothing more.

import Contracts
import Foundation

extension ServiceArea {
    private static let earthRadiusKm = 6371.0
    static let mostCorners = 500
    static let radii = 0.1...20_000.0

    var isEverywhere: Bool { circle == nil && polygon == nil }

    /// What is wrong with it, for whoever registers it; nil where nothing is.
    var fault: String? {
        if circle != nil, polygon != nil { return "an area is a circle or a polygon, not both" }
        if let circle {
            guard circle.centre.isOnEarth else { return "the centre of the circle is not on Earth" }
            guard ServiceArea.radii.contains(circle.radiusKm) else { return "the radius is from 0.1 to 20000 km" }
        }
        if let polygon {
            guard (3...ServiceArea.mostCorners).contains(polygon.count) else { return "a polygon has 3 to 500 corners" }
            guard polygon.allSatisfy(\.isOnEarth) else { return "a corner of the polygon is not on Earth" }
            guard ServiceArea.hasInside(ServiceArea.unwound(polygon)) else { return "the polygon has no inside" }
        }
        return nil
    }

    /// Whether the place lies in it. A polygon may cross the 180th meridian; none holds a pole.
    func contains(_ place: Corner) -> Bool {
        if let circle { return ServiceArea.distanceKm(circle.centre, place) <= circle.radiusKm }
        guard let corners = polygon.map(ServiceArea.unwound) else { return true }
        return [0.0, 360, -360].contains { ServiceArea.isInside(corners, place.latitude, place.longitude + $0) }
    }

    /// The smaller, the more specific; infinite where it is everywhere.
    var squareKm: Double {
        if let circle { return .pi * circle.radiusKm * circle.radiusKm }
        guard let corners = polygon.map(ServiceArea.unwound) else { return .infinity }
        // The area on a sphere between each edge and the pole, with signs.
        var doubled = 0.0
        for (one, next) in zip(corners, corners.dropFirst() + corners.prefix(1)) {
            doubled +=
                (next.longitude - one.longitude) * .pi / 180 * (2 + sin(one.latitude * .pi / 180) + sin(next.latitude * .pi / 180))
        }
        return abs(doubled) / 2 * ServiceArea.earthRadiusKm * ServiceArea.earthRadiusKm
    }

    /// From the circle's edge or the nearest corner; 0 where it is everywhere.
    func distanceKm(to place: Corner) -> Double {
        if let circle { return max(0, ServiceArea.distanceKm(circle.centre, place) - circle.radiusKm) }
        guard let polygon, !polygon.isEmpty else { return 0 }
        return polygon.map { ServiceArea.distanceKm($0, place) }.min() ?? 0
    }

    /// Along the great circle.
    static func distanceKm(_ one: Corner, _ other: Corner) -> Double {
        let (latitude, otherLatitude) = (one.latitude * .pi / 180, other.latitude * .pi / 180)
        let (byLatitude, byLongitude) = (otherLatitude - latitude, (other.longitude - one.longitude) * .pi / 180)
        let half =
            sin(byLatitude / 2) * sin(byLatitude / 2) + cos(latitude) * cos(otherLatitude) * sin(byLongitude / 2) * sin(byLongitude / 2)
        return 2 * earthRadiusKm * asin(min(1, half.squareRoot()))
    }

    /// Each corner less than half a turn from the one before, so that no edge goes round the back of the Earth.
    private static func unwound(_ corners: [Corner]) -> [Corner] {
        var unwound: [Corner] = []
        for corner in corners {
            var corner = corner
            if let last = unwound.last {
                while corner.longitude - last.longitude > 180 { corner.longitude -= 360 }
                while corner.longitude - last.longitude < -180 { corner.longitude += 360 }
            }
            unwound.append(corner)
        }
        return unwound
    }

    /// Whether the corners do not all lie in one line.
    private static func hasInside(_ corners: [Corner]) -> Bool {
        let doubled = zip(corners, corners.dropFirst() + corners.prefix(1)).reduce(0.0) { sum, edge in
            sum + edge.0.longitude * edge.1.latitude - edge.1.longitude * edge.0.latitude
        }
        return abs(doubled) > 1e-9
    }

    /// Counts the edges that a ray to the east crosses.
    private static func isInside(_ corners: [Corner], _ latitude: Double, _ longitude: Double) -> Bool {
        var isInside = false
        for (one, next) in zip(corners, corners.dropFirst() + corners.prefix(1))
        where (one.latitude > latitude) != (next.latitude > latitude) {
            let crossing =
                one.longitude + (latitude - one.latitude) / (next.latitude - one.latitude) * (next.longitude - one.longitude)
            if longitude < crossing { isInside.toggle() }
        }
        return isInside
    }
}

extension ServiceArea.Corner {
    var isOnEarth: Bool { (-90...90).contains(latitude) && (-180...180).contains(longitude) }
}
