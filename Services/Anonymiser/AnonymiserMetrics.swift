// What operators see of the anonymiser in figures.

import Contracts
import Metrics

struct AnonymiserMetrics: Sendable {
    private let hours = Counter(label: "ano_hours_closed_total")
    private let lag = Gauge(label: "ano_closing_lag_seconds")

    func closed() {
        hours.increment()
    }

    /// - Parameter hour: since 1970, before which all are closed; nil before the first.
    func isClosed(through hour: Int?, at now: Timestamp) {
        lag.record(hour.map { max(0, now.milliseconds / 1000 - Int64($0) * CohortHourSummed.milliseconds / 1000) } ?? 0)
    }
}
