// Series for charts (MYD-03 to MYD-06), statistics of weeks and months (MYD-07), the health status (MYD-08): read, never stored.

import Contracts
import ServiceKit
import Storage

/// What one chart shows.
struct ChartRequest: Sendable {
    /// Nil for every metric that has data and can be drawn.
    let metrics: [Metric]?
    /// As asked for; a chart of stretches is widened to whole ones.
    let range: Range<Int64>
    let granularity: ChartGranularity
    let calendar: ChartCalendar
    /// Whether the share of the period that is covered is sent too (ING-17).
    let withCoverage: Bool
}

/// One line of a chart.
struct ChartSeries: Sendable {
    enum Points: Sendable {
        case entries([Sample])
        case stretches([(from: Int64, aggregate: Aggregate)])

        var isEmpty: Bool {
            switch self {
            case .entries(let samples): samples.isEmpty
            case .stretches(let stretches): stretches.isEmpty
            }
        }
    }

    let metric: Metric
    let points: Points
    let coverage: Coverage?
}

/// Statistics of every asked metric over one span.
struct SpanStatistics: Sendable {
    let span: StatisticsSpan
    let range: Range<Int64>
    let parameters: [PeriodStatistics]
}

struct Charts: Sendable {
    /// Of one series; a finer granularity is refused beyond.
    static let mostPoints = 20_000
    /// Days that one read of the store covers.
    private static let daysPerRead: Int64 = 31

    let store: Store
    let vault: ChunkVault
    let readings: Readings
    let rules: StatisticsRules
    let recent: Duration

    /// A series has more points than a chart can take.
    struct TooManyPoints: Error {
        let granularity: ChartGranularity
    }

    private func readStore(_ reader: Reader) throws -> ReadStore {
        ReadStore(
            vault: vault, person: reader.person, number: reader.number, key: try vault.key(of: reader.person), damaged: reader.damaged)
    }

    /// Metrics that can be drawn as a line and of which there are entries.
    private func drawable(_ reader: Reader) async throws -> [Metric] {
        let readStore = try readStore(reader)
        return try await store.read { db in try readStore.metrics(db) }.filter { $0.definition.shape != .position }
    }

    // MARK: Series

    /// - Throws: `TooManyPoints`.
    func series(_ request: ChartRequest, of reader: Reader) async throws -> (range: Range<Int64>, series: [ChartSeries]) {
        let range =
            request.granularity == .raw ? request.range : request.calendar.widened(request.range, to: request.granularity)
        var found: [ChartSeries] = []
        let metrics = if let asked = request.metrics { asked } else { try await drawable(reader) }
        for metric in metrics {
            let points: ChartSeries.Points =
                request.granularity == .raw
                ? .entries(try await entries(metric, range, of: reader))
                : .stretches(
                    try await sums(
                        reader, Sums(metric: metric, range: range, calendar: request.calendar, granularity: request.granularity)))
            let coverage =
                request.withCoverage && !range.isEmpty
                ? try await readings.coverage(ReadingPeriod(metric: metric, range: range), of: reader) : nil
            found.append(ChartSeries(metric: metric, points: points, coverage: coverage))
        }
        return (range, found)
    }

    private func entries(_ metric: Metric, _ range: Range<Int64>, of reader: Reader) async throws -> [Sample] {
        let readStore = try readStore(reader)
        let found = try await store.read { db in try readStore.page(db, metric, in: range, limit: Self.mostPoints + 1) }
        guard found.count <= Self.mostPoints else { throw TooManyPoints(granularity: .raw) }
        return found.map(\.sample)
    }

    /// What is summed up.
    private struct Sums {
        let metric: Metric
        let range: Range<Int64>
        let calendar: ChartCalendar
        let granularity: ChartGranularity
        var most = Charts.mostPoints

        /// Offsets of zones are whole minutes; where days are UTC's the store need not distinguish minutes.
        var width: Int64 {
            switch granularity {
            case .minute: Granularity.minuteWidth
            case .hour where calendar.zone == "UTC": 3_600_000
            case _ where calendar.zone == "UTC": Granularity.dayWidth
            default: Granularity.minuteWidth
            }
        }
    }

    /// The sums over the stretches of a calendar; a month of days at a time, so that a year needs no year's memory.
    private func sums(_ reader: Reader, _ wanted: Sums) async throws -> [(from: Int64, aggregate: Aggregate)] {
        let readStore = try readStore(reader)
        let (metric, width) = (wanted.metric, wanted.width)
        var sums = ChartSums(calendar: wanted.calendar, granularity: wanted.granularity)
        var from = wanted.range.lowerBound
        while from < wanted.range.upperBound {
            let next = (UTCDay.number(of: from) + Self.daysPerRead) * Granularity.dayWidth
            let part = from..<min(next, wanted.range.upperBound)
            let (found, following) = try await store.read { db in
                (
                    try readStore.stretches(db, metric, in: part, width: width, limit: .max),
                    try readStore.nextDay(db, metric, from: part.upperBound)
                )
            }
            for stretch in found { sums.add(stretch.aggregate, from: stretch.start) }
            guard sums.points.count <= wanted.most else { throw TooManyPoints(granularity: wanted.granularity) }
            // Years without an entry are skipped.
            guard let following else { break }
            from = max(part.upperBound, UTCDay.range(following).lowerBound)
        }
        return sums.points
    }

    // MARK: Statistics

    /// Of the last week and month up to `now`, in the person's own days.
    func statistics(
        of metrics: [Metric], _ calendar: ChartCalendar, now: Timestamp, of reader: Reader
    ) async throws -> [SpanStatistics] {
        var spans: [SpanStatistics] = []
        for span in StatisticsSpan.allCases {
            let range = calendar.days(span.days, upTo: now.milliseconds)
            var parameters: [PeriodStatistics] = []
            for metric in metrics {
                let days = try await sums(
                    reader, Sums(metric: metric, range: range, calendar: calendar, granularity: .day, most: .max))
                parameters.append(PeriodStatistics(metric, days: days.map(\.aggregate), span: span, rules: rules))
            }
            spans.append(SpanStatistics(span: span, range: range, parameters: parameters))
        }
        return spans
    }

    /// What "details" shows unasked (MYD-07).
    static let usualStatistics: [Metric] = [.heartRate, .bloodPressureMax, .bloodPressureMin]

    // MARK: Status

    func newest(of reader: Reader) async throws -> [Sample] {
        try await readings.latest(of: reader).map(\.sample)
    }

    func status(now: Timestamp, of reader: Reader) async throws -> HealthStatus {
        HealthStatus(newest: try await newest(of: reader), now: now, recent: recent)
    }
}
