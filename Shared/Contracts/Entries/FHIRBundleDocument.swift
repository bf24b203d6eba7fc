// Entries as Observations in a FHIR R4 Bundle: LOINC, UCUM, and blood pressure as the panel that clinicians expect.

/// A Bundle of type `collection`: first the Patient, who has no name here, then one Observation an entry. A maximum and a minimum
/// of one instant, source and place become one panel (85354-9). Equal entries give equal bytes.
package struct FHIRBundleDocument: EntryDocument {
    private static let patient = "urn:uuid:00000000-0000-8000-8000-000000000001"

    private var json = JSONBytes()
    /// Half of a blood pressure that waits for the other.
    private var half: ExportedEntry?

    package init() {
        json.literal("{\"resourceType\":\"Bundle\",\"type\":\"collection\",\"entry\":[\n{\"fullUrl\":\"")
        json.append(Self.patient)
        json.literal("\",\"resource\":{\"resourceType\":\"Patient\",\"active\":true}}")
    }

    /// Not between the two halves of a blood pressure.
    package var canEnd: Bool { half == nil }

    package mutating func add(_ entry: ExportedEntry) {
        guard entry.sample.type == .bloodPressureMax || entry.sample.type == .bloodPressureMin else {
            flush()
            return single(entry)
        }
        if let other = half, Self.isPair(other, entry) {
            half = nil
            return panel(other, entry)
        }
        flush()
        half = entry
    }

    package mutating func take() -> [UInt8] { json.drain() }

    package mutating func finish() {
        flush()
        json.literal("\n]}\n")
    }

    private mutating func flush() {
        if let half { single(half) }
        half = nil
    }

    private static func isPair(_ one: ExportedEntry, _ other: ExportedEntry) -> Bool {
        one.sample.type != other.sample.type && one.sample.at == other.sample.at && one.source == other.source
            && one.sample.position == other.sample.position
    }

    // MARK: Resources

    private mutating func single(_ entry: ExportedEntry) {
        let metric = entry.sample.type
        begin(entry, variant: 0)
        json.literal(",\"code\":")
        json.concept(of: metric)
        common(entry)
        if let value = entry.sample.value {
            json.literal(",\"valueQuantity\":")
            json.quantity(value, metric.definition.unit)
        } else if let position = entry.sample.position {
            json.components(of: position)
        }
        if entry.sample.value != nil { place(entry) }
        json.literal("}}")
    }

    private mutating func panel(_ one: ExportedEntry, _ other: ExportedEntry) {
        let (most, least) = one.sample.type == .bloodPressureMax ? (one, other) : (other, one)
        begin(most, variant: 1)
        json.literal(",\"code\":{\"coding\":[{\"system\":\"")
        json.append(FHIRCodes.loinc)
        json.literal("\",\"code\":\"")
        json.append(FHIRCodes.pressurePanel)
        json.literal("\",\"display\":\"Blood pressure panel with all children optional\"}],\"text\":\"Blood pressure\"}")
        common(most)
        json.literal(",\"component\":[")
        for (index, part) in [most, least].enumerated() {
            if index > 0 { json.byte(",") }
            json.literal("{\"code\":")
            json.concept(of: part.sample.type)
            json.literal(",\"valueQuantity\":")
            json.quantity(part.sample.value ?? 0, part.sample.type.definition.unit)
            json.byte("}")
        }
        json.byte("]")
        place(most)
        json.literal("}}")
    }

    private mutating func begin(_ entry: ExportedEntry, variant: Int64) {
        let category = FHIRCodes.category(of: entry.sample.type)
        json.literal(",\n{\"fullUrl\":\"")
        json.append(Self.name(of: entry.sample, variant: variant))
        json.literal("\",\"resource\":{\"resourceType\":\"Observation\",\"status\":\"final\",\"category\":[{\"coding\":[{\"system\":\"")
        json.append(FHIRCodes.category)
        json.literal("\",\"code\":\"")
        json.append(category.code)
        json.literal("\",\"display\":\"")
        json.append(category.display)
        json.literal("\"}]}]")
    }

    private mutating func common(_ entry: ExportedEntry) {
        json.literal(",\"subject\":{\"reference\":\"")
        json.append(Self.patient)
        json.literal("\"},\"effectiveDateTime\":\"")
        json.append(entry.sample.at.rfc3339)
        json.byte("\"")
        if let source = entry.source {
            json.literal(",\"device\":{\"display\":\"")
            json.append(source.text)
            json.literal("\"}")
        }
    }

    private mutating func place(_ entry: ExportedEntry) {
        guard let position = entry.sample.position else { return }
        json.literal(",\"extension\":[{\"url\":\"")
        json.append(FHIRCodes.position)
        json.literal("\",\"extension\":[")
        for (index, part) in position.parts.enumerated() {
            if index > 0 { json.byte(",") }
            json.literal("{\"url\":\"")
            json.append(part.name.rawValue)
            json.literal("\",\"valueDecimal\":")
            json.number(part.value)
            json.byte("}")
        }
        json.literal("]}]")
    }

    /// A UUID of version 8 made from the metric and the time: unique in the bundle, the same in every export.
    package static func name(of sample: Sample, variant: Int64) -> String {
        func hex(_ value: Int64, _ width: Int) -> String {
            let digits = String(UInt64(bitPattern: value), radix: 16)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits.suffix(width)
        }
        let time = hex(sample.at.milliseconds, 12)
        return "urn:uuid:\(time.prefix(8))-\(time.suffix(4))-8\(hex(Int64(sample.type.number), 3))-8\(hex(variant, 3))-747261636b6d"
    }
}

extension Position {
    /// The parts that are known, in a fixed order.
    fileprivate var parts: [(name: FHIRCodes.Part, value: Double)] {
        [(.latitude, latitude), (.longitude, longitude)] + (altitude.map { [(.altitude, $0)] } ?? [])
            + (accuracy.map { [(.accuracy, $0)] } ?? [])
    }
}

extension JSONBytes {
    fileprivate mutating func concept(of metric: Metric) {
        let definition = metric.definition
        literal("{\"coding\":[")
        for loinc in FHIRCodes.loincs(of: metric) {
            literal("{\"system\":\"")
            append(FHIRCodes.loinc)
            literal("\",\"code\":\"")
            append(loinc)
            literal("\"},")
        }
        literal("{\"system\":\"")
        append(FHIRCodes.metrics)
        literal("\",\"code\":\"")
        append(definition.code)
        literal("\"}],\"text\":")
        string(definition.english)
        byte("}")
    }

    fileprivate mutating func quantity(_ value: Double, _ unit: String) {
        literal("{\"value\":")
        number(value)
        literal(",\"unit\":")
        string(unit)
        literal(",\"system\":\"")
        append(FHIRCodes.ucum)
        literal("\",\"code\":")
        string(unit)
        byte("}")
    }

    fileprivate mutating func components(of position: Position) {
        literal(",\"component\":[")
        for (index, part) in position.parts.enumerated() {
            if index > 0 { byte(",") }
            literal("{\"code\":{\"coding\":[{\"system\":\"")
            append(FHIRCodes.metrics)
            literal("\",\"code\":\"")
            append(part.name.rawValue)
            literal("\"}]},\"valueQuantity\":")
            quantity(part.value, part.name.unit)
            byte("}")
        }
        byte("]")
    }
}
