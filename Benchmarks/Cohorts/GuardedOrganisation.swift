// One organisation that asks about group after group, judged as the service does, without a store.

import Contracts

/// A request and what does not depend on who asked what before.
struct HonestRequest {
    let request: GroupRequest
    /// What the guard compares.
    let members: Bitmap
    /// Whether it would be admitted if nobody had ever asked.
    let isLargeEnough: Bool

    /// - Throws: as the source does.
    init(_ request: GroupRequest, _ source: SyntheticSource, _ places: PlaceCatalogue, _ policy: AnonymityPolicy) throws {
        let people = GroupPeople(source, request.filters, request.types, spent: [:])
        let contributors = try people.contributors(request.window)
        // Not drawn from: without a margin the size alone decides.
        var chance = SyntheticRandom(0)
        let refusal = Admission(policy: policy).refusal(
            contributors: contributors, minIndividuals: request.minIndividuals, using: &chance)
        let individuals = contributors.dropFirst().reduce(contributors[0]) { $0.intersection($1) }.count
        let inhabitants = places.inhabitants(of: request.filters.residence)
        (self.request, members) = (request, try people.guarded(request.window))
        isLargeEnough = refusal == nil && policy.allowsPresence(of: individuals, in: inhabitants)
    }
}

/// Its history under one policy.
struct GuardedOrganisation {
    private let source: SyntheticSource
    private let places: PlaceCatalogue
    private let guarding: DifferencingGuard
    private var rows: [KeptCohort] = []
    /// By number of the row.
    private var members: [Bitmap] = []

    /// - Parameter guarding: with the policy.
    init(_ source: SyntheticSource, _ places: PlaceCatalogue, _ guarding: DifferencingGuard) {
        (self.source, self.places, self.guarding) = (source, places, guarding)
    }

    /// Nobody's profile changes, and all is asked on the same day, so that the whole history counts.
    /// - Returns: whether the guard refuses it; nil where it has too few people, which is kept in the history as well.
    /// - Throws: where the filters cannot be read again.
    mutating func isTooNear(_ asked: HonestRequest) throws -> Bool? {
        let refusal: RefusalReason? = try asked.isLargeEnough ? judge(asked) : .tooFewIndividuals
        keep(asked, isAdmitted: refusal == nil)
        return asked.isLargeEnough ? refusal != nil : nil
    }

    private var today: Int { source.days.upperBound }

    private func judge(_ asked: HonestRequest) throws -> RefusalReason? {
        let comparison = CohortComparison(
            candidate: asked.request.filters, members: asked.members, window: asked.request.window, today: today, policy: guarding.policy,
            guarding: guarding, places: places, source: source)
        var history = try HistoryComparison(comparison, rows, guardsAtoms: guarding.policy.guardsAtoms)
        for (row, filters) in history.compared {
            if let refusal = history.refusal(row, filters, members[Int(row.number)]) { return refusal }
        }
        return history.refusalTogether()
    }

    /// One row for each group, with the days of all requests for it, as `CohortStore` keeps it.
    private mutating func keep(_ asked: HonestRequest, isAdmitted: Bool) {
        let (filters, days) = (asked.request.filters.canonicalBytes, asked.request.window.days)
        let before = rows.firstIndex { $0.filters == filters }
        let earlier = before.map { rows[$0] }
        let from = min(days.lowerBound, earlier?.window.days.lowerBound ?? days.lowerBound)
        let to = max(days.upperBound, earlier?.window.days.upperBound ?? days.upperBound)
        let row = KeptCohort(
            number: Int64(before ?? rows.count), filters: filters, window: DayWindow(from..<to), at: Timestamp(milliseconds: 0),
            firstDay: today, lastDay: today, isAdmitted: isAdmitted || earlier?.isAdmitted == true, size: asked.members.size)
        if let before {
            rows[before] = row
        } else {
            rows.append(row)
            members.append(asked.members)
        }
    }
}
