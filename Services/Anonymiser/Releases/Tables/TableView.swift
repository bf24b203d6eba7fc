// A table as one organisation sees it: entries under handles and in an order of its own, the same ones for ever.

import Contracts
import Sealing

/// Derived from a key that is drawn once for an organisation and a table: nothing of it says anything to another organisation.
struct TableView: Sendable {
    let key: SymmetricKey

    /// All entries of the table, the classes mixed. Statistics have public cells, which have no handles and stand in their own order.
    func entries(_ table: StoredTable) -> [GroupEntry] {
        let (from, to) = (Timestamp(quarter: table.bucket.start), Timestamp(quarter: table.bucket.end))
        func entry(_ labels: [String], _ values: [Int], individuals: Int) -> GroupEntry {
            GroupEntry(
                id: nil, type: table.type.code, from: from, to: to, classes: Self.classes(table.attributes, labels), values: values,
                individuals: individuals)
        }
        switch table.content {
        case .records(let classes):
            return mixed(
                classes.flatMap { one in
                    stride(from: 0, to: one.values.count, by: max(1, table.components)).map { start in
                        entry(one.labels, Array(one.values[start..<start + table.components]), individuals: table.fewest)
                    }
                })
        case .positions(let places):
            return mixed(
                places.map { place in
                    var counted = entry([], [], individuals: place.people)
                    (counted.place, counted.isRest) = (place.cell.label, place.isRest)
                    return counted
                })
        case .statistics(let cells):
            return cells.map { cell in
                var published = entry(cell.labels, cell.means, individuals: cell.count)
                (published.countError, published.valueErrors) = (cell.countError * 1000, cell.meanErrors)
                return published
            }
        }
    }

    /// A class that is everybody is not named.
    private static func classes(_ attributes: [PersonAttribute], _ labels: [String]) -> [String: String] {
        var classes: [String: String] = [:]
        for (attribute, label) in zip(attributes, labels) where label != Hierarchy.anything { classes[attribute.code] = label }
        return classes
    }

    /// Half of a keyed digest of its place in the table is an entry's handle, and the other half says where it stands.
    private func mixed(_ entries: [GroupEntry]) -> [GroupEntry] {
        let digests = entries.indices.map { Digest.hmacSHA256(Array("entry \($0)".utf8), key: key) }
        let order = entries.indices.sorted { digests[$0][16...].lexicographicallyPrecedes(digests[$1][16...]) }
        return order.map { index in
            var entry = entries[index]
            entry.id = Self.hexadecimal(digests[index][..<16])
            return entry
        }
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension LocationCell {
    /// On the wire: `1km:9000:12` and `5km:1800:2` by column and row of the grid, else the code of the catalogue.
    var label: String {
        switch self {
        case .kilometre(let cell): "1km:\(cell.x):\(cell.y)"
        case .fiveKilometres(let cell): "5km:\(cell.x):\(cell.y)"
        case .municipality(let code), .province(let code): code
        }
    }
}
