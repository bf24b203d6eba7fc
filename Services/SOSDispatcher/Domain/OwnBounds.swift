// What a person may set as own bounds (SOS-08).

import Contracts

/// Own bounds as a request brings them, checked against the registry.
enum OwnBounds {
    /// Bounds by metric, without those that say nothing. A lower bound not below the upper one, or one outside what the metric
    /// can show, is refused with the allowed range in the reason.
    static func checked(_ bounds: [String: Bounds]) throws(Failure) -> [Metric: Bounds] {
        var checked: [Metric: Bounds] = [:]
        for (code, asked) in bounds.sorted(by: { $0.key < $1.key }) {
            if let fault = fault(of: asked, for: code) { throw Failure(.invalid, fault.english) }
            if let metric = Metric(code: code), asked.low != nil || asked.high != nil { checked[metric] = asked }
        }
        return checked
    }

    /// Nil where nothing is wrong.
    static func fault(of asked: Bounds, for code: String) -> FieldFault? {
        guard let metric = Metric(code: code), metric.definition.shape == .scalar else { return .noBounds }
        let possible = metric.definition.possible
        for bound in [asked.low, asked.high] where !(bound.map(possible.contains) ?? true) { return .impossibleBounds(metric) }
        if let low = asked.low, let high = asked.high, low >= high { return .impossibleBounds(metric) }
        return nil
    }
}
