// An organisation's earlier groups, compared with a new one: their people come from the store and some of them stay in memory.

import Contracts

/// Sets of people that were read lately, by cohort; those that were not used for longest go first.
struct CohortMemory {
    /// Of all sets together.
    static let bytes = 48 << 20

    private struct Held {
        let at: Timestamp
        let members: Bitmap
        var use: Int
    }

    private var held: [Int64: Held] = [:]
    private var size = 0
    private var uses = 0

    /// Nil where it was not read, or was asked about again since.
    mutating func members(of cohort: KeptCohort) -> Bitmap? {
        guard let found = held[cohort.number], found.at == cohort.at else { return nil }
        uses += 1
        held[cohort.number]?.use = uses
        return found.members
    }

    mutating func hold(_ members: Bitmap, of cohort: KeptCohort) {
        remove(cohort.number)
        uses += 1
        held[cohort.number] = Held(at: cohort.at, members: members, use: uses)
        size += members.words.count * 8
        while size > Self.bytes, let oldest = held.min(by: { $0.value.use < $1.value.use }) { remove(oldest.key) }
    }

    private mutating func remove(_ cohort: Int64) {
        if let found = held.removeValue(forKey: cohort) { size -= found.members.words.count * 8 }
    }

    mutating func removeAll() {
        self = CohortMemory()
    }
}

/// One candidate against its organisation's history.
struct CohortComparison {
    let candidate: GroupFilters
    let members: Bitmap
    let window: DayWindow
    let today: Int
    let policy: AnonymityPolicy
    let guarding: DifferencingGuard
    let places: PlaceCatalogue
    let source: any CohortSource

    /// The earlier groups with which the candidate has to be compared, with their filters.
    func compared(_ rows: [KeptCohort]) throws -> [(row: KeptCohort, filters: GroupFilters)] {
        let own = candidate.canonicalBytes
        return try rows.filter { $0.filters != own && $0.window.overlaps(window) && $0.lastDay > today - policy.cohortDays }
            .map { (row: $0, filters: try GroupFilters(canonicalBytes: $0.filters, places)) }
    }

    /// Who changed since the first of them: a set that holds what changed since each.
    func changed(_ rows: [(row: KeptCohort, filters: GroupFilters)]) -> Bitmap {
        rows.map { $0.row.at }.min().map { source.changed(since: $0) } ?? Bitmap(size: members.size)
    }

    /// - Parameter changed: of `changed`. Whoever differs in enough people without all of these differs in enough; only what seems too
    ///   near is looked at by itself.
    func refusal(_ earlier: KeptCohort, _ filters: GroupFilters, _ people: Bitmap, changed: Bitmap) -> RefusalReason? {
        var cohort = EarlierCohort(
            filters: filters, members: people.resized(to: members.size), window: earlier.window, day: earlier.lastDay,
            isAdmitted: earlier.isAdmitted, changed: changed)
        guard judge(cohort) != nil else { return nil }
        cohort.changed = source.changed(since: earlier.at)
        return judge(cohort)
    }

    private func judge(_ cohort: EarlierCohort) -> RefusalReason? {
        guarding.refusal(candidate, members: members, window: window, history: [cohort], today: today)
    }
}

/// One candidate against all of its organisation's history, group by group in the order in which they came.
struct HistoryComparison {
    /// The earlier groups whose people have to be looked at, with their filters.
    let compared: [(row: KeptCohort, filters: GroupFilters)]
    private let comparison: CohortComparison
    private let changed: Bitmap
    private var atoms: AtomGuard?

    /// - Parameter guardsAtoms: whether combinations of groups are judged, too, not pairs alone.
    init(_ comparison: CohortComparison, _ rows: [KeptCohort], guardsAtoms: Bool) throws {
        compared = try comparison.compared(rows)
        changed = comparison.changed(compared)
        self.comparison = comparison
        if guardsAtoms, !compared.isEmpty { atoms = AtomGuard(comparison.policy, size: comparison.members.size) }
    }

    /// To be called with each of `compared`, until one refuses. - Parameter people: who was in it.
    mutating func refusal(_ earlier: KeptCohort, _ filters: GroupFilters, _ people: Bitmap) -> RefusalReason? {
        if let refusal = comparison.refusal(earlier, filters, people, changed: changed) { return refusal }
        guard earlier.isAdmitted else { return nil }
        if atoms?.refusesAll == true { return .tooSimilar }
        let members = people.resized(to: comparison.members.size)
        atoms?.admit(filters, members: members)
        return nil
    }

    /// Of all of them together, once each was looked at.
    func refusalTogether() -> RefusalReason? {
        atoms?.refusal(comparison.candidate, members: comparison.members, ignored: changed)
    }
}

extension CohortQuota {
    /// As it stands by what is kept.
    init(_ policy: AnonymityPolicy, _ rows: [KeptCohort]) {
        self.init(policy)
        for row in rows { record(row.filters, isAdmitted: row.isAdmitted, today: row.firstDay) }
    }
}

extension AnonymityPolicy {
    /// Rows of one organisation: with an area each window is one.
    var mostCohortRows: Int { 2 * (admittedCohorts + refusedCohorts) }
}
