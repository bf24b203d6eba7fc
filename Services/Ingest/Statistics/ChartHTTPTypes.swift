// HTTP bodies of charts, statistics, the health status and the dashboard.

import Contracts
import HTTPKit

/// What a person reads where there is nothing, or too little, to show (MYD-06, MYD-09).
struct NoticeItem: Codable, Hashable, Sendable {
    /// Kebab-case, for programs.
    var code: String
    /// For people.
    var detail: String

    static let nothingMatches = NoticeItem(
        code: "nothing-matches", detail: "There are no entries of this type in this period. Choose another period or type.")
    static let nothingCollected = NoticeItem(
        code: "nothing-collected", detail: "Nothing has been collected yet. Pair a device, or enter a value by hand.")
    static let noRecentData = NoticeItem(
        code: "no-recent-data",
        detail: "There is no recent value of a supervised parameter. The last values are shown; check the device and its connection.")

    static func notEnough(_ statistics: PeriodStatistics, _ span: StatisticsSpan) -> NoticeItem {
        NoticeItem(
            code: "not-enough-data",
            detail: """
                Not enough data: \(statistics.daysWithData) of at least \(statistics.leastDays) days of the \(span.rawValue) have entries. \
                What there is is shown.
                """)
    }

    static let schema = JSONSchema.object(
        .required("code", .oneOf(["nothing-matches", "nothing-collected", "no-recent-data", "not-enough-data"]), "For programs."),
        .required("detail", .string(), "For people.")
    ).named("Notice")
}

/// Series by hand, since a chart may have many points.
enum ChartAnswer {
    static func json(
        _ request: ChartRequest, _ range: Range<Int64>, _ series: [ChartSeries], damaged: DamagedPeriods
    ) -> [UInt8] {
        var json = JSONBytes(capacity: 1 << 14)
        json.literal("{\"from\":\"")
        json.append(Timestamp(milliseconds: range.lowerBound).rfc3339)
        json.literal("\",\"to\":\"")
        json.append(Timestamp(milliseconds: range.upperBound).rfc3339)
        json.literal("\",\"granularity\":\"")
        json.append(request.granularity.rawValue)
        json.literal("\",\"timezone\":")
        json.string(request.calendar.zone)
        json.literal(",\"series\":[")
        for (place, one) in series.enumerated() {
            if place > 0 { json.byte(",") }
            json.series(one)
        }
        json.byte("]")
        if series.isEmpty {
            json.literal(",\"notice\":")
            json.notice(.nothingCollected)
        }
        json.damaged(damaged)
        json.byte("}")
        return json.bytes
    }

    static let point = JSONSchema.any(
        of: .object(.required("at", .time), .required("value", .number())).named("ChartEntry"), IngestSchemas.stretch)

    static let schema = JSONSchema.object(
        .required("from", .time, "Of the period, widened to whole stretches."), .required("to", .time),
        .required("granularity", .oneOf(ChartGranularity.allCases.map(\.rawValue))), .required("timezone", .string()),
        .required(
            "series",
            .array(
                of: .object(
                    .required("type", IngestSchemas.metricCode), .required("unit", .string(), "UCUM."), .required("english", .string()),
                    .required("italian", .string()), .required("points", .array(of: point), "In order of time."),
                    .optional("coverage", coverage, "Where it was asked for."),
                    .optional("notice", NoticeItem.schema, "Why the chart is empty."))), "In the order in which the types were asked for."),
        .optional("notice", NoticeItem.schema), .damaged
    ).named("Chart")

    static let coverage = JSONSchema.object(
        .required("share", .number(in: 0...1), "Of the period, covered by entries."),
        .required("longestGapSeconds", .number(in: 0...1e12))
    ).named("SeriesCoverage")
}

extension JSONBytes {
    fileprivate mutating func series(_ series: ChartSeries) {
        let definition = series.metric.definition
        literal("{\"type\":\"")
        append(definition.code)
        literal("\",\"unit\":")
        string(definition.unit)
        literal(",\"english\":")
        string(definition.english)
        literal(",\"italian\":")
        string(definition.italian)
        literal(",\"points\":[")
        switch series.points {
        case .entries(let samples):
            for (place, sample) in samples.enumerated() {
                if place > 0 { byte(",") }
                literal("{\"at\":\"")
                append(sample.at.rfc3339)
                literal("\",\"value\":")
                number(sample.value ?? 0)
                byte("}")
            }
        case .stretches(let stretches):
            for (place, stretch) in stretches.enumerated() {
                if place > 0 { byte(",") }
                StretchItem(start: stretch.from, aggregate: stretch.aggregate).write(to: &self)
            }
        }
        byte("]")
        if let coverage = series.coverage {
            literal(",\"coverage\":{\"share\":")
            number(coverage.share)
            literal(",\"longestGapSeconds\":")
            number(Double(coverage.longestGap.count) / 1000)
            byte("}")
        }
        if series.points.isEmpty {
            literal(",\"notice\":")
            notice(.nothingMatches)
        }
        byte("}")
    }

    mutating func notice(_ notice: NoticeItem) {
        literal("{\"code\":\"")
        append(notice.code)
        literal("\",\"detail\":")
        string(notice.detail)
        byte("}")
    }
}

/// Weekly and monthly statistics (MYD-07).
struct StatisticsAnswer: Codable, Sendable, Documented {
    struct Parameter: Codable, Sendable {
        var type: String
        var unit: String
        var min: Double?
        var mean: Double?
        var max: Double?
        var count: Int
        var daysWithData: Int
        var notice: NoticeItem?
    }

    struct Span: Codable, Sendable {
        var from: String
        var to: String
        var parameters: [Parameter]
    }

    var timezone: String
    var week: Span
    var month: Span
    var damaged: [DamagedItem]?

    init(_ spans: [SpanStatistics], _ calendar: ChartCalendar, damaged: [DamagedItem]?) {
        func span(_ kind: StatisticsSpan) -> Span {
            guard let found = spans.first(where: { $0.span == kind }) else { return Span(from: "", to: "", parameters: []) }
            return Span(
                from: Timestamp(milliseconds: found.range.lowerBound).rfc3339, to: Timestamp(milliseconds: found.range.upperBound).rfc3339,
                parameters: found.parameters.map { Self.parameter($0, kind) })
        }
        (timezone, self.damaged) = (calendar.zone, damaged)
        (week, month) = (span(.week), span(.month))
    }

    private static func parameter(_ statistics: PeriodStatistics, _ span: StatisticsSpan) -> Parameter {
        Parameter(
            type: statistics.metric.code, unit: statistics.metric.definition.unit, min: statistics.sum?.least, mean: statistics.sum?.mean,
            max: statistics.sum?.greatest, count: statistics.sum?.count ?? 0, daysWithData: statistics.daysWithData,
            notice: statistics.isEnough ? nil : .notEnough(statistics, span))
    }

    static let schema: JSONSchema = {
        let parameter = JSONSchema.object(
            .required("type", IngestSchemas.metricCode), .required("unit", .string()), .optional("min", .number()),
            .optional("mean", .number()), .optional("max", .number()), .required("count", .integer(in: 0...Int(Int32.max))),
            .required("daysWithData", .integer(in: 0...31)),
            .optional("notice", NoticeItem.schema, "Where there are too few days to believe it.")
        ).named("ParameterStatistics")
        let span = JSONSchema.object(
            .required("from", .time), .required("to", .time), .required("parameters", .array(of: parameter))
        ).named("SpanStatistics")
        return JSONSchema.object(
            .required("timezone", .string()), .required("week", span, "The last seven days, today included."),
            .required("month", span, "The last thirty days, today included."), .damaged
        ).named("Statistics")
    }()
}

/// The health status with the parameters behind it (MYD-08).
struct HealthStatusAnswer: Codable, Hashable, Sendable, Documented {
    struct Parameter: Codable, Hashable, Sendable {
        var type: String
        var unit: String
        var value: Double
        var at: String
        var state: String
        var low: Double?
        var high: Double?
    }

    var status: String
    var parameters: [Parameter]
    var notice: NoticeItem?
    var damaged: [DamagedItem]?

    init(_ status: HealthStatus, damaged: [DamagedItem]?) {
        self.damaged = damaged
        self.status = status.verdict.rawValue
        parameters = status.parameters.map {
            Parameter(
                type: $0.metric.code, unit: $0.metric.definition.unit, value: $0.value, at: $0.at.rfc3339, state: $0.state.rawValue,
                low: $0.bounds?.low, high: $0.bounds?.high)
        }
        notice = status.verdict == .noRecentData ? (status.parameters.isEmpty ? .nothingCollected : .noRecentData) : nil
    }

    static let schema = JSONSchema.object(
        .required("status", .oneOf(HealthStatus.Verdict.allCases.map(\.rawValue))),
        .required(
            "parameters",
            .array(
                of: .object(
                    .required("type", IngestSchemas.metricCode), .required("unit", .string()), .required("value", .number()),
                    .required("at", .time),
                    .required("state", .oneOf(["in-range", "below", "above", "above-alone", "old", "unbounded"])),
                    .optional("low", .number(), "Lower bound; equal is in range."), .optional("high", .number(), "Upper bound."))),
            "The newest value of every metric that has any."),
        .optional("notice", NoticeItem.schema), .damaged
    ).named("PersonHealthStatus")
}

/// What a person sees after log-in (MYD-01).
struct DashboardAnswer: Codable, Sendable, Documented {
    var health: HealthStatusAnswer
    var activities: [ActivityItem]

    static let schema = JSONSchema.object(
        .required("health", HealthStatusAnswer.schema), .required("activities", .array(of: ActivityItem.schema), "The latest ones.")
    ).named("Dashboard")
}
