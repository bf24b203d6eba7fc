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

/// A time of which entries are stored and cannot be read any more: from the first of them to the last.
package struct DamagedEntries: Hashable, Codable, Sendable {
    package var type: Metric
    package var from: Timestamp
    package var to: Timestamp

    package init(type: Metric, from: Timestamp, to: Timestamp) {
        (self.type, self.from, self.to) = (type, from, to)
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
    /// Writes the end; nothing comes after. What cannot be read is named where the form has a place for it.
    mutating func finish(without damaged: [DamagedEntries])
}

extension EntryDocument {
    /// The end of a document that lacks nothing.
    package mutating func finish() { finish(without: []) }
}

/// `{"entries":[…]}`, one entry a line: what an upload may be, and what any JSON reader takes. `damaged` follows where there is any.
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

    package mutating func finish(without damaged: [DamagedEntries]) {
        json.literal("\n]")
        if !damaged.isEmpty {
            json.literal(",")
            json.damaged(damaged)
        }
        json.literal("}\n")
    }
}

/// One entry a line, nothing around them; a last line `{"damaged":[…]}` where there is any.
package struct NDJSONEntryDocument: EntryDocument {
    private var json = JSONBytes()

    package init() {}

    package let canEnd = true

    package mutating func add(_ entry: ExportedEntry) {
        json.exported(entry)
        json.byte("\n")
    }

    package mutating func take() -> [UInt8] { json.drain() }

    package mutating func finish(without damaged: [DamagedEntries]) {
        guard !damaged.isEmpty else { return }
        json.literal("{")
        json.damaged(damaged)
        json.literal("}\n")
    }
}

extension JSONBytes {
    /// The member `damaged`.
    fileprivate mutating func damaged(_ damaged: [DamagedEntries]) {
        literal("\"damaged\":[")
        for (place, one) in damaged.enumerated() {
            literal(place == 0 ? "{\"type\":\"" : ",{\"type\":\"")
            append(one.type.code)
            literal("\",\"from\":\"")
            append(one.from.rfc3339)
            literal("\",\"to\":\"")
            append(one.to.rfc3339)
            literal("\"}")
        }
        byte("]")
    }
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
        let isPlaces = !columns.positions.isEmpty
        var ending = JSONBytes()
        if !isPlaces {
            ending.literal(",\"unit\":")
            ending.string(columns.type.definition.unit)
        }
        ending.byte("}")
        // Pointers throughout: whoever takes a byte array in hand for each of a thousand values spends more on that than on the digits.
        ending.bytes.withUnsafeBufferPointer { ending in
            EntryOpening.of(columns.type) { opening in
                let room = opening.room + ending.count + (isPlaces ? JSONPlace.longestPosition : JSONPlace.longestNumber)
                var times = columns.times
                list(columns.count, room: room) { place, index in
                    opening.write(times.next(), to: &place)
                    if isPlaces { place.position(columns.positions[index]) } else { place.number(columns.values[index]) }
                    place.copy(ending)
                }
            }
        }
    }
}

/// What stands before the value or position of each of many entries. Adjacent ones mostly share their minute and all but the last digits of
/// this text.
private struct EntryOpening {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    /// Of what comes before the time.
    private let before: Int
    private let after: StaticString
    /// The time at which the minute of the text begins, in ms.
    private var minute: Int64?
    /// Of the text.
    private var count = 0
    /// Of the seconds in it.
    private var seconds = 0

    /// Bytes of the text at most.
    var room: Int { memory.count }

    /// Lives as long as `body` runs.
    static func of(_ type: Metric, _ body: (inout EntryOpening) -> Void) {
        var start = JSONBytes()
        start.literal("{\"type\":\"")
        start.append(type.code)
        start.literal("\",\"at\":\"")
        let after: StaticString = type.definition.shape == .position ? "\",\"position\":" : "\",\"value\":"
        let room = start.bytes.count + JSONPlace.longestTime + after.utf8CodeUnitCount
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { memory in
            _ = memory.update(fromContentsOf: start.bytes)
            var opening = EntryOpening(memory: memory, before: start.bytes.count, after: after)
            body(&opening)
        }
    }

    private init(memory: UnsafeMutableBufferPointer<UInt8>, before: Int, after: StaticString) {
        (self.memory, self.before, self.after) = (memory, before, after)
    }

    /// - Parameter time: of the entry, in ms.
    mutating func write(_ time: Int64, to place: inout JSONPlace) {
        var rest = minute.map { time &- $0 } ?? -1
        if rest < 0 || rest >= 60_000 {
            rest = time.flooredQuotientAndRemainder(dividingBy: 60_000).remainder
            minute = time &- rest
            begin(Timestamp(milliseconds: time))
        }
        func put(_ digit: Int64, at offset: Int) {
            memory[seconds + offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
        }
        // `07.123` of the minute's text.
        put(rest / 10_000, at: 0)
        put(rest / 1000 % 10, at: 1)
        put(rest / 100 % 10, at: 3)
        put(rest / 10 % 10, at: 4)
        put(rest % 10, at: 5)
        place.copy(UnsafeBufferPointer(rebasing: memory[..<count]))
    }

    private mutating func begin(_ at: Timestamp) {
        guard let start = memory.baseAddress else { return }
        var place = JSONPlace(start + before)
        place.time(at)
        seconds = place.end - start - "07.123Z".utf8.count
        place.literal(after)
        count = place.end - start
    }
}
