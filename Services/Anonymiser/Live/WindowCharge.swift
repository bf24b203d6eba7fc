// What the windows of a subscription to statistics cost: a day once, however many of its windows are told.

import Contracts

/// What one window costs, and what the subscription has charged with it.
struct WindowCharge: Sendable {
    var release = ReleaseCharge()
    /// By day, what its windows tell beyond the day's one release, in millionths of ρ.
    var extras: [Int: Int] = [:]
    /// By day, who is charged for it by now.
    var charged: [Int: Bitmap] = [:]
}

/// What was charged before.
struct WindowCharging {
    let request: GroupRequest
    let policy: AnonymityPolicy
    /// By day; nothing for one that was not charged.
    let extras: [Int: Int]
    let charged: [Int: Bitmap]

    /// The noise is that of all windows of the day together, so that they cost one release; tables that others had made with less noise
    /// tell more, and cost what they tell more.
    /// - Parameter seen: digests of tables that the organisation was given before.
    /// - Returns: nil where a day has no room for it.
    func charge(
        _ plan: [PlannedEntry], seen: Set<[UInt8]>, _ everybody: GroupPeople, _ budget: OrganisationBudget
    ) throws -> WindowCharge? {
        let days = plan.first?.key.bucket.days ?? 0..<0
        let unseen = plan.filter { !seen.contains($0.digest) }
        var budget = budget
        var charge = WindowCharge()
        for day in days where !unseen.isEmpty {
            let before = extras[day]
            let extra = (before ?? 0) + unseen.reduce(0) { $0 + self.extra($1) }
            for _ in 0..<releases(extra) - (before.map(releases) ?? 0) {
                guard budget.charge(day..<day + 1) else { return nil }
            }
            charge.release.organisation[day] = budget.spent[day]
            charge.extras[day] = extra
        }
        for (day, members) in try StatisticsCharge(request: request, policy: policy).people(plan, everybody) {
            var known = charged[day] ?? Bitmap(size: members.size)
            let new = members.subtracting(known)
            guard !new.isEmpty else { continue }
            known.formUnion(new)
            charge.release.people[day] = new
            charge.charged[day] = known
        }
        return charge
    }

    private func releases(_ extra: Int) -> Int {
        1 + (extra + policy.releaseMicroRho - 1) / policy.releaseMicroRho
    }

    /// Of each scalar that a person's day touches: 1 / (2 σ²).
    private func extra(_ table: PlannedEntry) -> Int {
        let own = request.mechanism(request.granularity, policy).variance
        guard case .kept(let kept) = table.content, kept.variance < own else { return 0 }
        let scalars = 500_000 * (1 + table.key.type.scales(request.granularity).count)
        let variance = max(1, kept.variance)
        return (scalars + variance - 1) / variance - scalars / own
    }
}
