// The global grid of squares in which places of group data are counted; nothing finer is ever said of a group (ANO-10).

import Foundation

/// A square of 1 km of the sinusoidal grid: `y` counts rows north of the equator, `x` columns east of Greenwich along the middle of the
/// row, so that squares have nearly the same area everywhere.
package struct GridCell: Hashable, Comparable, Codable, Sendable {
    /// Length of a degree of a great circle, by the Earth's mean radius of 6,371.0088 km (IUGG).
    private static let kilometresPerDegree = 111.195_080_2
    /// Beyond these there is no Earth.
    package static let bounds = -40_100...40_100

    package let x: Int32
    package let y: Int32

    package init(x: Int32, y: Int32) {
        (self.x, self.y) = (x, y)
    }

    /// The square that holds a place, in degrees (WGS 84). Nil beyond ±90° and ±180°, and for what is no number.
    package init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        let row = (latitude * Self.kilometresPerDegree).rounded(.down)
        let middle = (row + 0.5) / Self.kilometresPerDegree
        let column = (longitude * Self.kilometresPerDegree * cos(middle * .pi / 180)).rounded(.down)
        self.init(x: Int32(column), y: Int32(row))
    }

    /// The place in its middle, in degrees (WGS 84). Of what is no square of the Earth it lies beyond ±90° or ±180°; of a square that
    /// reaches across ±180° it may.
    package var middle: (latitude: Double, longitude: Double) {
        let latitude = (Double(y) + 0.5) / Self.kilometresPerDegree
        return (latitude, (Double(x) + 0.5) / (Self.kilometresPerDegree * cos(latitude * .pi / 180)))
    }

    package static func < (one: GridCell, other: GridCell) -> Bool { (one.x, one.y) < (other.x, other.y) }
}
