// One entry with everything that belongs to it (ING-03), as it leaves the suite, and the forms in which it can.

import Contracts

/// Where an entry came from.
enum EntrySource: Hashable, Sendable {
    case device(DeviceID)
    case manual
    case imported
    /// The device is no longer known here.
    case unknown

    /// As it is written.
    var text: String {
        switch self {
        case .device(let device): device.description
        case .manual: "manual"
        case .imported: "import"
        case .unknown: "unknown"
        }
    }
}

/// The owner is whoever's export it is.
struct ExportedEntry: Hashable, Sendable {
    var sample: Sample
    var source: EntrySource
}

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

/// A document under construction: entries go in, bytes come out, nothing is kept. Entries come metric by metric in order of time;
/// maximum and minimum of a blood pressure come together.
protocol EntryDocument: Sendable {
    mutating func add(_ entry: ExportedEntry)
    /// Whether the document may end here and another one go on.
    var canEnd: Bool { get }
    /// What was written since the last call.
    mutating func take() -> [UInt8]
    /// Writes the end; nothing comes after.
    mutating func finish()
}

/// `{"entries":[…]}`, one entry a line: what an upload may be, and what any JSON reader takes.
struct JSONEntryDocument: EntryDocument {
    private var json = JSONBytes()
    private var isFirst = true

    init() {
        json.literal("{\"entries\":[")
    }

    let canEnd = true

    mutating func add(_ entry: ExportedEntry) {
        if isFirst { json.literal("\n") } else { json.literal(",\n") }
        isFirst = false
        json.exported(entry)
    }

    mutating func take() -> [UInt8] { json.drain() }

    mutating func finish() {
        json.literal("\n]}\n")
    }
}

/// One entry a line, nothing around them.
struct NDJSONEntryDocument: EntryDocument {
    private var json = JSONBytes()

    let canEnd = true

    mutating func add(_ entry: ExportedEntry) {
        json.exported(entry)
        json.byte("\n")
    }

    mutating func take() -> [UInt8] { json.drain() }

    mutating func finish() {}
}

extension JSONBytes {
    /// Gives what was written and begins anew.
    mutating func drain() -> [UInt8] {
        defer { self = JSONBytes(capacity: 1 << 12) }
        return bytes
    }

    mutating func exported(_ entry: ExportedEntry) {
        let sample = entry.sample
        literal("{\"type\":\"")
        append(sample.type.code)
        literal("\",\"at\":\"")
        append(sample.at.rfc3339)
        byte("\"")
        if let value = sample.value {
            literal(",\"value\":")
            number(value)
            literal(",\"unit\":")
            string(sample.type.definition.unit)
        }
        if let position = sample.position {
            literal(",\"position\":")
            self.position(position)
        }
        literal(",\"source\":\"")
        append(entry.source.text)
        literal("\"}")
    }
}
