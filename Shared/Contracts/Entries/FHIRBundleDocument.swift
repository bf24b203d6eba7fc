// Entries as Observations in a FHIR R4 Bundle: LOINC, UCUM, and blood pressure as the panel that clinicians expect.

/// Whose entries a Bundle holds: a pseudonym for one purpose. Bundles of one subject name the same Patient, those of two never do.
package struct FHIRSubject: Hashable, Sendable {
    /// 128 random bits, or as good as random.
    fileprivate let bits: UInt128
    /// Of the Patient's identifier.
    fileprivate let system: String
    fileprivate let value: String

    /// Of what a third party was granted: it knows the person by its request alone.
    package init(_ request: RequestID) {
        (bits, system, value) = (request.bits, "urn:trackme:request", request.description)
    }

    /// Of somebody who takes their own data away.
    /// - Parameter pseudonym: 16 bytes that nothing else is made of.
    package init(pseudonym: [UInt8]) {
        bits = pseudonym.reduce(0) { $0 << 8 | UInt128($1) }
        // As FHIR has a UUID that is an identifier.
        (system, value) = ("urn:ietf:rfc:3986", FHIRSubject.urn + FHIRSubject.uuid(bits))
    }

    fileprivate static let urn = "urn:uuid:"

    fileprivate var patient: String { FHIRSubject.uuid(bits) }

    /// A UUID of version 8 for what is measured at one time: unique, and the same each time it is made.
    /// - Parameter variant: tells apart what else one metric gives at one time.
    fileprivate func observation(_ sample: Sample, variant: UInt8) -> String {
        // Time and metric fill fields of their own and the last field is never zero, so that no two of one subject are alike, and none is
        // like the Patient. The subject's bits over all of them keep two subjects apart.
        let time = UInt128(UInt64(bitPattern: sample.at.milliseconds) & 0xFFFF_FFFF_FFFF) << 80
        let metric = UInt128(UInt16(truncatingIfNeeded: sample.type.number) & 0xFFF) << 64
        return FHIRSubject.uuid(bits ^ time ^ metric ^ UInt128(variant) + 1)
    }

    private static func uuid(_ bits: UInt128) -> String {
        let version: UInt128 = 0xF << 76
        let variant: UInt128 = 0x3 << 62
        let digits = String(bits & ~(version | variant) | 0x8 << 76 | 0x2 << 62, radix: 16)
        let all = Array(String(repeating: "0", count: 32 - digits.count) + digits)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }.joined(separator: "-")
    }
}

/// A Bundle of type `collection`: first the Patient, who has no name here, then one Observation an entry. A maximum and a minimum
/// of one instant, source and place become one panel (85354-9). Equal entries of one subject give equal bytes. Where something cannot be
/// read any more, an OperationOutcome is the last entry.
package struct FHIRBundleDocument: EntryDocument {
    private let subject: FHIRSubject
    private var json = JSONBytes()
    /// Half of a blood pressure that waits for the other.
    private var half: ExportedEntry?

    package init(of subject: FHIRSubject) {
        self.subject = subject
        json.literal("{\"resourceType\":\"Bundle\",\"type\":\"collection\",\"entry\":[\n")
        begin("Patient", subject.patient)
        json.literal(",\"identifier\":[{\"system\":\"")
        json.append(subject.system)
        json.literal("\",\"value\":\"")
        json.append(subject.value)
        json.literal("\"}],\"active\":true}}")
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

    package mutating func finish(without damaged: [DamagedEntries]) {
        flush()
        if !damaged.isEmpty { outcome(damaged) }
        json.literal("\n]}\n")
    }

    /// It has no identity, and so no `fullUrl`.
    private mutating func outcome(_ damaged: [DamagedEntries]) {
        json.literal(",\n{\"resource\":{\"resourceType\":\"OperationOutcome\",\"issue\":[")
        for (place, one) in damaged.enumerated() {
            if place > 0 { json.byte(",") }
            json.literal("{\"severity\":\"warning\",\"code\":\"incomplete\",\"diagnostics\":")
            json.string(
                "What was measured of \(one.type.code) from \(one.from.rfc3339) to \(one.to.rfc3339) is stored and cannot be read any more."
            )
            json.byte("}")
        }
        json.literal("]}}")
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

    private mutating func begin(_ type: String, _ id: String) {
        json.literal("{\"fullUrl\":\"")
        json.append(FHIRSubject.urn)
        json.append(id)
        json.literal("\",\"resource\":{\"resourceType\":\"")
        json.append(type)
        json.literal("\",\"id\":\"")
        json.append(id)
        json.byte("\"")
    }

    private mutating func begin(_ entry: ExportedEntry, variant: UInt8) {
        let category = FHIRCodes.category(of: entry.sample.type)
        json.literal(",\n")
        begin("Observation", subject.observation(entry.sample, variant: variant))
        json.literal(",\"status\":\"final\",\"category\":[{\"coding\":[{\"system\":\"")
        json.append(FHIRCodes.category)
        json.literal("\",\"code\":\"")
        json.append(category.code)
        json.literal("\",\"display\":\"")
        json.append(category.display)
        json.literal("\"}]}]")
    }

    private mutating func common(_ entry: ExportedEntry) {
        json.literal(",\"subject\":{\"reference\":\"")
        json.append(FHIRSubject.urn)
        json.append(subject.patient)
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
