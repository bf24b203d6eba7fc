// The lines of `Resources/group-places.tsv`, read once at the start.

extension PlaceLevel {
    /// As it is called on the wire and in the table.
    var code: String {
        switch self {
        case .world: "world"
        case .continent: "continent"
        case .country: "country"
        case .macroArea: "macro-area"
        case .region: "region"
        case .province: "province"
        case .city: "city"
        }
    }
}

/// What the public table of places says.
struct PlaceTable: Sendable {
    struct Malformed: Error, Hashable, CustomStringConvertible {
        let line: Int
        var description: String { "line \(line) of the table of places is not a place" }
    }

    struct Entry: Sendable {
        let row: PlaceRow
        let name: String
        /// English, or of a second language; empty where there is none.
        let otherName: String
    }

    /// The tree.
    private(set) var entries: [Entry] = []
    /// By code of a municipality that is no more: the code of its leaf.
    private(set) var former: [String: String] = [:]
    private(set) var centres: [CentreIndex.Centre] = []

    private static let levels = Dictionary(uniqueKeysWithValues: PlaceLevel.allCases.map { ($0.code, $0) })

    /// - Parameter bytes: tab-separated lines in UTF-8; those that begin with `#` are left out.
    init(_ bytes: [UInt8]) throws(Malformed) {
        // By bytes: the service is not back before this is read.
        for (number, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty && line.first != UInt8(ascii: "#") {
            let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            guard fields.count == 8, add(fields) else { throw Malformed(line: number + 1) }
        }
    }

    /// Whether the line says something.
    private mutating func add(_ fields: [String]) -> Bool {
        let (code, kind, parent) = (fields[0], fields[1], fields[2])
        switch kind {
        case "past":
            return former.updateValue(parent, forKey: code) == nil
        case "abroad":
            return addCentre(of: nil, fields)
        default:
            guard let level = Self.levels[kind], !code.isEmpty, !fields[3].isEmpty else { return false }
            guard let people = fields[5].isEmpty ? 0 : Int(fields[5]), people >= 0 else { return false }
            let row = PlaceRow(code: code, level: level, parent: parent.isEmpty ? nil : parent, population: people)
            entries.append(Entry(row: row, name: fields[3], otherName: fields[4]))
            return fields[6].isEmpty || addCentre(of: code, fields)
        }
    }

    private mutating func addCentre(of municipality: String?, _ fields: [String]) -> Bool {
        guard let latitude = Double(fields[6]), let longitude = Double(fields[7]) else { return false }
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return false }
        centres.append(CentreIndex.Centre(municipality: municipality, latitude: latitude, longitude: longitude))
        return true
    }
}
