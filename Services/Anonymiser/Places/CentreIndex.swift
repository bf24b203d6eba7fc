// Which municipality a square belongs to: the one whose centre is nearest, since no borders are shipped.

import Contracts
import Foundation

/// Centres of municipalities, found by what is near.
struct CentreIndex: Sendable {
    struct Centre: Hashable, Sendable {
        /// Nil beyond the border.
        let municipality: String?
        /// In degrees (WGS 84).
        let latitude: Double
        let longitude: Double
    }

    /// What is as far from every centre, in km, belongs to none: the sea, and what lies abroad.
    static let farthest = 12.0
    private static let kilometresPerDegree = 111.195

    /// A fifth of a degree each way: up to 57° of latitude no centre nearer than `farthest` is beyond the next tile.
    private struct Tile: Hashable {
        let row: Int
        let column: Int

        init(row: Int, column: Int) {
            (self.row, self.column) = (row, column)
        }

        init(_ latitude: Double, _ longitude: Double) {
            self.init(row: Int((latitude * 5).rounded(.down)), column: Int((longitude * 5).rounded(.down)))
        }
    }

    private let tiles: [Tile: [Centre]]

    init(_ centres: [Centre]) {
        tiles = Dictionary(grouping: centres) { Tile($0.latitude, $0.longitude) }
    }

    /// - Parameter square: of 5 km, by its number in units of 5 km.
    func municipality(ofSquare square: GridCell) -> String? {
        let (x, y) = (Int(square.x) * 5 + 2, Int(square.y) * 5 + 2)
        guard GridCell.bounds.contains(x), GridCell.bounds.contains(y) else { return nil }
        let middle = GridCell(x: Int32(x), y: Int32(y)).middle
        // Beyond the poles.
        guard (-90...90).contains(middle.latitude), (-180...180).contains(middle.longitude) else { return nil }
        return municipality(latitude: middle.latitude, longitude: middle.longitude)
    }

    /// In degrees (WGS 84), each within its bounds. Of two that are as near the first one of the table.
    func municipality(latitude: Double, longitude: Double) -> String? {
        let width = cos(latitude * .pi / 180)
        let tile = Tile(latitude, longitude)
        var (nearest, shortest): (Centre?, Double) = (nil, Self.farthest * Self.farthest)
        for row in tile.row - 1...tile.row + 1 {
            for column in tile.column - 1...tile.column + 1 {
                for centre in tiles[Tile(row: row, column: column)] ?? [] {
                    let north = (centre.latitude - latitude) * Self.kilometresPerDegree
                    let east = (centre.longitude - longitude) * Self.kilometresPerDegree * width
                    let squared = north * north + east * east
                    if squared < shortest { (nearest, shortest) = (centre, squared) }
                }
            }
        }
        return nearest?.municipality
    }
}
