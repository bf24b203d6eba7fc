// The forms in which a person's data leave and come back.

import Contracts

/// Forms in which a person's data leave and come back (MYD-13).
enum ExchangeFormat: String, CaseIterable, Codable, Sendable {
    case json, ndjson, csv, fhir, gpx

    var mediaType: String {
        switch self {
        case .json: "application/json"
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv"
        case .fhir: "application/fhir+json"
        case .gpx: "application/gpx+xml"
        }
    }

    /// The format that a `Content-Type` without parameters names.
    init?(mediaType: String) {
        guard let format = ExchangeFormat.allCases.first(where: { $0.mediaType == mediaType }) else { return nil }
        self = format
    }

    var fileExtension: String {
        switch self {
        case .fhir: "fhir.json"
        default: rawValue
        }
    }

    /// GPX is for tracks alone.
    func holds(_ metric: Metric) -> Bool {
        self != .gpx || metric == .position
    }
}
