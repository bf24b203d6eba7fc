// Least, mean and greatest value of a week or a month, and whether there are days enough to believe them (MYD-07, MYD-09).

import Contracts

/// How many days with data a period needs (CON-41).
struct StatisticsRules: Hashable, Sendable {
    var leastDaysOfWeek = 3
    var leastDaysOfMonth = 10
}

/// A stretch of days that statistics are about.
enum StatisticsSpan: String, CaseIterable, Sendable {
    case week, month

    /// Days, today included.
    var days: Int {
        switch self {
        case .week: 7
        case .month: 30
        }
    }

    func leastDays(_ rules: StatisticsRules) -> Int {
        switch self {
        case .week: rules.leastDaysOfWeek
        case .month: rules.leastDaysOfMonth
        }
    }
}

/// One metric over one span. Shows what there is, also where that is not enough.
struct PeriodStatistics: Hashable, Sendable {
    let metric: Metric
    /// Nil where there is no entry at all.
    let sum: Aggregate?
    let daysWithData: Int
    let leastDays: Int

    /// - Parameter days: one sum for each day that has entries.
    init(_ metric: Metric, days: [Aggregate], span: StatisticsSpan, rules: StatisticsRules) {
        self.metric = metric
        daysWithData = days.count
        leastDays = span.leastDays(rules)
        sum = days.first.map { first in days.dropFirst().reduce(into: first) { $0.add($1) } }
    }

    var isEnough: Bool { daysWithData >= leastDays }
}
