// Where people are born and live: the municipalities of the installation's country, and foreign countries, by their codes.

import Contracts
import Foundation

/// One place as it is or was called. Italy's codes are Belfiore's, as fiscal codes use them: a letter and three digits, `Z…` for a country
/// abroad.
struct Place: Hashable, Sendable {
    /// The province of everything that is not in the list's country.
    static let abroad = "EE"

    /// 1 to 16 capitals and digits.
    let code: String
    let name: String
    /// Of 1 to 3 characters: a province, or what the country divides itself into.
    let province: String
    /// Of today; empty abroad and for places that the country no longer has.
    let region: String
    let from: String
    /// The last day; empty while it is so.
    let until: String
    /// Of a country; empty else.
    let english: String
    /// For group filters: the country's own name abroad.
    let country: String

    var isAbroad: Bool { province == Place.abroad }
    var isCurrent: Bool { until.isEmpty }
}

/// All places, found by code and by the beginning of a name.
struct PlaceList: Sendable {
    /// Resources that travel with the service, by the country whose list they are.
    static let shipped: [Country.Code: String] = [.italy: "places"]

    struct Malformed: Error, CustomStringConvertible {
        let line: Int
        var description: String { "line \(line) of the place list is not a place" }
    }

    private let byCode: [String: [Place]]
    /// What was chosen from another list before; looked up and no longer offered.
    private let earlier: [String: [Place]]
    private let places: [Place]
    /// The folded names in order, each with its place's index.
    private let names: [(folded: String, index: Int)]

    /// - Parameters:
    ///   - text: tab-separated lines as in `Resources/places.tsv`; those that begin with `#` are left out.
    ///   - country: whose places they are, but for those abroad.
    ///   - before: the list from which people chose until now: who lives at a place that stands there alone still does.
    init(_ text: String, of country: Country = .italy, after before: PlaceList? = nil) throws(Malformed) {
        var places: [Place] = []
        // By bytes: a service is not back before this is read.
        for (number, line) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty && line.first != UInt8(ascii: "#") {
            let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { String(Substring($0)) }
            guard fields.count == 7, Self.isCode(fields[0]), !fields[1].isEmpty, (1...3).contains(fields[2].utf8.count) else {
                throw Malformed(line: number + 1)
            }
            places.append(
                Place(
                    code: fields[0], name: fields[1], province: fields[2], region: fields[3], from: fields[4], until: fields[5],
                    english: fields[6], country: fields[2] == Place.abroad ? fields[1] : country.name))
        }
        self.places = places
        byCode = Dictionary(grouping: places, by: \.code)
        earlier = before?.byCode ?? [:]
        names = places.enumerated().flatMap { index, place in
            [place.name, place.english].filter { !$0.isEmpty }.map { (Self.folded($0), index) }
        }.sorted { $0.folded < $1.folded }
    }

    private static func isCode(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }

    var count: Int { places.count }

    /// As it is called today, or was at last, for what is stored: of the earlier list where this one has none. Nil for a code that no
    /// place has or had.
    func place(_ code: String) -> Place? {
        (byCode[code] ?? earlier[code]).flatMap(Self.newest)
    }

    /// The same of this list alone: what a form may say.
    func offered(_ code: String) -> Place? {
        byCode[code].flatMap(Self.newest)
    }

    private static func newest(_ all: [Place]) -> Place? {
        all.first(where: \.isCurrent) ?? all.max { $0.until < $1.until }
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
