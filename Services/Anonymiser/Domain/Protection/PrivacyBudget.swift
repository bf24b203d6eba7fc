// What each organisation has spent of each data-day, and how a release is charged: before it is computed, and never given back.

/// Of one organisation, in millionths of ρ, by data-day (days since 1970). A day is never refreshed.
struct OrganisationBudget: Hashable, Sendable {
    let policy: AnonymityPolicy
    private(set) var spent: [Int: Int] = [:]

    init(_ policy: AnonymityPolicy, spent: [Int: Int] = [:]) {
        (self.policy, self.spent) = (policy, spent)
    }

    /// Charges one release for all of its days or for none.
    /// - Returns: whether it was charged.
    mutating func charge(_ days: Range<Int>) -> Bool {
        let price = policy.releaseMicroRho
        guard days.allSatisfy({ spent[$0, default: 0] <= policy.organisationDayMicroRho - price }) else { return false }
        for day in days { spent[day, default: 0] += price }
        return true
    }
}
