// One line of the table: a figure of ours, the same of a reference, and what the design asks.

/// A measured figure. `ratio` is ours through the reference's, of medians.
struct Row: Codable, Sendable {
    /// What the design asks of the row.
    enum Demand: Codable, Sendable {
        case ratioAtLeast(Double)
        /// Of figures that are better the lower they are.
        case ratioBelow(Double)
        /// Ours, the worst round, in the row's unit.
        case below(Double)
        /// Ours, the worst round, in the row's unit; of figures that are better the higher they are.
        case atLeast(Double)
        /// Ours may exceed the reference by so much, in the row's unit.
        case referencePlus(Double)
        case none
    }

    var name: String
    var unit: String
    var ours: Spread
    var reference: Spread?
    /// What the reference is.
    var beside: String
    var higherIsBetter: Bool
    var demand: Demand
    /// A promise: a run that checks fails where it is missed.
    var isJudged: Bool

    init(
        _ name: String, _ unit: String, _ ours: [Double], reference: [Double] = [], beside: String = "", higherIsBetter: Bool = false,
        _ demand: Demand = .none, isJudged: Bool = false
    ) {
        (self.name, self.unit, self.ours, self.beside, self.demand) = (name, unit, Spread(ours), beside, demand)
        self.reference = reference.isEmpty ? nil : Spread(reference)
        (self.higherIsBetter, self.isJudged) = (higherIsBetter, isJudged)
    }

    var ratio: Double? { reference.map { ours.median / $0.median } }

    /// What later runs are compared by: the ratio, which travels between machines, or the figure itself.
    var figure: Double { ratio ?? ours.median }

    /// Nil where nothing is asked.
    var isMet: Bool? {
        switch demand {
        case .ratioAtLeast(let least): (ratio ?? 0) >= least
        case .ratioBelow(let limit): (ratio ?? .infinity) < limit
        case .below(let limit): ours.most < limit
        case .atLeast(let limit): ours.least >= limit
        case .referencePlus(let more): ours.median <= (reference?.median ?? 0) + more
        case .none: nil
        }
    }

    /// What the demand is held against.
    var judgedInWords: String {
        switch demand {
        case .ratioAtLeast, .ratioBelow: "\(Report.short(ratio ?? .nan)) ×"
        default: "\(Report.short(higherIsBetter ? ours.least : ours.most)) \(unit)"
        }
    }

    var demandInWords: String {
        switch demand {
        case .ratioAtLeast(let least): "≥ \(Report.short(least)) ×"
        case .ratioBelow(let limit): "< \(Report.short(limit)) ×"
        case .below(let limit): "< \(Report.short(limit)) \(unit)"
        case .atLeast(let limit): "≥ \(Report.short(limit)) \(unit)"
        case .referencePlus(let more): "≤ reference + \(Report.short(more)) \(unit)"
        case .none: "-"
        }
    }
}
