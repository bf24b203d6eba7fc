// Every parameter of the anonymiser, read once: the numbers of its policy.

import ServiceKit

/// Under the prefix `ano`.
struct AnonymiserSettings: Sendable {
    let policy: AnonymityPolicy
    /// Made-up people in the stead of real ones.
    let synthetic: SyntheticSettings

    /// What requirements name as a switch: it cannot be off.
    private enum DifferenceGuard: String, CaseIterable {
        /// Pairs of groups; of untrusted organisations also combinations.
        case on
        /// Combinations of everybody's.
        case atoms
    }

    /// Metres; the grid on which everything is counted (`GridCell`).
    private static let grid = 1000

    init(_ reader: inout SettingsReader) {
        var policy = AnonymityPolicy()
        for setting in AnonymityPolicy.settings {
            policy[keyPath: setting.path] = reader.read(
                .integer("ano.\(setting.name)", default: policy[keyPath: setting.path], in: setting.bounds, setting.meaning))
        }
        policy.margin = reader.read(
            .choice(
                "ano.margin", default: policy.margin,
                "Whether chance decides above the smallest size, so that one person more or less hardly changes the answer."))
        let guarding = reader.read(
            .choice(
                "ano.difference_guard", default: DifferenceGuard.on,
                "Requests whose group differs from an earlier one by too few people are refused; cannot be switched off. With atoms also "
                    + "those that isolate too few together with several earlier ones: many honest ones are."))
        policy.guardsAtoms = guarding == .atoms
        _ = reader.read(
            .integer(
                "ano.position_grid_m", default: Self.grid, in: Self.grid...Self.grid,
                "Side in metres of the squares in which places are counted; nothing finer is ever said."))
        for fault in policy.faults {
            let (name, reason) = fault.told
            reader.refuse("ano.\(name)", reason)
        }
        self.policy = policy
        synthetic = SyntheticSettings(&reader)
    }
}

extension AnonymityPolicy.Fault {
    /// The setting to change, and why.
    fileprivate var told: (name: String, reason: String) {
        switch self {
        case .outOfBounds(let name, let bounds): (name, "must be a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
        case .classTooSmall(let least): ("class_min", "must be at least \(least) with this ano.flattened and ano.entry_size")
        case .rhoNotWhole(let name): (name, "must divide 500000")
        case .budgetsDisagree(let name):
            (name, "must be no less than the smaller budgets, and ano.everybody_day_micro_rho at most 15 whole releases")
        }
    }
}
