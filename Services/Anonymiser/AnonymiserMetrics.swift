// What operators see of the anonymiser in figures.

import Metrics

struct AnonymiserMetrics: Sendable {
    private let hours = Counter(label: "ano_hours_closed_total")

    func closed() {
        hours.increment()
    }
}
