// Judges requests for a group's data one at a time: what is released is charged and kept before anybody is told.

import Contracts
import Logging
import Sealing
import ServiceKit

/// Whoever asks waits for those who asked before: two requests that were judged at once could each be blind to the other.
actor ReleaseService {
    /// Who may wait; others are told to come again.
    private static let mostWaiting = 64

    private let repository: ReleaseRepository
    private let policy: AnonymityPolicy
    private let places: PlaceCatalogue
    private let tree: CellTree
    private let hierarchies: [PersonAttribute: Hierarchy]
    private let guarding: DifferencingGuard
    private let people: @Sendable () async -> any CohortSource
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let metrics = ReleaseMetrics()
    private var memory = CohortMemory()
    private var last: Task<Void, Never>?
    private var waiting = 0
    private var isGivingMemoryBack = false

    /// - Parameters:
    ///   - key: the service's own.
    ///   - people: everybody as of now.
    init(
        _ repository: ReleaseRepository, _ policy: AnonymityPolicy, places: PlaceCatalogue, tree: CellTree, key: SymmetricKey,
        logger: Logger, people: @escaping @Sendable () async -> any CohortSource, clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.repository, self.policy, self.places, self.tree) = (repository, policy, places, tree)
        (self.logger, self.people, self.clock) = (logger, people, clock)
        hierarchies = Hierarchy.all(places)
        let pairs = key.derived(for: "differing-groups")
        guarding = DifferencingGuard(policy: policy) { bytes in
            Digest.hmacSHA256(bytes, key: pairs).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    // MARK: One at a time

    /// Goes on to its end even if nobody waits for it any more: what was begun is answered when it is asked for again.
    /// - Throws: `unavailable` where too many wait.
    func inTurn<Value: Sendable>(
        _ work: @escaping @Sendable (isolated ReleaseService) async throws -> Value
    ) async throws -> Value {
        guard waiting < Self.mostWaiting else { throw Failure(.unavailable, "too many group requests wait to be judged") }
        waiting += 1
        defer { waiting -= 1 }
        let before = last
        let task = Task<Value, any Error> {
            await before?.value
            return try await work(self)
        }
        last = Task { _ = await task.result }
        return try await task.value
    }

    /// A repeated question has the answer that it had.
    /// - Throws: `conflict` where another organisation's request has this id.
    func release(_ asked: ReleaseGroup) async throws -> ReleaseGroup.Reply {
        try await inTurn { service in try await service.judge(asked) }
    }

    /// Clears an erased person's row in what is kept of earlier groups and of spent days. To be called once the person is out of the
    /// population: who is being judged now may still hold the row, and is waited for.
    func erase(row: Int) async throws {
        var cohort: Int64? = 0
        while let after = cohort {
            cohort = try await inTurn { service in try await service.eraseInCohorts(row: row, after: after) }
        }
        var day: Int? = Int.min
        while let after = day {
            day = try await inTurn { service in try await service.repository.eraseInCounters(row: row, after: after) }
        }
        var chunk: Int64? = 0
        while let after = chunk {
            chunk = try await inTurn { service in try await service.repository.eraseInSubscriptions(row: row, after: after) }
        }
    }

    private func eraseInCohorts(row: Int, after cohort: Int64) async throws -> Int64? {
        memory.removeAll()
        return try await repository.eraseInCohorts(row: row, after: cohort)
    }

    /// Forgets groups that are too old to count. Runs until it is cancelled, once an hour.
    func expire() async throws {
        while true {
            while try await repository.expire(today: Self.day(clock())) > 0 {}
            try await Task.sleep(for: .seconds(3600))
        }
    }

    // MARK: Judging

    private static func day(_ time: Timestamp) -> Int {
        Int(time.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient)
    }

    /// A request on its way to an answer.
    private struct Case: Sendable {
        let asked: ReleaseGroup
        let request: GroupRequest
        let canonical: [UInt8]
        /// Before the people were looked at.
        let at: Timestamp
        let day: Int

        func judged(_ outcome: JudgedRequest.Outcome) -> JudgedRequest {
            JudgedRequest(request: asked.request, organisation: asked.organisation, canonical: canonical, at: at, outcome: outcome)
        }

        func cohort(_ members: Bitmap, isAdmitted: Bool) -> CohortNote {
            CohortNote(
                filters: request.filters.canonicalBytes, members: members, window: request.window, at: at, day: day, isAdmitted: isAdmitted,
                dependsOnDays: request.filters.area != nil)
        }
    }

    private func judge(_ asked: ReleaseGroup) async throws -> ReleaseGroup.Reply {
        let start = ContinuousClock.now
        if let judged = try await repository.find(asked.request) {
            guard judged.organisation == asked.organisation else { throw Failure(.conflict, "the id is that of another request") }
            return judged.reply
        }
        let at = clock()
        let source = await people()
        let request: GroupRequest
        do {
            request = try asked.form.read(places, policy, closedUntil: source.closedUntil)
        } catch {
            return .init(faults: error.faults.map { GroupFormFault($0) })
        }
        let one = Case(
            asked: asked, request: request, canonical: Digest.sha256(request.canonicalBytes), at: at, day: Self.day(at))
        if request.isSubscription, schedule(one, source, from: 0).window == nil {
            // No whole bucket of the grid is left in the period.
            return .init(faults: [GroupFormFault(GroupRequestFault("/granularity", .notOffered))])
        }
        let judgement: Judgement
        if let same = try await repeated(one) { judgement = same } else { judgement = try await decide(one, source) }
        if let row = try await repository.keep(judgement), let note = judgement.cohort { memory.hold(note.members, of: row) }
        if judgement.cohort != nil { giveMemoryBack() }
        count(judgement, took: ContinuousClock.now - start)
        return judgement.judged.reply
    }

    /// Beside whatever comes next; where it is under way, what is freed meanwhile waits for the next time.
    private func giveMemoryBack() {
        guard !isGivingMemoryBack else { return }
        isGivingMemoryBack = true
        Task.detached {
            FreedMemory.giveBack()
            await self.hasGivenMemoryBack()
        }
    }

    private func hasGivenMemoryBack() {
        isGivingMemoryBack = false
    }

    /// The same request of the same organisation is the same release, and costs nothing.
    private func repeated(_ one: Case) async throws -> Judgement? {
        let before = try await repository.release(of: one.asked.organisation, one.canonical)
        guard let before, case .released = before.outcome else { return nil }
        return Judgement(judged: one.judged(before.outcome))
    }

    private func count(_ judgement: Judgement, took duration: Duration) {
        metrics.took(duration)
        switch judgement.judged.outcome {
        case .refused(let refusal): metrics.refused(refusal)
        case .subscribed: metrics.subscribed()
        case .released(_, let source) where source != judgement.judged.request: metrics.repeated()
        case .released(let release, _):
            metrics.released(release.product, newTables: judgement.made.new.count)
            logger.info(
                "data of a group were released",
                metadata: ["tables": "\(release.tables)", "new": "\(judgement.made.new.count)", "entries": "\(release.entries)"])
        }
    }

    private func refuse(_ one: Case, _ reason: RefusalReason, _ members: Bitmap? = nil) -> Judgement {
        Judgement(judged: one.judged(.refused(reason.refusal)), cohort: members.map { one.cohort($0, isAdmitted: false) })
    }

    /// Quota, size, differences, tables, budget: in this order, each with a look at no more than it needs.
    private func decide(_ one: Case, _ source: any CohortSource) async throws -> Judgement {
        let (request, organisation) = (one.request, one.asked.organisation)
        let rows = try await repository.cohorts(of: organisation, today: one.day)
        var quota = CohortQuota(policy, rows)
        if let refusal = quota.refusal(request.filters.canonicalBytes, today: one.day) { return refuse(one, refusal) }
        guard rows.count < policy.mostCohortRows else { return refuse(one, .budgetExhausted) }
        if request.isSubscription { return try await open(one, source, rows) }
        if try await repository.mayHaveForgotten(request.window.days) { return refuse(one, .budgetExhausted) }

        let everybody = GroupPeople(source, request.filters, request.types, spent: try await spentDays(one))
        let members = try everybody.guarded(request.window)
        let contributors = try everybody.contributors(request.window)
        var chance = SystemRandomNumberGenerator()
        let admission = Admission(policy: policy)
        if let refusal = admission.refusal(contributors: contributors, minIndividuals: request.minIndividuals, using: &chance) {
            return refuse(one, refusal, members)
        }
        let exactly = contributors.dropFirst().reduce(contributors[0]) { $0.intersection($1) }.count
        let inhabitants = places.inhabitants(of: request.filters.residence)
        guard policy.allowsPresence(of: exactly, in: inhabitants) else { return refuse(one, .tooFewIndividuals, members) }
        if let refusal = try await compare(one, members, source, rows) { return refuse(one, refusal, members) }

        // How many tables there may be, and so how fine they are, tells no more of the size than what is reported of it.
        let individuals = AnonymityPolicy.reportedSize(exactly)
        let column = request.product == .records ? TableMaker.column(request, everybody, hierarchies) : nil
        let planner = TablePlanner(request: request, people: everybody, policy: policy, tree: tree, column: column)
        guard let plan = try await plan(planner, organisation, individuals: individuals) else {
            return refuse(one, .tooFewIndividuals, members)
        }
        guard let charge = try await charge(one, plan, everybody) else { return refuse(one, .budgetExhausted, members) }
        return try await make(one, plan, everybody, column, charge, members, individuals: individuals)
    }

    /// Whose days can be charged no more. Tables that exist are charged to nobody again, so that a request for nothing else leaves
    /// nobody out.
    private func spentDays(_ one: Case) async throws -> [Int: Bitmap] {
        guard one.request.product == .statistics else { return [:] }
        let digests = one.request.tableKeys(one.request.granularity).map { Digest.sha256($0.canonicalBytes) }
        let known = try await repository.known(digests, to: one.asked.organisation)
        return try await known.kept.count == digests.count ? [:] : repository.spentDays(one.request.window)
    }

    private func compare(
        _ one: Case, _ members: Bitmap, _ source: any CohortSource, _ rows: [KeptCohort]
    ) async throws -> RefusalReason? {
        let comparison = CohortComparison(
            candidate: one.request.filters, members: members, window: one.request.window, today: one.day, policy: policy,
            guarding: guarding, places: places, source: source)
        var history = try HistoryComparison(comparison, rows, guardsAtoms: policy.guardsAtoms || one.asked.guardsAtoms == true)
        for (row, filters) in history.compared {
            let people: Bitmap
            if let held = memory.members(of: row) {
                people = held
            } else {
                people = try await repository.members(of: row)
                memory.hold(people, of: row)
            }
            if let refusal = history.refusal(row, filters, people) { return refusal }
        }
        return history.refusalTogether()
    }

    // MARK: Subscribing

    /// - Parameter earliest: quarter hours since 1970; what is over or closed is history, whatever it is.
    private func schedule(_ one: Case, _ source: any CohortSource, from earliest: Int) -> WindowSchedule {
        let now = Int((one.at.milliseconds + 899_999) / 900_000)
        return WindowSchedule(
            one.request.granularity, period: one.request.window, begin: max(now, earliest, source.closedUntil ?? 0), policy)
    }

    /// Nobody has data of the period yet: the group is compared with earlier ones now, and counted in each window when that closes.
    private func open(_ one: Case, _ source: any CohortSource, _ rows: [KeptCohort]) async throws -> Judgement {
        let (request, organisation) = (one.request, one.asked.organisation)
        let members = source.columns.cohort(request.filters)
        let earlier = try await repository.lastSubscription(of: organisation, series: request.series)
        // Windows that are joined could overlap with those of the other one.
        if let earlier, earlier.isRunning { return refuse(one, .tooSimilar, members) }
        if let refusal = try await compare(one, members, source, rows) { return refuse(one, refusal, members) }
        let schedule = self.schedule(one, source, from: earlier?.next ?? 0)
        guard let first = schedule.window else { return refuse(one, .tooSimilar, members) }
        return Judgement(
            judged: one.judged(.subscribed(GroupSubscription(request, from: first))), cohort: one.cohort(members, isAdmitted: true),
            opened: NewSubscription(series: request.series, form: one.asked.form, schedule: schedule))
    }

    // MARK: Making

    /// The tables of the first granularity that holds, and which of them the organisation has not seen.
    private struct Plan {
        let granularity: Granularity
        let tables: [PlannedEntry]
        let unseen: [PlannedEntry]
    }

    /// - Returns: nil where nothing is left.
    private func plan(_ planner: TablePlanner, _ organisation: OrganisationID, individuals: Int) async throws -> Plan? {
        for granularity in Granularity.allCases where granularity >= planner.request.granularity {
            let keys = planner.keys(granularity, individuals: individuals).map { (key: $0, digest: Digest.sha256($0.canonicalBytes)) }
            guard !keys.isEmpty else { continue }
            let known = try await repository.known(keys.map(\.digest), to: organisation)
            let tables = try planner.plan(granularity, keys, kept: known.kept, individuals: individuals)
            guard let tables, !tables.isEmpty else { continue }
            return Plan(granularity: granularity, tables: tables, unseen: tables.filter { !known.seen.contains($0.digest) })
        }
        return nil
    }

    /// Of statistics: what is new to the organisation, and what is new to everybody.
    /// - Returns: nil where a day of the organisation's, or of somebody's, has no room for it.
    private func charge(_ one: Case, _ plan: Plan, _ everybody: GroupPeople) async throws -> ReleaseCharge? {
        guard one.request.product == .statistics else { return ReleaseCharge() }
        let cost = StatisticsCharge(request: one.request, policy: policy)
        var budget = try await repository.budget(of: one.asked.organisation, one.request.window.days)
        var charge = ReleaseCharge()
        for (day, releases) in cost.releases(plan.unseen, plan.granularity) {
            for _ in 0..<releases {
                guard budget.charge(day..<day + 1) else { return nil }
            }
            charge.organisation[day] = budget.spent[day]
        }
        charge.people = try cost.people(plan.tables, everybody)
        guard !charge.people.isEmpty else { return charge }
        // Nobody is left out where all tables were thought to exist, and then the ladder may have come to others.
        for (day, spent) in try await repository.spentDays(one.request.window) {
            if let members = charge.people[day], members.intersectionCount(spent.resized(to: members.size)) > 0 { return nil }
        }
        return charge
    }

    private func make(
        _ one: Case, _ plan: Plan, _ everybody: GroupPeople, _ column: ClassColumn?, _ charge: ReleaseCharge, _ members: Bitmap,
        individuals: Int
    ) async throws -> Judgement {
        let request = one.request
        let stepDigest = Digest.sha256(request.recodingBytes(plan.granularity))
        let kept = try await request.product == .records ? repository.step(stepDigest) : nil
        let maker = TableMaker(request: request, people: everybody, policy: policy, places: places, hierarchies: hierarchies)
        var chance = SystemRandomNumberGenerator()
        let made = try maker.make(plan.tables, column: column, kept: kept, using: &chance)
        guard !made.digests.isEmpty else { return refuse(one, .tooFewIndividuals, members) }
        let release = GroupRelease(
            product: request.product.code, types: request.types.map(\.code),
            from: Timestamp(quarter: request.window.span.start), to: Timestamp(quarter: request.window.span.end),
            granularity: plan.granularity.code, attributes: request.attributes.map(\.code).sorted(),
            individuals: individuals, tables: made.digests.count, entries: made.entries)
        return Judgement(
            judged: one.judged(.released(release, source: one.asked.request)), cohort: one.cohort(members, isAdmitted: true), made: made,
            stepDigest: stepDigest, charge: charge)
    }
}

extension GroupRequest {
    /// What one level of recoding is chosen for: the same classes in all buckets, whichever windows and types they are asked for with.
    func recodingBytes(_ granularity: Granularity) -> [UInt8] {
        var writer = CanonicalBytes("trackme.group-recoding.1")
        writer.field(1, filters.canonicalBytes)
        writer.numbers(2, attributes.map { Int($0.rawValue) } + [Int(granularity.rawValue)])
        return writer.bytes
    }
}

extension PlaceCatalogue {
    /// Of all places together, as far as they are known; nil without places, and where nothing is known of one.
    func inhabitants(of chosen: [PlaceChoice]) -> Int? {
        var total = 0
        for choice in chosen {
            guard let index = index(choice.code) else { return nil }
            let place = places[index]
            let known = place.population > 0 ? place.population : place.leaves.reduce(0) { $0 + places[leaves[$1]].population }
            guard known > 0 else { return nil }
            total += known
        }
        return chosen.isEmpty ? nil : total
    }
}
