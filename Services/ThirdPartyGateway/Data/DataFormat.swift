// The forms in which a person's data go to a third party (CON-54), entry by entry without keeping any.

import Contracts
import Documents

enum DataFormat: String, CaseIterable, Codable, Sendable {
    case json, ndjson, csv, fhir, xml

    var mediaType: String {
        switch self {
        case .json: "application/json"
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv"
        case .fhir: "application/fhir+json"
        case .xml: "application/xml"
        }
    }

    init?(mediaType: String) {
        guard let format = DataFormat.allCases.first(where: { $0.mediaType == mediaType }) else { return nil }
        self = format
    }

    var fileExtension: String { self == .fhir ? "fhir.json" : rawValue }

    /// An empty document of this form.
    /// - Parameter request: whose answer it is.
    func document(of request: RequestID) -> any EntryDocument {
        switch self {
        case .json: JSONEntryDocument()
        case .ndjson: NDJSONEntryDocument()
        case .csv: CSVValueDocument()
        case .fhir: FHIRBundleDocument(of: FHIRSubject(request))
        case .xml: XMLValueDocument()
        }
    }

    /// A whole document.
    func bytes(_ samples: [Sample], of request: RequestID, without damaged: [DamagedEntries] = []) -> [UInt8] {
        var document = document(of: request)
        for sample in samples { document.add(ExportedEntry(sample: sample, source: nil)) }
        document.finish(without: damaged)
        return document.take()
    }
}

/// One value a record under one header; empty cells are what a value does not have. What is damaged has no place in it: a page's header and a
/// file's manifest name it.
struct CSVValueDocument: EntryDocument {
    static let columns = ["type", "at", "value", "unit", "latitude", "longitude", "altitude", "accuracy"]

    private var bytes: [UInt8] = []

    init() {
        CSVWriter.append(Self.columns, to: &bytes)
    }

    let canEnd = true

    mutating func add(_ entry: ExportedEntry) {
        let (sample, place) = (entry.sample, entry.sample.position)
        func number(_ value: Double?) -> String { value.map(PlainDecimal.text) ?? "" }
        CSVWriter.append(
            [
                sample.type.code, sample.at.rfc3339, number(sample.value), sample.value == nil ? "" : sample.type.definition.unit,
                number(place?.latitude), number(place?.longitude), number(place?.altitude), number(place?.accuracy),
            ], to: &bytes)
    }

    mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    mutating func finish(without _: [DamagedEntries]) {}
}

/// `<data><entry type= at= value= unit=/>…</data>`; a position has its parts instead of value and unit. `<damaged type= from= to=/>` come last.
struct XMLValueDocument: EntryDocument {
    private var xml = XMLWriter()

    init() {
        xml.open("data")
    }

    let canEnd = true

    mutating func add(_ entry: ExportedEntry) {
        let sample = entry.sample
        var attributes: [(name: StaticString, value: String)] = [("type", sample.type.code), ("at", sample.at.rfc3339)]
        if let value = sample.value {
            attributes += [("value", PlainDecimal.text(value)), ("unit", sample.type.definition.unit)]
        }
        if let place = sample.position {
            attributes += [("latitude", PlainDecimal.text(place.latitude)), ("longitude", PlainDecimal.text(place.longitude))]
            if let altitude = place.altitude { attributes.append(("altitude", PlainDecimal.text(altitude))) }
            if let accuracy = place.accuracy { attributes.append(("accuracy", PlainDecimal.text(accuracy))) }
        }
        xml.open("entry", attributes)
        xml.close()
    }

    mutating func take() -> [UInt8] { xml.take() }

    mutating func finish(without damaged: [DamagedEntries]) {
        for one in damaged {
            xml.open("damaged", [("type", one.type.code), ("from", one.from.rfc3339), ("to", one.to.rfc3339)])
            xml.close()
        }
        xml.finish()
    }
}

/// Names what cannot be read any more beside a page, in whatever form that is: intervals as ISO 8601 writes them.
enum DamageNotice {
    static let header = "Data-Damaged"
    /// Intervals of one header; the last one then reaches to the end of the last.
    private static let most = 64

    /// Nil where there is none.
    static func text(_ damaged: [DamagedPeriod]) -> String? {
        guard let last = damaged.map(\.to).max() else { return nil }
        return damaged.prefix(most).enumerated().map { place, period in
            "\(period.from.rfc3339)/\((place == most - 1 ? last : period.to).rfc3339)"
        }.joined(separator: ", ")
    }
}

/// What a third party is reminded of with everything that it is given (ORG-21).
enum ResponsibilityNotice {
    static let header = "Data-Responsibility"
    static let text =
        "You answer for these data from now on: keep them secure, use them for the stated purpose alone, disclose them to nobody."
}
