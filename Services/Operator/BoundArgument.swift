// Bounds of one metric as a command line writes them: `heart-rate=50:110`, `glucose=:250`, `oxygen-saturation=90:`.

import ArgumentParser
import Contracts

struct BoundArgument: Hashable, Sendable {
    var metric: Metric
    var bounds: Bounds

    /// Why a text is not a bound; says what would be.
    struct Fault: Error, Hashable, CustomStringConvertible {
        let description: String
    }

    init(parsing text: String) throws(Fault) {
        let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2 else { throw Fault(description: "“\(text)” is not METRIC=LOW:HIGH, such as heart-rate=50:110") }
        guard let metric = Metric(code: halves[0]) else {
            let names = Metric.all.filter { $0.definition.shape == .scalar }.map(\.code).joined(separator: ", ")
            throw Fault(description: "“\(halves[0])” is no metric; there are \(names)")
        }
        let ends = halves[1].split(separator: ":", omittingEmptySubsequences: false)
        guard metric.definition.shape == .scalar, ends.count == 2 else {
            throw Fault(description: "“\(text)” is not METRIC=LOW:HIGH, such as heart-rate=50:110; one end may be left out")
        }
        let low = try BoundArgument.end(ends[0], of: metric)
        let high = try BoundArgument.end(ends[1], of: metric)
        guard low != nil || high != nil else { throw Fault(description: "“\(text)” has neither a lower nor an upper bound") }
        if let low, let high, low >= high { throw Fault(description: "\(metric): the lower bound must be below the upper one") }
        self.metric = metric
        bounds = Bounds(low: low, high: high)
    }

    private static func end(_ text: Substring, of metric: Metric) throws(Fault) -> Double? {
        if text.isEmpty { return nil }
        let possible = metric.definition.possible
        guard let number = Double(text), possible.contains(number) else {
            throw Fault(description: "\(metric): a bound is a number \(metric.definition.possibleInWords)")
        }
        return number
    }
}

extension BoundArgument: ExpressibleByArgument {
    init?(argument: String) {
        guard let bound = try? BoundArgument(parsing: argument) else { return nil }
        self = bound
    }
}
