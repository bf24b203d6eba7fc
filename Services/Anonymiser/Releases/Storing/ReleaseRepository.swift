// All tables of releases together: what a judgement needs is read, and what comes of it is one transaction.

import Contracts
import GRDB
import Sealing
import Storage

/// For the service's migrations.
enum ReleaseStores {
    static func create(in db: Database) throws {
        try GroupRequestStore.create(in: db)
        try GroupTableStore.create(in: db)
        try CohortStore.create(in: db)
        try BudgetStore.create(in: db)
    }

    /// One for every table of `create`.
    static let notes: [TableNote] =
        [
            TableNote(
                "group_requests", "group_release_tables",
                holds: "what organisations were answered about groups: the refusal, or the outline of the release, sealed, and its tables",
                kept: "for ever, since the same request gets the same answer", erasure: .impersonal),
            TableNote(
                "group_tables", "group_recoding_steps",
                holds: "released tables, sealed: entries of ten people or more, people by place, noisy statistics; how coarse classes are",
                kept: "for ever, since a table is made once for everybody", erasure: .impersonal),
            TableNote(
                "group_table_keys",
                holds: "which organisation was given which table; the key of its handles and its order of entries, sealed",
                kept: "for ever",
                erasure: .impersonal),
            TableNote(
                "group_cohorts", holds: "which groups an organisation asked about, and when; filters sealed",
                kept: "`ano.cohort_days` after the group was asked about last", erasure: .impersonal),
            TableNote(
                "group_cohort_chunks", holds: "who was in those groups, by row numbers, sealed",
                kept: "`ano.cohort_days` after the group was asked about last", erasure: .emptied),
            TableNote(
                "group_organisation_days", "group_days",
                holds: "what each organisation has spent of each day's privacy budget; how many releases each day was in",
                kept: "for ever, since a day's budget is never refreshed", erasure: .impersonal),
            TableNote(
                "group_day_chunks", holds: "in how many releases of statistics each person's day took part, by row numbers, sealed",
                kept: "for ever, since a day's budget is never refreshed", erasure: .emptied),
        ] + GroupSubscriptionStore.notes
}

/// What is written of one judgement.
struct Judgement: Sendable {
    let judged: JudgedRequest
    /// Nil where no people were looked at.
    var cohort: CohortNote?
    var made = MadeTables()
    /// What the step of new tables is kept under.
    var stepDigest: [UInt8]?
    var charge = ReleaseCharge()
    var opened: NewSubscription?
}

/// What is written when a window closes, or when a subscription is ended.
struct ClosedWindow: Sendable {
    /// As it was read.
    let subscription: KeptSubscription
    /// As it is from now on.
    let schedule: WindowSchedule
    /// Of what is released with it; nothing where nothing is.
    var made = MadeTables()
    var stepDigest: [UInt8]?
    var charge = WindowCharge()
    /// In order; at most one of them is a release.
    let pushes: [WindowPush]
    let isOver: Bool
}

struct ReleaseRepository: Sendable {
    /// Says that a window was closed, in the transaction that makes it true.
    typealias Say = @Sendable (Database, GroupWindowClosed, Timestamp) throws -> Void

    let store: Store
    let requests: GroupRequestStore
    let tables: GroupTableStore
    let cohorts: CohortStore
    let budgets: BudgetStore
    let subscriptions: GroupSubscriptionStore
    private let policy: AnonymityPolicy

    init(_ store: Store, sealedUnder key: SymmetricKey, _ policy: AnonymityPolicy) {
        (self.store, self.policy) = (store, policy)
        requests = GroupRequestStore(key: key.derived(for: "group-requests"))
        tables = GroupTableStore(key: key.derived(for: "group-tables"))
        cohorts = CohortStore(key: key.derived(for: "group-cohorts"))
        budgets = BudgetStore(key: key.derived(for: "group-budgets"))
        subscriptions = GroupSubscriptionStore(key: key.derived(for: "group-subscriptions"), policy: policy)
    }

    // MARK: Reading

    func find(_ request: GroupRequestID) async throws -> JudgedRequest? {
        try await store.read { [requests] db in try requests.find(db, request) }
    }

    func release(of organisation: OrganisationID, _ canonical: [UInt8]) async throws -> JudgedRequest? {
        try await store.read { [requests] db in try requests.release(db, of: organisation, canonical) }
    }

    /// Those that count still. - Parameter today: days since 1970.
    func cohorts(of organisation: OrganisationID, today: Int) async throws -> [KeptCohort] {
        try await store.read { [cohorts, policy] db in try cohorts.rows(db, of: organisation, after: today - policy.cohortDays) }
    }

    func members(of cohort: KeptCohort) async throws -> Bitmap {
        try await store.read { [cohorts] db in try cohorts.members(db, of: cohort) }
    }

    /// Whether releases of these days may have been forgotten with a copy that was put back: nothing more is made of them.
    func mayHaveForgotten(_ days: Range<Int>) async throws -> Bool {
        try await store.read { db in try HourStore.restoredDay(db) }.map { days.lowerBound <= $0 } ?? false
    }

    /// By day of a window, who can take part in no further statistics of it.
    func spentDays(_ window: DayWindow) async throws -> [Int: Bitmap] {
        try await store.read { [budgets, policy] db in
            let cap = policy.releasesPerPersonDay
            var spent: [Int: Bitmap] = [:]
            for day in try budgets.fullDays(db, window.days, cap: cap) {
                spent[day] = try budgets.counters(db, day)?.exhausted(cap: cap)
            }
            return spent
        }
    }

    func budget(of organisation: OrganisationID, _ window: Range<Int>) async throws -> OrganisationBudget {
        try await store.read { [budgets, policy] db in
            OrganisationBudget(policy, spent: try budgets.spent(db, by: organisation, window))
        }
    }

    /// By digest, the tables that exist, and which of them the organisation was given before.
    func known(
        _ digests: [[UInt8]], to organisation: OrganisationID
    ) async throws -> (kept: [[UInt8]: KeptTable], seen: Set<[UInt8]>) {
        try await store.read { [tables] db in
            (try tables.kept(db, digests), try tables.seen(db, by: organisation, digests))
        }
    }

    func step(_ digest: [UInt8]) async throws -> Int? {
        try await store.read { [tables] db in try tables.step(db, digest) }
    }

    // MARK: Subscriptions

    func subscription(_ request: GroupRequestID) async throws -> KeptSubscription? {
        try await store.read { [subscriptions] db in try subscriptions.find(db, request) }
    }

    /// As `GroupSubscriptionStore.due`.
    func dueSubscriptions(closedUntil closed: Int, limit: Int) async throws -> [GroupRequestID] {
        try await store.read { [subscriptions] db in try subscriptions.due(db, closedUntil: closed, limit: limit) }
    }

    /// As `GroupSubscriptionStore.last`.
    func lastSubscription(of organisation: OrganisationID, series: [UInt8]) async throws -> (next: Int, isRunning: Bool)? {
        try await store.read { [subscriptions] db in try subscriptions.last(db, of: organisation, series: series) }
    }

    /// By day, what a subscription has charged; nobody and nothing for a day that it has not.
    func charges(
        of request: GroupRequestID, _ days: Range<Int>, size: Int
    ) async throws -> (extras: [Int: Int], charged: [Int: Bitmap]) {
        try await store.read { [subscriptions] db in
            let extras = try subscriptions.extras(db, of: request, days)
            var charged: [Int: Bitmap] = [:]
            for day in days { charged[day] = try subscriptions.charged(db, of: request, day: day, size: size) }
            return (extras, charged)
        }
    }

    /// Tables, charges, how far the subscription is and what is said of it: everything or nothing.
    func keep(_ window: ClosedWindow, at now: Timestamp, say: @escaping Say) async throws {
        try await store.write { [self] db in
            let (request, organisation) = (window.subscription.request, window.subscription.organisation)
            try subscriptions.advance(db, window.subscription, to: window.schedule, isOver: window.isOver)
            try budgets.charge(db, window.charge.release, to: organisation)
            try subscriptions.keep(db, window.charge, of: request)
            for table in window.made.new { try tables.add(db, table) }
            if let step = window.made.step, let digest = window.stepDigest { try tables.keep(db, step: step, digest) }
            for push in window.pushes {
                let digests = push.content == .release ? window.made.digests : []
                try subscriptions.add(db, push, of: request, tables: digests)
                for digest in digests { try tables.show(db, digest, to: organisation) }
                try say(db, GroupWindowClosed(push, of: request), now)
            }
            let first = window.isOver ? Int.max : window.schedule.held?.start ?? window.schedule.next
            try subscriptions.forgetCharges(db, of: request, before: first.flooredQuotient(TimeSpan.perDay))
        }
    }

    /// The group goes on counting while its windows come.
    /// - Parameter today: days since 1970.
    func touchCohort(_ filters: [UInt8], of organisation: OrganisationID, today: Int) async throws {
        let rows = try await cohorts(of: organisation, today: today)
        guard let row = rows.first(where: { $0.filters == filters }), row.lastDay < today else { return }
        try await store.write { [cohorts] db in try cohorts.touch(db, row, today: today) }
    }

    // MARK: Writing

    /// Everything or nothing. Once it returns, the release is charged and kept; before, nothing has happened.
    /// - Returns: the group as it counts from now on; nil where no people were looked at.
    func keep(_ judgement: Judgement) async throws -> KeptCohort? {
        try await store.write { [self] db in
            let judged = judgement.judged
            try requests.add(db, judged)
            let cohort = try judgement.cohort.map { try keep(db, $0, of: judged.organisation) }
            try budgets.charge(db, judgement.charge, to: judged.organisation)
            for table in judgement.made.new { try tables.add(db, table) }
            if let step = judgement.made.step, let digest = judgement.stepDigest { try tables.keep(db, step: step, digest) }
            try requests.add(db, tables: judgement.made.digests, of: judged.request)
            for digest in judgement.made.digests { try tables.show(db, digest, to: judged.organisation) }
            if let opened = judgement.opened { try subscriptions.add(db, opened, judged.request, of: judged.organisation) }
            return cohort
        }
    }

    /// One row for each group. With an area its people depend on the days, so that each window has a row of its own.
    private func keep(_ db: Database, _ note: CohortNote, of organisation: OrganisationID) throws -> KeptCohort {
        let oldest = note.day - policy.cohortDays
        let before = try cohorts.rows(db, of: organisation, after: oldest).first {
            $0.filters == note.filters && (!note.dependsOnDays || $0.window == note.window)
        }
        guard let before else { return try cohorts.add(db, note, of: organisation) }
        // Whose first day is forgotten begins to count anew.
        return try cohorts.replace(db, before, with: note, firstDay: before.firstDay > oldest ? before.firstDay : note.day)
    }

    // MARK: Forgetting

    /// - Returns: the last cohort that was looked at; nil where no more are left.
    func eraseInCohorts(row: Int, after cohort: Int64) async throws -> Int64? {
        try await store.write { [cohorts] db in try cohorts.erase(db, row: row, after: cohort) }
    }

    /// - Returns: the last day that was looked at; nil where no more are left.
    func eraseInCounters(row: Int, after day: Int) async throws -> Int? {
        try await store.write { [budgets] db in try budgets.erase(db, row: row, after: day) }
    }

    /// - Returns: the last chunk that was looked at; nil where no more are left.
    func eraseInSubscriptions(row: Int, after number: Int64) async throws -> Int64? {
        try await store.write { [subscriptions] db in try subscriptions.erase(db, row: row, after: number) }
    }

    /// - Returns: how many rows; to be called again until it is none.
    func expire(today: Int) async throws -> Int {
        try await store.write { [cohorts, policy] db in try cohorts.expire(db, through: today - policy.cohortDays) }
    }
}
