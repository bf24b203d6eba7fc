// One entry with everything that belongs to it (ING-03), as it leaves the suite, and the forms in which it can.

/// Where an entry came from.
package enum EntrySource: Hashable, Sendable {
    case device(DeviceID)
    case manual
    case imported
    /// The device is no longer known here.
    case unknown

    /// As it is written.
    package var text: String {
        switch self {
        case .device(let device): device.description
        case .manual: "manual"
        case .imported: "import"
        case .unknown: "unknown"
        }
    }
}

/// The owner is whoever's data they are.
package struct ExportedEntry: Hashable, Sendable {
    package var sample: Sample
    /// Nil where whoever reads it is not told.
    package var source: EntrySource?

    package init(sample: Sample, source: EntrySource?) {
        (self.sample, self.source) = (sample, source)
    }
}

/// A document under construction: entries go in, bytes come out, nothing is kept. Entries come metric by metric in order of time;
/// maximum and minimum of a blood pressure come together.
package protocol EntryDocument: Sendable {
    mutating func add(_ entry: ExportedEntry)
    /// Whether the document may end here and another one go on.
    var canEnd: Bool { get }
    /// What was written since the last call.
    mutating func take() -> [UInt8]
    /// Writes the end; nothing comes after.
    mutating func finish()
}

/// `{"entries":[…]}`, one entry a line: what an upload may be, and what any JSON reader takes.
package struct JSONEntryDocument: EntryDocument {
    private var json = JSONBytes()
    private var isFirst = true

    package init() {
        json.literal("{\"entries\":[")
    }

    package let canEnd = true

    package mutating func add(_ entry: ExportedEntry) {
        if isFirst { json.literal("\n") } else { json.literal(",\n") }
        isFirst = false
        json.exported(entry)
    }

    package mutating func take() -> [UInt8] { json.drain() }

    package mutating func finish() {
        json.literal("\n]}\n")
    }
}

/// One entry a line, nothing around them.
package struct NDJSONEntryDocument: EntryDocument {
    private var json = JSONBytes()

    package init() {}

    package let canEnd = true

    package mutating func add(_ entry: ExportedEntry) {
        json.exported(entry)
        json.byte("\n")
    }

    package mutating func take() -> [UInt8] { json.drain() }

    package mutating func finish() {}
}

extension JSONBytes {
    /// One object, without a line end.
    package mutating func exported(_ entry: ExportedEntry) {
        let sample = entry.sample
        literal("{\"type\":\"")
        append(sample.type.code)
        literal("\",\"at\":\"")
        time(sample.at)
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
        if let source = entry.source {
            literal(",\"source\":\"")
            append(source.text)
            byte("\"")
        }
        byte("}")
    }
}
