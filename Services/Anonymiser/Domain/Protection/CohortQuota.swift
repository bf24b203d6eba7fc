// How many different cohorts an organisation may ask about: reconstruction needs many (COHORTS_MAX).

/// The cohorts of one organisation, by the day on which each was asked for first. A cohort that is known already costs nothing again.
struct CohortQuota: Hashable, Sendable {
    let policy: AnonymityPolicy
    private var known: [[UInt8]: Known] = [:]

    private struct Known: Hashable {
        var day: Int
        var isAdmitted: Bool
    }

    init(_ policy: AnonymityPolicy) {
        self.policy = policy
    }

    /// Forgets what is older than the period. - Parameter today: days since 1970.
    private mutating func forget(_ today: Int) {
        known = known.filter { $0.value.day > today - policy.cohortDays }
    }

    /// Whether a request about this cohort may be judged at all. Refused ones count too: a refusal is an answer.
    /// - Parameter cohort: canonical bytes of the filters.
    mutating func refusal(_ cohort: [UInt8], today: Int) -> RefusalReason? {
        forget(today)
        if known[cohort]?.isAdmitted == true { return nil }
        if known[cohort] == nil, known.count(where: { !$0.value.isAdmitted }) >= policy.refusedCohorts { return .budgetExhausted }
        return known.count(where: \.value.isAdmitted) >= policy.admittedCohorts ? .budgetExhausted : nil
    }

    /// Remembers an answer. What was refused once and is admitted later counts as admitted.
    mutating func record(_ cohort: [UInt8], isAdmitted: Bool, today: Int) {
        let before = known[cohort]
        known[cohort] = Known(day: before?.day ?? today, isAdmitted: isAdmitted || before?.isAdmitted == true)
    }
}
