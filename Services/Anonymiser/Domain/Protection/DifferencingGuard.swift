// Whether the people in whom two groups differ are enough to be a group themselves (ANO-11).

/// A group that an organisation asked about before, admitted or refused.
struct EarlierCohort: Hashable, Sendable {
    let filters: GroupFilters
    /// E ∧ F, and ⋃ P(d) with an area, as it was then.
    let members: Bitmap
    let window: DayWindow
    /// Days since 1970 on which it was asked about last.
    var day: Int
    /// Whether anything was released of it.
    var isAdmitted: Bool
    /// Whose profile or opt-in changed since: they are ignored.
    var changed: Bitmap
}

/// Every pair of cohorts with days in common must differ in enough people, or be written in the very same way. A difference of nobody, of
/// one and of 99 is refused alike: telling them apart would be the attack.
struct DifferencingGuard: Sendable {
    let policy: AnonymityPolicy
    /// Keyed (HMAC), of bytes that name two cohorts; its key never leaves the service.
    let keyedHash: @Sendable ([UInt8]) -> UInt64

    /// In how many people these two must differ at least.
    func limit(_ candidate: GroupFilters, _ earlier: GroupFilters) -> Int {
        var pair = CanonicalBytes("trackme.cohort-pair.1")
        pair.field(1, candidate.canonicalBytes)
        pair.field(2, earlier.canonicalBytes)
        return policy.fewestDiffering + Int(keyedHash(pair.bytes) % UInt64(policy.differenceJitter + 1))
    }

    /// - Parameters:
    ///   - history: of the organisation, at most as long as the policy keeps it. The types do not matter: the classes of entries are common
    ///     to all.
    ///   - today: days since 1970.
    /// - Returns: nil where it may go on.
    func refusal(
        _ candidate: GroupFilters, members: Bitmap, window: DayWindow, history: [EarlierCohort], today: Int
    ) -> RefusalReason? {
        let isTooNear = history.contains { earlier in
            let isJudged = earlier.filters != candidate && earlier.window.overlaps(window) && earlier.day > today - policy.cohortDays
            guard isJudged else { return false }
            return !members.differs(from: earlier.members, byAtLeast: limit(candidate, earlier.filters), ignoring: earlier.changed)
        }
        return isTooNear ? .tooSimilar : nil
    }
}
