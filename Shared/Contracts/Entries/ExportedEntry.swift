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

extension JSONBytes {
    /// Each entry as `exported` writes it without a source, separated by commas.
    package mutating func exported(_ columns: SampleColumns) {
        var opening = EntryOpening(columns.type)
        var ending = JSONBytes()
        if columns.positions.isEmpty {
            ending.literal(",\"unit\":")
            ending.string(columns.type.definition.unit)
        }
        ending.byte("}")
        var time: Int64 = 0
        for index in columns.steps.indices {
            time = time &+ columns.steps[index]
            opening.turn(to: time)
            if index > 0 { byte(",") }
            append(opening.text)
            if columns.positions.isEmpty { number(columns.values[index]) } else { position(columns.positions[index]) }
            append(ending.bytes)
        }
    }
}

/// What stands before the value or position of each of many entries. Neighbours mostly share their minute and all but the last digits of
/// this text.
private struct EntryOpening {
    private let before: [UInt8]
    private let after: StaticString
    private var minute = Int64.min
    private(set) var text: [UInt8] = []
    /// Of the seconds in `text`.
    private var place = 0

    init(_ type: Metric) {
        var json = JSONBytes()
        json.literal("{\"type\":\"")
        json.append(type.code)
        json.literal("\",\"at\":\"")
        before = json.bytes
        after = type.definition.shape == .position ? "\",\"position\":" : "\",\"value\":"
    }

    /// - Parameter time: of the entry, in ms.
    mutating func turn(to time: Int64) {
        let (minute, rest) = time.flooredQuotientAndRemainder(dividingBy: 60_000)
        if minute != self.minute {
            self.minute = minute
            begin(Timestamp(milliseconds: time))
        }
        text.withUnsafeMutableBufferPointer { [place] text in
            func put(_ digit: Int64, at offset: Int) {
                text[place + offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
            }
            // `07.123` of the minute's text.
            put(rest / 10_000, at: 0)
            put(rest / 1000 % 10, at: 1)
            put(rest / 100 % 10, at: 3)
            put(rest / 10 % 10, at: 4)
            put(rest % 10, at: 5)
        }
    }

    private mutating func begin(_ at: Timestamp) {
        var json = JSONBytes(capacity: before.count + 48)
        json.append(before)
        json.time(at)
        place = json.bytes.count - "07.123Z".utf8.count
        json.literal(after)
        text = json.bytes
    }
}
