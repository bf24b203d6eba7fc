// What an activity was, computed from the entries measured during it: path, distance, pace, heart rate, calories (ING-18, MYD-11).

import Contracts
import Foundation

/// A workout, a run: what a person or a device reports of it.
struct ActivityDraft: Hashable, Sendable {
    static let kinds = ["run", "walk", "ride", "swim", "workout", "other"]
    static let longestName = 100
    /// No activity is longer.
    static let longest: Duration = .seconds(7 * 24 * 3600)

    var kind: String
    var name: String?
    var start: Timestamp
    var end: Timestamp
}

/// Adds up an activity's entries as they come, in order of time; keeps a path of at most `mostPoints`.
struct ActivityFigures: Sendable {
    static let mostPoints = 20_000

    /// In order of time, thinned evenly where there are very many.
    private(set) var path: [(at: Timestamp, position: Position)] = []
    private var stride = 1
    private var fixes = 0
    private var lastFix: Position?
    /// Along the path, in metres; nil without at least two fixes.
    private var pathMetres: Double?
    private var counters: [Metric: Counter] = [:]
    private(set) var heartRate: Aggregate?

    /// A quantity that devices send either as a running total or as amounts to be added.
    private struct Counter {
        var first: Double
        var last: Double
        var sum: Double
        var onlyGrows = true
    }

    init() {}

    /// Metrics that are read.
    static let metrics: [Metric] = [.position, .heartRate, .distance] + [Metric(code: "calories")].compactMap { $0 }

    mutating func add(_ sample: Sample) {
        switch sample.type {
        case .position: if let position = sample.position { addFix(position, sample.at) }
        case .heartRate:
            guard let value = sample.value else { return }
            if heartRate?.add(value) == nil { heartRate = Aggregate(value) }
        default: if let value = sample.value { count(value, of: sample.type) }
        }
    }

    private mutating func addFix(_ position: Position, _ at: Timestamp) {
        if let lastFix { pathMetres = (pathMetres ?? 0) + Self.metres(from: lastFix, to: position) }
        lastFix = position
        if fixes % stride == 0 { path.append((at, position)) }
        fixes += 1
        guard path.count > Self.mostPoints else { return }
        stride *= 2
        path = path.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
    }

    private mutating func count(_ value: Double, of metric: Metric) {
        guard var counter = counters[metric] else {
            counters[metric] = Counter(first: value, last: value, sum: value)
            return
        }
        if value < counter.last { counter.onlyGrows = false }
        counter.last = value
        counter.sum += value
        counters[metric] = counter
    }

    private func amount(_ metric: Metric) -> Double? {
        counters[metric].map { $0.onlyGrows && $0.last > $0.first ? $0.last - $0.first : $0.sum }
    }

    /// In metres: along the path, else what a device counted.
    var distance: Double? { pathMetres ?? amount(.distance) }

    /// In kcal, where a device gave any.
    var calories: Double? { Metric(code: "calories").flatMap(amount) }

    /// Seconds per kilometre over the whole activity; nil where nobody moved.
    func pace(over time: Duration) -> Double? {
        guard let distance, distance >= 1 else { return nil }
        return time / .seconds(1) / distance * 1000
    }

    /// On a sphere of the Earth's mean radius, in metres.
    static func metres(from one: Position, to other: Position) -> Double {
        let radians = Double.pi / 180
        let (latitude, otherLatitude) = (one.latitude * radians, other.latitude * radians)
        let halfLatitude = sin((otherLatitude - latitude) / 2)
        let halfLongitude = sin((other.longitude - one.longitude) * radians / 2)
        let chord = halfLatitude * halfLatitude + cos(latitude) * cos(otherLatitude) * halfLongitude * halfLongitude
        return 2 * 6_371_008.8 * asin(min(1, chord.squareRoot()))
    }
}
