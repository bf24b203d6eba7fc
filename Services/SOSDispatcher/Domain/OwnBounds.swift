// What a person may set as own bounds (SOS-08).

import Contracts

/// Own bounds as a request brings them, checked against the registry.
enum OwnBounds {
    /// Bounds by metric, without those that say nothing. A lower bound not below the upper one, or one outside what the metric
    /// can show, is refused with the allowed range in the reason.
    static func checked(_ bounds: [String: Bounds]) throws(Failure) -> [Metric: Bounds] {
        var checked: [Metric: Bounds] = [:]
        for (code, asked) in bounds.sorted(by: { $0.key < $1.key }) {
            guard let metric = Metric(code: code), metric.definition.shape == .scalar else {
                throw Failure(.invalid, "no measurement of this kind can have bounds; ask for the list of metrics")
            }
            let possible = metric.definition.possible
            let allowed = "bounds of \(metric.code) are \(metric.definition.possibleInWords), the lower below the upper"
            for bound in [asked.low, asked.high] {
                guard bound.map(possible.contains) ?? true else { throw Failure(.invalid, allowed) }
            }
            if let low = asked.low, let high = asked.high {
                guard low < high else { throw Failure(.invalid, allowed) }
            }
            if asked.low != nil || asked.high != nil { checked[metric] = asked }
        }
        return checked
    }
}
