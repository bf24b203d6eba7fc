// Figures of several rounds, and of many single events.

/// What several rounds of one measurement gave.
struct Spread: Codable, Sendable {
    var least: Double
    var median: Double
    var most: Double

    init(_ values: [Double]) {
        let ordered = values.sorted()
        (least, most) = (ordered.first ?? .nan, ordered.last ?? .nan)
        median = ordered.percentile(50)
    }
}

extension Array where Element == Double {
    /// The value that `share` per cent of an ordered list do not exceed (nearest rank).
    func percentile(_ share: Double) -> Double {
        guard !isEmpty else { return .nan }
        return self[Swift.min(count - 1, Swift.max(0, Int((Double(count) * share / 100).rounded(.up)) - 1))]
    }
}

extension Duration {
    var milliseconds: Double { self / .milliseconds(1) }
    var inSeconds: Double { self / .seconds(1) }
}
