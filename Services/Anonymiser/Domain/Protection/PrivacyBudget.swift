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

/// What everybody together has spent of every person's days.
struct IndividualBudget: Hashable, Sendable {
    let policy: AnonymityPolicy
    /// By data-day.
    private(set) var days: [Int: DayCounters] = [:]

    init(_ policy: AnonymityPolicy, days: [Int: DayCounters] = [:]) {
        (self.policy, self.days) = (policy, days)
    }

    /// Whose day is spent: taken out of E for that day before anything else is counted.
    func exhausted(on day: Int, size: Int) -> Bitmap {
        guard var counters = days[day] else { return Bitmap(size: size) }
        if counters.size < size { counters.grow(to: size) }
        return counters.exhausted(cap: policy.releasesPerPersonDay)
    }

    /// Charges one release for those of a day's contributors that it was not charged for yet.
    /// - Parameters:
    ///   - members: who contributes on that day.
    ///   - charged: who was charged for this release on this day before, as by earlier windows of a subscription; it grows by the others.
    mutating func charge(_ members: Bitmap, on day: Int, charged: inout Bitmap) {
        let new = members.subtracting(charged)
        guard !new.isEmpty else { return }
        var counters = days[day] ?? DayCounters(size: new.size)
        if counters.size < new.size { counters.grow(to: new.size) }
        counters.add(new)
        days[day] = counters
        charged.formUnion(new)
    }
}
