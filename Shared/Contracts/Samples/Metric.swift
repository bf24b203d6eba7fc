// The one registry of what can be measured (ING-05, ING-06). A new data type is one more entry of the table in `MetricTable.swift`.

/// One kind of measurement. Its number is what stores keep and is never given to another metric.
package struct Metric: Hashable, Sendable {
    package let number: UInt8

    /// `nil` for a number that no entry of the registry carries.
    package init?(number: UInt8) {
        guard Metric.byNumber[Int(number)] != nil else { return nil }
        self.number = number
    }

    /// `nil` for a code that no entry of the registry carries; codes are compared exactly.
    package init?(code: some StringProtocol) {
        guard let found = Metric.byCode[String(code)] else { return nil }
        self = found
    }

    /// Registers the table's own entries.
    fileprivate init(registered definition: MetricDefinition) {
        number = definition.number
    }

    package var definition: MetricDefinition {
        guard let definition = Metric.byNumber[Int(number)] else { preconditionFailure("a Metric is made from a registered number") }
        return definition
    }

    package var code: String { definition.code }

    /// Every registered metric, by number.
    package static let all: [Metric] = metricTable.map(Metric.init(registered:))

    private static let byNumber: [MetricDefinition?] = {
        var numbered = [MetricDefinition?](repeating: nil, count: 256)
        for definition in metricTable {
            precondition(numbered[Int(definition.number)] == nil, "metric number \(definition.number) is given twice")
            numbered[Int(definition.number)] = definition
        }
        return numbered
    }()

    private static let byCode = Dictionary(uniqueKeysWithValues: metricTable.map { ($0.code, Metric(registered: $0)) })
}

extension Metric: CustomStringConvertible {
    package var description: String { code }
}

extension Metric: Codable {
    /// Throws `dataCorrupted` for a code that no entry of the registry carries.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let code = try container.decode(String.self)
        guard let metric = Metric(code: code) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "unknown metric")
        }
        self = metric
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(code)
    }
}

/// What is known of a metric, in one place: forms, filters, charts, sharing and supervision ask here.
package struct MetricDefinition: Sendable {
    package enum Shape: Sendable {
        /// One number in the metric's unit.
        case scalar
        /// A place on Earth; the entry has no number.
        case position
        /// Something that happened; its number is how long it lasted, in the metric's unit.
        case event
    }

    package let number: UInt8
    /// The kebab-case name on every wire.
    package let code: String
    package let shape: Shape
    /// LOINC code, where LOINC has one that fits.
    package let loinc: String?
    /// The LOINC code by which the vital-signs profiles of FHIR R4 know it, where that is a broader one.
    package let vitalSign: String?
    /// UCUM unit of every value.
    package let unit: String
    /// What is physically possible; a value outside is refused (ING-08). Both ends belong to it.
    package let possible: ClosedRange<Double>
    /// Digits after the decimal point that a person is shown.
    package let precision: Int
    /// Whether its absence means that vital parameters cannot be read (SOS-25).
    package let vital: Bool
    /// Whether AutomatedSOS watches it unasked (SOS-05, CON-27); every scalar can be given bounds by the person.
    package let watchedByDefault: Bool
    /// What is taken to be in range unless a person has own bounds (SOS-05, MYD-08); a value equal to a bound is in range.
    package let bounds: Bounds?
    /// Beyond these a value is severe (SOS-32); a side without one takes the bound itself.
    package let severe: Bounds?
    /// Whether it is measured when somebody decides to, so that its absence is no silence (SOS-34).
    package let isOnDemand: Bool
    /// As people read it (UI-04); so is `italian`.
    package let english: String
    package let italian: String

    /// The lower end of what is greater than 0: less than any device writes, and more than what decoders of JSON take for 0.
    static let aboveZero = 1e-9

    /// `possible` for a sentence, with its unit: "greater than 0 and up to 350.0 /min", "between 1.0 and 400.0 mm[Hg]".
    package var possibleInWords: String {
        let least = possible.lowerBound == Self.aboveZero ? "greater than 0 and up to" : "between \(possible.lowerBound) and"
        return "\(least) \(possible.upperBound) \(unit)"
    }

    package var possibleInItalian: String {
        let least = possible.lowerBound == Self.aboveZero ? "maggiore di 0 e fino a" : "tra \(possible.lowerBound) e"
        return "\(least) \(possible.upperBound) \(unit)"
    }
}
