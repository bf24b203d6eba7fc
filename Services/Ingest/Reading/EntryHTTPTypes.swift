// HTTP bodies of ingest. Entries are written by hand, since a month at 1 Hz is two and a half million of them.

import Contracts
import HTTPKit

/// One entry as it is read back.
struct EntryItem: Sendable {
    let sample: Sample
    /// Who brought it.
    let source: EntrySource

    func write(to json: inout JSONBytes) {
        json.literal("{\"type\":\"")
        json.append(sample.type.code)
        json.literal("\",\"at\":\"")
        json.append(sample.at.rfc3339)
        json.byte("\"")
        if let value = sample.value {
            json.literal(",\"value\":")
            json.number(value)
        }
        if let position = sample.position {
            json.literal(",\"position\":")
            json.position(position)
        }
        switch source {
        case .device(let device):
            json.literal(",\"device\":\"")
            json.append(device.description)
            json.byte("\"")
        case .manual, .imported:
            json.literal(",\"source\":\"")
            json.append(source.text)
            json.byte("\"")
        case .unknown: break
        }
        json.byte("}")
    }
}

/// What a chart shows of one stretch of time.
struct StretchItem: Sendable {
    let start: Int64
    let aggregate: Aggregate

    func write(to json: inout JSONBytes) {
        json.literal("{\"from\":\"")
        json.append(Timestamp(milliseconds: start).rfc3339)
        json.literal("\",\"min\":")
        json.number(aggregate.least)
        json.literal(",\"mean\":")
        json.number(aggregate.mean)
        json.literal(",\"max\":")
        json.number(aggregate.greatest)
        json.literal(",\"count\":")
        json.integer(Int64(aggregate.count))
        json.byte("}")
    }
}

/// A stretch of entries that are stored and cannot be read any more.
struct DamagedItem: Codable, Hashable, Sendable {
    /// Time of the first of them.
    var from: String
    /// And of the last.
    var to: String

    /// Nil where everything could be read.
    static func all(of periods: DamagedPeriods) -> [DamagedItem]? {
        let all = periods.all.map { period in
            DamagedItem(
                from: Timestamp(milliseconds: period.lowerBound).rfc3339, to: Timestamp(milliseconds: period.upperBound).rfc3339)
        }
        return all.isEmpty ? nil : all
    }

    static let schema = JSONSchema.object(
        .required("from", .time, "Of the first entry."), .required("to", .time, "Of the last one.")
    ).named("Damaged")
}

extension JSONSchema.Property {
    /// Goes with every answer that reads entries.
    static var damaged: Self {
        .optional("damaged", .array(of: DamagedItem.schema), "There where entries of this time are stored and cannot be read any more.")
    }
}

extension JSONBytes {
    /// Nothing where everything could be read; else one more member.
    mutating func damaged(_ periods: DamagedPeriods) {
        guard let all = DamagedItem.all(of: periods) else { return }
        literal(",\"damaged\":[")
        for (place, item) in all.enumerated() {
            literal(place == 0 ? "{\"from\":\"" : ",{\"from\":\"")
            append(item.from)
            literal("\",\"to\":\"")
            append(item.to)
            literal("\"}")
        }
        byte("]")
    }
}

/// How complete a series is.
struct CoverageAnswer: Codable, Sendable {
    struct Gap: Codable, Sendable {
        var from: String
        var to: String
        var seconds: Double
    }

    var type: String
    var from: String
    var to: String
    var share: Double
    /// Nil where nothing is missing.
    var longestGap: Gap?
    var damaged: [DamagedItem]?

    init(_ coverage: Coverage, _ period: ReadingPeriod, damaged: [DamagedItem]?) {
        func time(_ milliseconds: Int64) -> String { Timestamp(milliseconds: milliseconds).rfc3339 }
        type = period.metric.code
        (from, to) = (time(period.range.lowerBound), time(period.range.upperBound))
        (share, self.damaged) = (coverage.share, damaged)
        let gap = coverage.longestGap
        longestGap = gap.isEmpty ? nil : Gap(from: time(gap.lowerBound), to: time(gap.upperBound), seconds: Double(gap.count) / 1000)
    }
}

/// One kind of measurement, for forms, charts and devices (ING-05, ING-06).
struct MetricItem: Codable, Sendable {
    var code: String
    var shape: String
    var unit: String
    var loinc: String?
    var minimum: Double
    var maximum: Double
    /// What is taken to be in range unless a person has own bounds.
    var low: Double?
    var high: Double?
    var precision: Int
    var english: String
    var italian: String

    init(_ definition: MetricDefinition) {
        (code, unit, loinc, precision) = (definition.code, definition.unit, definition.loinc, definition.precision)
        (minimum, maximum) = (definition.possible.lowerBound, definition.possible.upperBound)
        (low, high) = (definition.bounds?.low, definition.bounds?.high)
        (english, italian) = (definition.english, definition.italian)
        shape =
            switch definition.shape {
            case .scalar: "scalar"
            case .position: "position"
            case .event: "event"
            }
    }
}

// MARK: Shapes for the OpenAPI document

enum IngestSchemas {
    static let metricCode = JSONSchema.oneOf(Metric.all.map(\.code))

    static let position = JSONSchema.object(
        .required("latitude", .number(in: -90...90), "Degrees, WGS84."),
        .required("longitude", .number(in: -180...180), "Degrees, WGS84."),
        .optional("altitude", .number(in: -12_000...100_000), "Metres above the ellipsoid."),
        .optional("accuracy", .number(in: 0...1_000_000), "Radius in metres that holds 68 % of fixes.")
    ).named("Position")

    /// A position's coordinates may also stand in the entry itself.
    static let entry = JSONSchema.object(
        .required("type", metricCode, "Code of the metric."),
        .required("at", .any(of: .time, .integer()), "When it was measured: RFC 3339 with an offset, or milliseconds since 1970."),
        .optional("value", .number(), "In the metric's unit; required except for `position`."),
        .optional("unit", .string(), "The metric's, in UCUM or as it is usually spelt (`bpm`, `mmHg`, `°C`)."),
        .optional(
            "position", position, "Where it was measured, if known; required for `position`, whose coordinates may stand in the entry.")
    ).named("Entry")

    private static let sentAt =
        """
        What the clock that dates the entries says as this try of the upload is written: another time in each try, which the repetition of \
        an `Idempotency-Key` may change. A body that has waited in a queue must be given a new one, or none: with an old one what it \
        holds counts as measured now, and an ambulance may be called for a reading of yesterday. A reading's age is counted up to it or \
        to the reception by the server's clock, whichever makes it younger, so that supervision watches also where one of both is wrong; \
        without it, to the reception. Left out of account, and named in the answer's `ignored`, where it is no time, \
        or more than \(UploadLimits.furthestFuture.components.seconds / 60) minutes after the reception or before the newest entry of \
        the upload that is taken. A document that is one entry, and a line of NDJSON, may say it too.
        """

    static let entries = JSONSchema.any(
        of: entry, .array(of: entry, count: 0...UploadLimits.entries),
        .object(
            .required("entries", .array(of: entry, count: 0...UploadLimits.entries)),
            .optional(
                "firstTriedAt", .any(of: .time, .integer()),
                """
                When the device first tried to send this upload, by its own clock; the same in every try. Told to whoever is called, so \
                that they know how long a person has waited. Left out of account where it is later than the upload's reception or more \
                than \(UploadLimits.longestTrying.components.seconds / 3600) hours before. A document that is one entry may say it too.
                """), .optional("sentAt", .any(of: .time, .integer()), sentAt)))

    private static let count = JSONSchema.integer(in: 0...Int(Int32.max))

    static let uploadAnswer = JSONSchema.object(
        .required("accepted", count, "New entries, now durable."),
        .required("duplicates", .array(of: count), "Places of entries that were stored already, word for word."),
        .required(
            "rejected",
            .array(
                of: .object(
                    .required("index", count, "Place in the upload, from 0."),
                    .required("type", .string(pattern: "^\(Problem.prefix)[a-z-]+$")), .required("detail", .string())))),
        .optional("duplicateCount", count, "Of a stream, whose lists name at most \(UploadLimits.namedInAnswer)."),
        .optional("rejectedCount", count),
        .optional("ignored", .array(of: .oneOf(["sentAt"])), "What the upload said of itself and is left out of account; else absent."),
        .optional("supervision", askedRate, "There while AutomatedSOS has an alert of the person.")
    ).named("UploadAnswer")

    private static let askedRate = JSONSchema.object(
        .required("state", .oneOf(AskedRate.State.allCases.map(\.rawValue))),
        .optional("measurementsPerSecond", .number(in: 0...1000), "How often to measure from now on, never more than the device can do.")
    ).named("AskedRate")

    static let storedEntry = JSONSchema.object(
        .required("type", metricCode), .required("at", .time), .optional("value", .number()), .optional("position", position),
        .optional("device", .identifier(Device.self)), .optional("source", .oneOf(["manual", "import"]), "Where no device brought it.")
    ).named("StoredEntry")

    static let stretch = JSONSchema.object(
        .required("from", .time, "Beginning of the minute, hour or UTC day."), .required("min", .number()), .required("mean", .number()),
        .required("max", .number()), .required("count", count)
    ).named("Stretch")

    static let coverage = JSONSchema.object(
        .required("type", metricCode), .required("from", .time), .required("to", .time),
        .required("share", .number(in: 0...1), "Of the period, covered by entries."),
        .optional(
            "longestGap", .object(.required("from", .time), .required("to", .time), .required("seconds", .number())),
            "Absent where nothing is missing."), .damaged
    ).named("Coverage")

    static let metric = JSONSchema.object(
        .required("code", .string()), .required("shape", .oneOf(["scalar", "position", "event"])), .required("unit", .string(), "UCUM."),
        .optional("loinc", .string()), .required("minimum", .number()), .required("maximum", .number()),
        .optional("low", .number(), "In range from here on, unless a person has own bounds."),
        .optional("high", .number(), "And up to here."),
        .required("precision", .integer(in: 0...9), "Decimals that a person is shown."), .required("english", .string()),
        .required("italian", .string())
    ).named("Metric")

    /// `Page` of anything.
    static func page(of item: JSONSchema) -> JSONSchema {
        .object(
            .required("items", .array(of: item)), .required("next", .string().nullable(), "Send it as `after`; null at the end."), .damaged)
    }
}

extension CoverageAnswer: Documented {
    static var schema: JSONSchema { IngestSchemas.coverage }
}

extension MetricItem: Documented {
    static var schema: JSONSchema { IngestSchemas.metric }
}
