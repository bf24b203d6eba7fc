// What the newest values say of a person, and what a few days' values are worth.

import Contracts
import Testing

@testable import Ingest

@Suite struct HealthStatusTests {
    private static let now = Timestamp(milliseconds: 1_770_000_000_000)

    private static func status(_ values: [(Metric, Double, hoursAgo: Int64)]) -> HealthStatus {
        HealthStatus(
            newest: values.map { Sample(type: $0.0, at: now - .seconds($0.hoursAgo * 3600), value: $0.1) }, now: now,
            recent: .seconds(24 * 3600))
    }

    private static let glucose = Metric(code: "glucose") ?? .heartRate

    private static let cases:
        [(values: [(Metric, Double, hoursAgo: Int64)], verdict: HealthStatus.Verdict, states: [HealthParameter.State])] = [
            ([], .noRecentData, []),
            ([(.heartRate, 72, 0)], .allInRange, [.inRange]),
            // Equal to a bound is in range.
            ([(.heartRate, 45, 0)], .allInRange, [.inRange]),
            ([(.heartRate, 120, 0)], .allInRange, [.inRange]),
            ([(.heartRate, 44.9, 0)], .outOfRange, [.below]),
            ([(.heartRate, 120.1, 0)], .outOfRange, [.above]),
            // A blood pressure is critical as a pair.
            ([(.bloodPressureMax, 171, 0)], .allInRange, [.aboveAlone]),
            ([(.bloodPressureMax, 171, 0), (.bloodPressureMin, 100, 0)], .allInRange, [.aboveAlone, .inRange]),
            ([(.bloodPressureMax, 171, 0), (.bloodPressureMin, 101, 0)], .outOfRange, [.above, .above]),
            ([(.bloodPressureMax, 171, 0), (.bloodPressureMin, 101, 25)], .allInRange, [.aboveAlone, .old]),
            // Old values are shown and say nothing about now; without bounds there is nothing to judge.
            ([(.heartRate, 200, 25)], .noRecentData, [.old]),
            ([(glucose, 90, 0)], .noRecentData, [.unbounded]),
            ([(.heartRate, 130, 0), (glucose, 90, 0)], .outOfRange, [.above, .unbounded]),
        ]

    @Test("MYD-08: all in range, out of range now, or no recent data, with the state of every parameter", arguments: cases.indices)
    func verdicts(index: Int) {
        let one = Self.cases[index]
        let status = Self.status(one.values)
        #expect(status.verdict == one.verdict)
        #expect(status.parameters.map(\.state) == one.states)
    }

    @Test("ING-06: bounds, ranges and names come from the registry's one entry of a metric")
    func registry() {
        #expect(Metric.heartRate.definition.bounds == Bounds(low: 45, high: 120))
        #expect(Metric.bloodPressureMax.definition.bounds == Bounds(low: nil, high: 170))
        #expect(Metric.bloodPressureMin.definition.bounds == Bounds(low: nil, high: 100))
        for metric in Metric.all {
            let definition = metric.definition
            for bound in [definition.bounds?.low, definition.bounds?.high].compactMap({ $0 }) {
                #expect(definition.possible.contains(bound))
            }
        }
    }

    @Test("MYD-07, MYD-09: what there is is shown, and said to be too little below three days a week or ten a month")
    func statistics() {
        func days(_ count: Int) -> [Aggregate] { (0..<count).map { Aggregate(least: Double($0), greatest: 100, sum: 200, count: 4) } }
        let rules = StatisticsRules()
        for (span, least) in [(StatisticsSpan.week, 3), (.month, 10)] {
            #expect(!PeriodStatistics(.heartRate, days: days(least - 1), span: span, rules: rules).isEnough)
            let enough = PeriodStatistics(.heartRate, days: days(least), span: span, rules: rules)
            #expect(enough.isEnough && enough.sum?.least == 0 && enough.sum?.mean == 50 && enough.sum?.count == least * 4)
            let nothing = PeriodStatistics(.heartRate, days: [], span: span, rules: rules)
            #expect(!nothing.isEnough && nothing.sum == nil)
        }
    }
}
