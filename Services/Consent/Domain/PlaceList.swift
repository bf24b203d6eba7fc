// Where people are born and live: Italian municipalities and foreign countries, by the codes that a fiscal code uses.

import Contracts
import Foundation

/// One place as it is or was called. The code is Belfiore's: a letter and three digits, `Z…` for a country abroad.
struct Place: Hashable, Sendable {
    /// The province of everything that is not in Italy.
    static let abroad = "EE"

    let code: String
    let name: String
    /// Two letters.
    let province: String
    /// Of today; empty abroad and for places that Italy no longer has.
    let region: String
    let from: String
    /// The last day; empty while it is so.
    let until: String
    /// Of a country; empty else.
    let english: String

    var isAbroad: Bool { province == Place.abroad }
    var isCurrent: Bool { until.isEmpty }
    /// For group filters: the country's own name abroad.
    var country: String { isAbroad ? name : "Italia" }
}

/// All places, found by code and by the beginning of a name.
struct PlaceList: Sendable {
    struct Malformed: Error, CustomStringConvertible {
        let line: Int
        var description: String { "line \(line) of the place list is not a place" }
    }

    private let byCode: [String: [Place]]
    private let places: [Place]
    /// The folded names in order, each with its place's index.
    private let names: [(folded: String, index: Int)]

    /// - Parameter text: tab-separated lines as in `Resources/places.tsv`; those that begin with `#` are left out.
    init(_ text: String) throws(Malformed) {
        var places: [Place] = []
        // By bytes: a service is not back before this is read.
        for (number, line) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty && line.first != UInt8(ascii: "#") {
            let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { String(Substring($0)) }
            guard fields.count == 7, fields[0].utf8.count == 4, !fields[1].isEmpty else { throw Malformed(line: number + 1) }
            places.append(
                Place(
                    code: fields[0], name: fields[1], province: fields[2], region: fields[3], from: fields[4], until: fields[5],
                    english: fields[6]))
        }
        self.places = places
        byCode = Dictionary(grouping: places, by: \.code)
        names = places.enumerated().flatMap { index, place in
            [place.name, place.english].filter { !$0.isEmpty }.map { (Self.folded($0), index) }
        }.sorted { $0.folded < $1.folded }
    }

    var count: Int { places.count }

    /// As it is called today, or was at last; nil for a code that no place has or had.
    func place(_ code: String) -> Place? {
        guard let all = byCode[code] else { return nil }
        return all.first(where: \.isCurrent) ?? all.max { $0.until < $1.until }
    }

    /// Places whose name, or a country's English name, begins so, in the order of names; marks and case do not count.
    /// - Parameter pastToo: those that are no more, for births.
    func search(_ prefix: String, pastToo: Bool, limit: Int) -> [Place] {
        let wanted = Self.folded(prefix.trimmed)
        var low = 0
        var high = names.count
        while low < high {
            let middle = (low + high) / 2
            if names[middle].folded < wanted { low = middle + 1 } else { high = middle }
        }
        var found: [Place] = []
        var seen: Set<Int> = []
        for name in names[low...] {
            guard name.folded.hasPrefix(wanted), found.count < limit else { break }
            let place = places[name.index]
            if pastToo || place.isCurrent, seen.insert(name.index).inserted { found.append(place) }
        }
        return found
    }

    private static func folded(_ name: String) -> String {
        // Most names; the general way takes ten times as long.
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
        return name.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil).replacing("’", with: "'")
    }
}
