// What operators see of group requests. Labels are outcomes; never an organisation, a filter or a number of people.

import Contracts
import Metrics

struct ReleaseMetrics: Sendable {
    /// - Parameter product: `records` or `statistics`.
    func released(_ product: String, newTables: Int) {
        Counter(label: "ano_releases_total", dimensions: [("product", product)]).increment()
        Counter(label: "ano_tables_total").increment(by: newTables)
    }

    func repeated() {
        Counter(label: "ano_repeated_total").increment()
    }

    func subscribed() {
        Counter(label: "ano_subscriptions_total").increment()
    }

    /// A window of a subscription was told.
    func closed(_ status: GroupWindowStatus) {
        Counter(label: "ano_windows_total", dimensions: [("status", status.rawValue)]).increment()
    }

    func refused(_ reason: GroupRefusal) {
        Counter(label: "ano_refusals_total", dimensions: [("reason", reason.rawValue)]).increment()
    }

    /// - Parameter duration: from the question's turn to its commit.
    func took(_ duration: Duration) {
        Timer(label: "ano_release_seconds").recordNanoseconds(max(0, duration.wholeMilliseconds) * 1_000_000)
    }
}
