// Whether a group is large enough, for each type and for all of them together.

/// The first half of the check: distinct people who contribute within the window. Never rows, devices or profiles.
struct Admission: Sendable {
    let policy: AnonymityPolicy

    /// - Parameters:
    ///   - contributors: ⋃ S(t, b) over the window, one for each type that was asked for; at least one, all of one size.
    ///   - minIndividuals: the wanted size, a floor.
    ///   - generator: only read with a margin.
    /// - Returns: nil where it is large enough.
    func refusal(
        contributors: [Bitmap], minIndividuals: Int?, using generator: inout some RandomNumberGenerator
    ) -> RefusalReason? {
        guard let first = contributors.first else { return .tooFewIndividuals }
        var together = first
        for other in contributors.dropFirst() { together.formIntersection(other) }
        // The intersection is in every type's people, so that it alone would decide; the others are counted as the rule says, should the
        // floor ever differ.
        let enough = contributors.map { admits($0.count, least: policy.fewestIndividuals, using: &generator) }
        let least = max(policy.fewestIndividuals, minIndividuals ?? 0)
        let isEnoughTogether = admits(together.count, least: least, using: &generator)
        return isEnoughTogether && enough.allSatisfy { $0 } ? nil : .tooFewIndividuals
    }

    /// `least` itself is enough; with a margin, chance refuses some that are just above.
    func admits(_ count: Int, least: Int, using generator: inout some RandomNumberGenerator) -> Bool {
        switch policy.margin {
        case .off: count >= least
        case .geometric: GeometricMargin.admits(above: count - (least - 1), using: &generator)
        }
    }
}

/// Where tables of a granularity hold enough people, for every one of them at once.
struct GranularityLadder: Sendable {
    let policy: AnonymityPolicy

    /// What is released, and at which granularity.
    struct Step: Hashable, Sendable {
        let granularity: Granularity
        /// By type, by bucket: whether the table is released. All of them, but in the window, where single ones may be withheld.
        let isReleased: [[Bool]]
    }

    /// From the wanted granularity on: the first in which every table has enough people represented and there are not too many tables. The
    /// whole release moves together.
    /// - Parameters:
    ///   - individuals: N(all), which bounds the number of tables.
    ///   - represented: by type, by bucket: distinct people represented after classes were dropped. Called once for each granularity that
    ///     is tried; a granularity of which no bucket lies within the window has empty lists, and is skipped.
    /// - Returns: nil where nothing is left: refuse as too few.
    func step(from wanted: Granularity, individuals: Int, represented: (Granularity) -> [[Int]]) -> Step? {
        for granularity in Granularity.allCases where granularity >= wanted {
            let tables = represented(granularity)
            let count = tables.reduce(0) { $0 + $1.count }
            guard count > 0, count * policy.individualsPerTable <= individuals else { continue }
            let least = granularity == .quarterHour ? policy.quarterHourIndividuals : policy.fewestIndividuals
            let isReleased = tables.map { $0.map { $0 >= least } }
            if isReleased.allSatisfy({ $0.allSatisfy { $0 } }) { return Step(granularity: granularity, isReleased: isReleased) }
            if granularity == .window, isReleased.contains(where: { $0.contains(true) }) {
                return Step(granularity: granularity, isReleased: isReleased)
            }
        }
        return nil
    }
}

/// Limits that need no look at single people.
extension AnonymityPolicy {
    /// δ-presence: whether a cohort is a small enough part of the public population of its place. Without a
    /// population table nothing is known, and everything passes.
    func allowsPresence(of cohort: Int, in population: Int?) -> Bool {
        guard let population else { return true }
        return cohort * 1000 <= population * largestPresenceShare
    }

    /// Sizes are told, and asked for, in steps of so many.
    private static let sizeStep = 50

    /// As it is reported: floored.
    static func reportedSize(_ individuals: Int) -> Int {
        individuals / sizeStep * sizeStep
    }

    /// As it is wanted.
    static func roundedUp(_ individuals: Int) -> Int {
        reportedSize(individuals + sizeStep - 1)
    }
}
