// Entries as a table (CSV), and positions as a track (GPX 1.1).

import Contracts
import Documents

/// One entry a record under one header; empty cells are what an entry does not have.
struct CSVEntryDocument: EntryDocument {
    /// The names by which a header is read again.
    static let columns = ["type", "at", "value", "unit", "latitude", "longitude", "altitude", "accuracy", "source"]

    private var bytes: [UInt8] = []

    init() {
        CSVWriter.append(Self.columns, to: &bytes)
    }

    let canEnd = true

    mutating func add(_ entry: ExportedEntry) {
        let sample = entry.sample
        let place = sample.position
        func number(_ value: Double?) -> String { value.map(PlainDecimal.text) ?? "" }
        CSVWriter.append(
            [
                sample.type.code, sample.at.rfc3339, number(sample.value), sample.value == nil ? "" : sample.type.definition.unit,
                number(place?.latitude), number(place?.longitude), number(place?.altitude), number(place?.accuracy),
                entry.source?.text ?? "",
            ], to: &bytes)
    }

    mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    mutating func finish(without _: [DamagedEntries]) {}
}

/// Positions alone; what else was measured has other forms.
struct GPXEntryDocument: EntryDocument {
    private var gpx = GPXWriter(creator: "TrackMe")

    init() {}

    let canEnd = true

    mutating func add(_ entry: ExportedEntry) {
        if let position = entry.sample.position { gpx.add(position, at: entry.sample.at) }
    }

    mutating func take() -> [UInt8] { gpx.take() }

    mutating func finish(without _: [DamagedEntries]) {
        gpx.finish()
    }
}

extension ExchangeFormat {
    /// An empty document of this form.
    func document(of subject: FHIRSubject) -> any EntryDocument {
        switch self {
        case .json: JSONEntryDocument()
        case .ndjson: NDJSONEntryDocument()
        case .csv: CSVEntryDocument()
        case .fhir: FHIRBundleDocument(of: subject)
        case .gpx: GPXEntryDocument()
        }
    }
}
